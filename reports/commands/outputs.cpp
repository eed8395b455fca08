#include "reports/commands/outputs.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "reports/analysis.hpp"
#include "reports/commands/option_checks.hpp"
#include "reports/commands/scenario_input.hpp"
#include "reports/csv.hpp"
#include "reports/html_page.hpp"
#include "reports/html_report.hpp"
#include "reports/incident_report.hpp"
#include "reports/json.hpp"
#include "reports/log_file.hpp"
#include "reports/output_file.hpp"
#include "reports/requests_csv.hpp"
#include "reports/terminal.hpp"
#include "reports/trace.hpp"
#include "reports/uncertainty_report.hpp"

namespace rollcast {
namespace {

TerminalOptions terminal_options() {
  TerminalOptions o;
  if (::isatty(STDOUT_FILENO) == 0) return o;
  char const* const no_color = std::getenv("NO_COLOR");
  char const* const term = std::getenv("TERM");
  bool const wanted = no_color == nullptr || *no_color == '\0';
  o.colour = wanted && term != nullptr && std::string_view(term) != "dumb";
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    o.width = std::min<int>(size.ws_col, 140);
  return o;
}

bool fails(EventLog const& log, std::string const& name) {
  if (name == "oom") return log.outcome == Outcome::oom || log.outcome == Outcome::refused;
  return log.outcome == Outcome::stalled || log.outcome == Outcome::deadlock;
}

std::string check_fail_on(std::string const& name) {
  if (name == "oom" || name == "stall") return {};
  return fmt::format("'{}' is no outcome to fail on; write oom, stall or oom,stall", name);
}

std::vector<std::string> paths_of(OutputOptions const& o) {
  std::vector<std::string> out;
  for (std::string const* path : {&o.json, &o.csv, &o.requests, &o.trace, &o.html, &o.log, &o.snapshot}) {
    if (!path->empty()) out.push_back(*path);
  }
  return out;
}

// One text for all names of a file: links and dots resolved, as far as the file is there.
std::string file_behind(std::string const& path) {
  if (path == "-" || path == "/dev/stdout") return "-";
  std::error_code error;
  auto const file = std::filesystem::weakly_canonical(std::filesystem::absolute(path, error), error);
  return error ? path : file.string();
}

}  // namespace

void add_output_file(CLI::App& command, std::string const& option, std::string& path,
                     std::string const& what) {
  command.add_option(option, path, what)->check(output_path())->type_name("FILE");
}

void add_output_options(CLI::App& command, OutputOptions& options) {
  add_output_file(command, "--json", options.json, "Write the figures as JSON (- is standard output)");
  add_output_file(command, "--csv", options.csv, "Write one row per step and phase");
  add_output_file(command, "--requests", options.requests, "Write one row per request of a serving run");
  add_output_file(command, "--trace", options.trace, "Write a trace for ui.perfetto.dev or chrome://tracing");
  add_output_file(command, "--html", options.html,
                  "Write the report as one HTML file with charts, for a browser");
  add_output_file(command, "--log", options.log, "Write the event log, which rollcast report reads");
  command.add_option("--fail-on", options.fail_on, "Exit code 3 on these outcomes: oom, stall")
      ->type_name("OUTCOME,...")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Validator(check_fail_on, ""));
  command.add_flag("--quiet", options.quiet, "Print no report");
  command.add_flag("--incident", options.incident,
                   "Print what happened second by second, who waited for whom, and what would have ended it "
                   "sooner");
}

std::string output_conflict(OutputOptions const& options, std::vector<std::string> const& inputs) {
  if (!options.html.empty()) {
    if (std::string problem = html_problem(); !problem.empty()) return problem;
  }
  return output_conflict(paths_of(options), inputs);
}

std::string output_conflict(std::vector<std::string> const& outputs, std::vector<std::string> const& inputs) {
  std::vector<std::string> taken;
  for (std::string const& input : inputs) taken.push_back(file_behind(input));
  std::size_t const read = taken.size();
  for (std::string const& path : outputs) {
    if (path == "/dev/null") continue;
    std::string const file = file_behind(path);
    auto const found = std::find(taken.begin(), taken.end(), file);
    if (found < taken.begin() + static_cast<std::ptrdiff_t>(read))
      return fmt::format("'{}' is read, and an output would replace it; give the output its own file", path);
    if (found != taken.end()) {
      return fmt::format("two outputs go to {}; give each its own file",
                         file == "-" ? "standard output" : "'" + path + "'");
    }
    taken.push_back(file);
  }
  return {};
}

bool takes_standard_output(OutputOptions const& options) {
  auto const paths = paths_of(options);
  return std::any_of(paths.begin(), paths.end(), [](std::string const& p) { return file_behind(p) == "-"; });
}

int write_outputs(EventLog const& log, OutputOptions const& options, Uncertainty const* uncertainty) {
  if (!options.requests.empty() && !log.serving && log.outcome == Outcome::completed)
    return refuse("--requests: this run serves no requests; leave the option out");
  Analysis const analysis = analyse(log);
  std::string error;
  auto const write = [&](std::string const& path, auto const& make) {
    if (error.empty() && !path.empty()) error = write_file(path, make());
  };
  write(options.log, [&] { return log_text(log); });
  write(options.json, [&] { return json_text(analysis, uncertainty); });
  write(options.csv, [&] { return csv_text(log); });
  write(options.requests, [&] { return requests_csv(log.serving.value_or(ServingLog())); });
  write(options.trace, [&] { return trace_text(log); });
  write(options.html, [&] { return run_page(log, analysis); });
  if (!options.quiet && !takes_standard_output(options))
    write("-", [&] {
      if (options.incident) return incident_text(analysis, terminal_options());
      std::string text = render_terminal(analysis, terminal_options());
      if (uncertainty != nullptr) text += uncertainty_text(*uncertainty, terminal_options().width);
      return text;
    });
  if (!error.empty()) return refuse(error);
  bool const failed = std::any_of(options.fail_on.begin(), options.fail_on.end(),
                                  [&](std::string const& name) { return fails(log, name); });
  return failed ? 3 : 0;
}

int write_report(OutputOptions const& options, ReportForms const& forms) {
  std::string error;
  auto const write = [&](std::string const& path, std::function<std::string()> const& form) {
    if (error.empty() && !path.empty()) error = write_file(path, form());
  };
  write(options.json, forms.json);
  write(options.csv, forms.csv);
  write(options.html, forms.html);
  if (!takes_standard_output(options)) write("-", forms.text);
  return error.empty() ? 0 : refuse(error);
}

}  // namespace rollcast
