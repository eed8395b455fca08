// rollcast blame FILE... [--json F]
#include "models/blame.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "reports/blame_report.hpp"
#include "reports/commands/commands.hpp"
#include "reports/commands/option_checks.hpp"
#include "reports/commands/outputs.hpp"
#include "reports/commands/scenario_input.hpp"
#include "reports/flight_record_json.hpp"
#include "reports/incident_log.hpp"
#include "reports/output_file.hpp"
#include "reports/text_layout.hpp"

namespace rollcast {
namespace {

constexpr std::uintmax_t kLargestFile = std::uintmax_t{512} << 20;

struct Arguments {
  std::vector<std::string> files;
  std::string json;
};

struct Inputs {
  std::vector<FlightDump> dumps;
  std::vector<IncidentFact> facts;
  std::vector<std::string> problems;
};

void read_file(std::string const& name, Inputs& inputs) {
  std::error_code error;
  std::ifstream in(name, std::ios::binary);
  if (!in || std::filesystem::is_directory(name, error)) {
    inputs.problems.push_back(fmt::format("'{}' cannot be read", name));
    return;
  }
  if (std::filesystem::file_size(name, error) > kLargestFile && !error) {
    inputs.problems.push_back(
        fmt::format("{}: larger than 512 MiB; cut out the part around the failure", name));
    return;
  }
  std::string const content{std::istreambuf_iterator<char>(in), {}};
  if (!is_flight_record(content)) {
    std::vector<IncidentFact> const facts = read_incident_log(content, name);
    inputs.facts.insert(inputs.facts.end(), facts.begin(), facts.end());
    return;
  }
  FlightRecordResult read = read_flight_record(content, name);
  inputs.problems.insert(inputs.problems.end(), read.problems.begin(), read.problems.end());
  if (!read.dump) return;
  // The last record alone is told with its stack; the others of a thousand ranks would not fit.
  for (std::size_t i = 0; i + 1 < read.dump->entries.size(); ++i) read.dump->entries[i].frames = {};
  inputs.dumps.push_back(std::move(*read.dump));
}

void check_ranks(Inputs& inputs) {
  std::map<int, std::string> of_rank;
  for (FlightDump const& d : inputs.dumps) {
    auto const [at, is_new] = of_rank.try_emplace(d.rank, d.source);
    if (!is_new)
      inputs.problems.push_back(
          fmt::format("{}: rank {} has a dump already, {}; give one", d.source, d.rank, at->second));
  }
}

int blame_files(Arguments const& a) {
  if (std::string const conflict = output_conflict(std::vector<std::string>{a.json}, a.files);
      !conflict.empty()) {
    print_error(conflict);
    return 2;
  }
  Inputs inputs;
  for (std::string const& file : a.files) read_file(file, inputs);
  check_ranks(inputs);
  for (std::string const& p : inputs.problems) print_error(printable(p));
  if (!inputs.problems.empty()) return 2;
  std::vector<IncidentFact> const facts = in_order(inputs.facts);
  Blame const b = blame(inputs.dumps, facts);
  if (!a.json.empty()) {
    if (std::string const error = write_file(a.json, blame_json(b, facts)); !error.empty()) {
      print_error(error);
      return 2;
    }
  }
  return a.json == "-" ? 0 : print(blame_text(b, facts));
}

}  // namespace

void add_blame_command(CLI::App& app, int& exit_code) {
  auto const a = std::make_shared<Arguments>();
  CLI::App* const command =
      app.add_subcommand("blame", "Which rank a stuck run waits for, from flight recorder dumps and logs");
  command
      ->add_option("FILE", a->files,
                   "Dumps of PyTorch's flight recorder (pickle or JSON, the name ends in the rank) and logs, "
                   "in any mix")
      ->required();
  add_output_file(*command, "--json", a->json, "Write the answer as JSON (- in place of the text)");
  command->footer("Example:\n  rollcast blame nccl_trace_rank_* train.log");
  command->callback([a, &exit_code] { exit_code = blame_files(*a); });
}

}  // namespace rollcast
