#include "reports/command_manual.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <set>
#include <sstream>
#include <string>

namespace rollcast {
namespace {

using testing::HasSubstr;

// A tree with a nested command, a flag, an option with a value and a positional.
void fill(CLI::App& app, int& steps, bool& quiet, std::string& file) {
  CLI::App* const run = app.add_subcommand("run", "Forecast it's run");
  run->add_option("FILE", file, "Scenario");
  run->add_option("--steps", steps, "Steps \\ to simulate")->type_name("N")->capture_default_str();
  run->add_flag("-q,--quiet", quiet, ".starts with a dot");
  app.add_subcommand("catalog", "What is known")->add_subcommand("list", "All of it");
}

std::string output_of(std::string const& command) {
  FILE* const pipe = ::popen(command.c_str(), "r");
  std::string out;
  std::array<char, 4096> buffer{};
  while (std::fgets(buffer.data(), static_cast<int>(buffer.size()), pipe) != nullptr) out += buffer.data();
  ::pclose(pipe);
  return out;
}

// What bash offers after these words of a command line; the last is being typed.
std::set<std::string> offered(std::string const& words) {
  std::string const script =
      "source <('" ROLLCAST_PROGRAM "' completion bash); COMP_WORDS=(" + words +
      "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _rollcast; printf '%s\\n' \"${COMPREPLY[@]}\"";
  std::istringstream lines(output_of("cd / && bash -c '" + [&] {
    std::string quoted;
    for (char const c : script) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return quoted;
  }() + "'"));
  std::set<std::string> all;
  for (std::string line; std::getline(lines, line);) all.insert(line);
  return all;
}

TEST(ManualPage, HasEveryCommandAndOption) {
  CLI::App app("Forecasts runs.", "rollcast");
  int steps = 5;
  bool quiet = false;
  std::string file;
  fill(app, steps, quiet, file);
  std::string const page = manual_page(app);
  EXPECT_THAT(page, HasSubstr(".SS \"rollcast run\"\nForecast it's run."));
  EXPECT_THAT(page, HasSubstr(".SS \"rollcast catalog list\""));
  EXPECT_THAT(page, HasSubstr("\\fB\\-\\-steps\\fR \\fIN\\fR\nSteps \\e to simulate (default: 5)"));
  EXPECT_THAT(page, HasSubstr("\\fB\\-\\-quiet\\fR, \\fB\\-q\\fR\n\\&.starts with a dot"));
  EXPECT_THAT(page, HasSubstr("\\fIFILE\\fR\nScenario"));
}

TEST(Completion, OfFishEscapesQuotesAndKnowsNestedCommands) {
  CLI::App app("Forecasts runs.", "rollcast");
  int steps = 5;
  bool quiet = false;
  std::string file;
  fill(app, steps, quiet, file);
  std::string const script = completion_script(app, Shell::fish);
  EXPECT_THAT(script, HasSubstr("-a run -d 'Forecast it\\'s run'"));
  EXPECT_THAT(script,
              HasSubstr("-n '__fish_seen_subcommand_from run' -l steps -r -d 'Steps \\\\ to simulate'"));
  EXPECT_THAT(script, HasSubstr("-n '__fish_seen_subcommand_from catalog; and not "
                                "__fish_seen_subcommand_from list' -a list"));
}

TEST(Completion, OfBashOffersCommandsAndTheirOptions) {
  EXPECT_EQ(offered("rollcast catalo"), (std::set<std::string>{"catalog"}));
  EXPECT_EQ(offered("rollcast calibrate ben"), (std::set<std::string>{"bench"}));
  EXPECT_EQ(offered("rollcast run --ste"), (std::set<std::string>{"--steps"}));
  EXPECT_EQ(offered("rollcast --vers"), (std::set<std::string>{"--version"}));
  EXPECT_TRUE(offered("rollcast run /et").contains("/etc"));
}

}  // namespace
}  // namespace rollcast
