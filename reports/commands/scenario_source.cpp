#include "reports/commands/scenario_source.hpp"

#include <filesystem>
#include <fstream>
#include <utility>

namespace rollcast {
namespace {

// More than a scenario may have (scenarios/text/document.hpp), so that one too long is refused as such.
constexpr std::size_t kMostBytes = std::size_t{2} << 20U;

}  // namespace

SourceResult read_source(std::string const& file, ScenarioOptions const& options) {
  std::error_code error;
  std::ifstream in(file, std::ios::binary);
  if (!in || std::filesystem::is_directory(file, error))
    return {{file, "", options}, read_scenario_file(file, options).problems};
  std::string text(kMostBytes, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  return {{file, std::move(text), options}, {}};
}

std::optional<ForecastBase> read_base(ScenarioArguments const& arguments) {
  auto [source, problems] = read_source(arguments.file, arguments.options);
  ScenarioResult read;
  if (problems.empty()) {
    read = read_scenario_text(source.text, source.file, source.options);
    problems = read.scenario ? check_simulated(*read.scenario) : read.problems;
  }
  if (problems.empty()) return ForecastBase{std::move(source), std::move(*read.scenario)};
  print_problems(problems);
  return std::nullopt;
}

}  // namespace rollcast
