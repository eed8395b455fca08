#include "reports/commands/scenario_text.hpp"

#include <fstream>

#include "scenarios/scenario.hpp"

namespace rollcast {
namespace {

constexpr std::size_t kEnough = (1U << 20) + 1;  // a byte more than a scenario may have

}  // namespace

ScenarioText scenario_text(std::string const& path) {
  ScenarioText out{std::string(kEnough, '\0'), {}};
  std::ifstream in(path, std::ios::binary);
  in.read(out.text.data(), static_cast<std::streamsize>(kEnough));
  out.text.resize(static_cast<std::size_t>(in.gcount()));
  if (out.text.empty()) out.problems = read_scenario_file(path, {}).problems;
  return out;
}

}  // namespace rollcast
