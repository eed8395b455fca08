// Every scenario of scenarios/incidents, and every published one that ran out of memory, comes to what it
// expects.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "reports/commands/case_forecast.hpp"

namespace rollcast {
namespace {

namespace fs = std::filesystem;

// "incidents/A1-cached-blocks".
std::vector<std::string> incidents() {
  std::vector<std::string> names;
  for (std::string const folder : {"incidents", "published"}) {
    for (auto const& entry : fs::directory_iterator(ROLLCAST_SOURCE_DIR "/scenarios/" + folder)) {
      if (entry.path().extension() != ".yaml") continue;
      std::ifstream file(entry.path());
      std::string const text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
      bool const expects = text.find("\nexpected:") != std::string::npos;
      if (folder == "incidents" || expects) names.push_back(folder + "/" + entry.path().stem().string());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

class Incident : public testing::TestWithParam<std::string> {};

TEST_P(Incident, ComesToWhatItExpects) {
  std::string const file = std::string(ROLLCAST_SOURCE_DIR "/scenarios/") + GetParam() + ".yaml";
  ScenarioResult const read = read_scenario_file(file, {});
  ASSERT_TRUE(read.scenario) << format(read.problems);
  ASSERT_TRUE(read.scenario->expected) << "an incident without an `expected` block";
  ValidationCase const c = forecast_case(*read.scenario);
  for (std::string const& u : c.unmet) ADD_FAILURE() << u;
}

std::string name_of_case(testing::TestParamInfo<std::string> const& info) {
  std::string name = info.param;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, Incident, testing::ValuesIn(incidents()), name_of_case);

}  // namespace
}  // namespace rollcast
