// A scenario: the job to simulate, and where each value came from.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/job.hpp"
#include "models/outcome.hpp"
#include "scenarios/problem.hpp"

namespace rollcast {

// One value and its origin, for --explain.
struct Origin {
  std::string key;    // "rollout.gpu_memory_utilization"
  std::string value;  // as text, with its unit
  std::string
      from;  // "r01.yaml:12", "--set", "nemo-rl preset: <source>", "catalog h100-sxm", "default", "derived"
};

struct Measured {
  std::string source;
  std::string grade;
  std::vector<std::pair<std::string, double>> values;  // "step_seconds" -> 92.8
};

struct SecondsBounds {
  std::optional<Seconds> least = {};
  std::optional<Seconds> most = {};
};

// A share of a pool's rank time that is waited, by a cause of the report's idle_by_cause.
struct ExpectedIdle {
  std::string pool;   // empty: the first
  std::string cause;  // "phase_wait"
  double least = 0;
};

// What the run of an incident must come to. Only what is set is compared.
struct Expected {
  std::string source;
  Outcome outcome = Outcome::completed;
  std::string reason;                         // part of the outcome's
  std::optional<int> preemptions = {};        // at least
  std::optional<double> sync_over_wire = {};  // weight sync over its wire alone, at least
  std::optional<int> steps = {};  // to run; else as many as validate takes, or up to the step below
  std::optional<OomKind> kind = {};
  std::optional<Phase> phase = {};
  std::optional<std::string> pool = {};
  std::optional<int> rank = {};
  std::optional<int> step = {};                // from 1
  std::optional<std::string> allocation = {};  // part of its name
  std::optional<Bytes> requested = {};
  double tolerance = 0.001;  // relative, of requested
  // Of a stall or a failure, after its first cause.
  std::optional<std::string> stall = {};       // watchdog, hang, rpc_timeout, deadlock
  std::optional<std::string> group = {};       // that its ranks wait in
  std::optional<std::string> operation = {};   // ALLGATHER
  std::optional<std::string> cause = {};       // part of the first happening
  std::optional<Seconds> detected_after = {};  // within a second
  std::optional<Seconds> ended_after = {};     // within a second; no_end: never
  std::optional<Seconds> ended_within = {};    // at most
  std::optional<Seconds> monitor_from = {};    // the heartbeat monitor speaks at or after
  std::optional<Seconds> monitor_before = {};
  bool no_end = false;
  std::optional<double> gpu_hours_lost = {};                        // within 1 %
  SecondsBounds step_seconds = {};                                  // of the mean step
  std::vector<std::pair<Phase, SecondsBounds>> phase_seconds = {};  // mean per step, over all pools
  std::optional<ExpectedIdle> idle = {};
};

struct Scenario {
  std::string name;  // file name without folder and extension
  std::string file;  // as it was given
  Job job;
  std::optional<Measured> measured;
  std::optional<Expected> expected;
  std::vector<Origin> origins;
};

// A scenario, or every problem of its text.
struct ScenarioResult {
  std::optional<Scenario> scenario;  // set if and only if problems is empty
  std::vector<Problem> problems;
};

struct ScenarioOptions {
  std::vector<std::string> sets;           // "train.parallel.tp=2"
  std::vector<std::string> catalog_files;  // overrides
};

ScenarioResult read_scenario_file(std::string const& path, ScenarioOptions const& options);
// text as if it stood in `file`; relative paths inside are resolved against file's folder.
ScenarioResult read_scenario_text(std::string const& text, std::string const& file,
                                  ScenarioOptions const& options);

// Problems across fields (tp that does not divide the heads, world size not a multiple, ...), with the
// nearest valid values named. key is set, file and line are not: the text layer finds them.
std::vector<Problem> check(Job const& job);

// What of a good scenario `rollcast run` cannot simulate yet (algorithms, trainers, schedules and offloads
// that only have a memory ledger; orders of phases that make no such step). file of each is where the value
// was written, or the scenario's file where none was; line is not set.
std::vector<Problem> check_simulated(Scenario const& scenario);

}  // namespace rollcast
