// A forecast as one task of many: a scenario with some values changed, simulated in a child process
// (fork_pool.hpp), its headline handed back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reports/fork_pool.hpp"
#include "reports/headline.hpp"
#include "scenarios/scenario.hpp"
#include "sim/event_log.hpp"

namespace rollcast {

// The text of a scenario file, read once.
struct ScenarioSource {
  std::string file;  // as it was given
  std::string text;
  ScenarioOptions options;
};

// Read with further overrides, after those of the source.
ScenarioResult read_with(ScenarioSource const& source, std::vector<std::string> const& sets);

struct ForecastTask {
  int source = 0;                 // index into the sources
  std::vector<std::string> sets;  // "train.parallel.tp=2", after those of the source
  std::uint64_t seed = 1;
  int steps = 1;
  // With the prices and lengths of this draw (models/price_draw.hpp), the same for every layout.
  std::optional<std::uint32_t> draw = {};
};
std::string to_text(ForecastTask const& t);
ForecastTask forecast_task_from_text(std::string const& text);

// What became of a task: the scenario and its log, or why it cannot be simulated.
struct SimulatedTask {
  std::optional<Scenario> scenario;
  EventLog log;
  std::string infeasible;
};
// Reads, checks and simulates in this process, which must not have simulated before.
SimulatedTask simulated(ScenarioSource const& source, ForecastTask const& task);

// Reads, checks and simulates in this process, which must not have simulated before. A scenario that is not
// good, is not simulated yet or needs more memory than a share of what is free is Outcome::infeasible with
// the first problem as its reason.
Headline forecast(ScenarioSource const& source, ForecastTask const& task);

// A pool whose tasks are texts of ForecastTasks and whose results are texts of Headlines.
ForkPool forecast_pool(int workers, std::vector<ScenarioSource> sources);
// The headline of a task's result; Outcome::failed where its process ended otherwise.
Headline headline_of(ApartResult const& result);
// In the order of the tasks.
std::vector<Headline> forecast_all(ForkPool& pool, std::vector<ForecastTask> const& tasks);

}  // namespace rollcast
