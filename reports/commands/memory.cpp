#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "models/context_limit.hpp"
#include "reports/commands/commands.hpp"
#include "reports/commands/memory_advice.hpp"
#include "reports/commands/option_checks.hpp"
#include "reports/commands/outputs.hpp"
#include "reports/commands/scenario_input.hpp"
#include "reports/memory_report.hpp"
#include "reports/memory_snapshot.hpp"
#include "reports/snapshot_report.hpp"

namespace rollcast {
namespace {

constexpr std::size_t kShownChanges = 3;

struct Arguments {
  ScenarioArguments scenario;
  std::string json;
  std::string replay;
  std::string allocator;
  std::string visible_memory;
  std::optional<int> device;
};

// The first GPU of which the snapshot tells anything.
int first_device(MemorySnapshot const& s) {
  for (std::size_t d = 0; d < s.device_traces.size(); ++d) {
    if (!s.device_traces[d].empty()) return static_cast<int>(d);
  }
  return s.segments.empty() ? 0 : s.segments.front().device;
}

bool tells_of(MemorySnapshot const& s, int device) {
  auto const d = static_cast<std::size_t>(device);
  bool const traced = d < s.device_traces.size() && !s.device_traces[d].empty();
  return traced || std::any_of(s.segments.begin(), s.segments.end(),
                               [device](SnapshotSegment const& x) { return x.device == device; });
}

// What a snapshot says, and its program again with other options.
int replay(Arguments const& a) {
  if (!a.scenario.file.empty() || !a.scenario.options.sets.empty() || !a.json.empty())
    return refuse("--replay takes no scenario, --set or --json beside it");
  std::error_code error;
  std::ifstream in(a.replay, std::ios::binary);
  if (!in || std::filesystem::is_directory(a.replay, error))
    return refuse(fmt::format("'{}' cannot be read", shown(a.replay)));
  SnapshotResult const read = read_memory_snapshot(in, a.replay);
  if (!read.snapshot) return refuse(read.error);
  ReplayOptions options;
  options.device = a.device.value_or(first_device(*read.snapshot));
  if (a.device && !tells_of(*read.snapshot, *a.device))
    return refuse(fmt::format("{} tells nothing of GPU {}", shown(a.replay), *a.device));
  options.config = read.snapshot->config;
  if (!a.allocator.empty()) {
    AllocatorConfigResult const parsed = parse_allocator_config(a.allocator);
    if (!parsed.config) return refuse("--allocator: " + parsed.error);
    options.config = *parsed.config;
  }
  if (!a.visible_memory.empty())
    options.total = static_cast<std::int64_t>(parse_quantity<Bytes>(a.visible_memory).value->value);
  return print(snapshot_text(*read.snapshot, a.replay, options));
}

int memory(Arguments const& arguments) {
  if (!arguments.replay.empty()) return replay(arguments);
  if (arguments.scenario.file.empty()) return refuse("name a scenario, or --replay a snapshot");
  OutputOptions outputs;
  outputs.json = arguments.json;
  if (std::string const conflict = output_conflict(outputs, inputs_of(arguments.scenario)); !conflict.empty())
    return refuse(conflict);
  int exit_code = 0;
  std::optional<Scenario> const scenario = read_scenario(arguments.scenario, exit_code);
  if (!scenario) return exit_code;
  MemoryForecast forecast = forecast_memory(*scenario);
  forecast.longest_fitting = longest_fitting_sequence(scenario->job);
  if (!memory_verdict(forecast).fits)
    forecast.changes = cheapest_changes(arguments.scenario, scenario->job, kShownChanges);
  return write_report(outputs,
                      {[&] { return memory_text(forecast); }, [&] { return memory_json(forecast); }});
}

}  // namespace

void add_memory_command(CLI::App& app, int& exit_code) {
  auto const arguments = std::make_shared<Arguments>();
  CLI::App* const command =
      app.add_subcommand("memory", "What every GPU and host holds in each phase, and whether it fits");
  add_scenario_arguments(*command, arguments->scenario);
  add_output_file(*command, "--json", arguments->json, "Write the ledger as JSON (- in place of the text)");
  command->get_option("FILE")->required(false);
  auto* const snapshot =
      command
          ->add_option(
              "--replay", arguments->replay,
              "In place of a scenario: a snapshot of torch.cuda.memory as JSON; what it holds, and the same "
              "allocations with the options below")
          ->type_name("FILE");
  command
      ->add_option("--allocator", arguments->allocator,
                   "PYTORCH_CUDA_ALLOC_CONF of the replay; default: the snapshot's")
      ->needs(snapshot)
      ->type_name("TEXT");
  command->add_option("--visible-memory", arguments->visible_memory, "Memory of the card of the replay")
      ->needs(snapshot)
      ->check(memory_size())
      ->type_name("SIZE");
  command->add_option("--device", arguments->device, "GPU of the snapshot; default: the first in it")
      ->needs(snapshot)
      ->check(whole_number(0, 63))
      ->type_name("N");
  command->footer(
      "Example:\n  rollcast memory grpo.yaml --set train.recompute=none\n"
      "  rollcast memory --replay snapshot.json --allocator expandable_segments:True");
  command->callback([arguments, &exit_code] { exit_code = memory(*arguments); });
}

}  // namespace rollcast
