// What the phases of one run share: the scenario's job, prices, placement, the engine and the log.
#pragma once

#include <cstdint>
#include <vector>

#include "models/collective_prices.hpp"
#include "models/profile.hpp"
#include "models/step_prices.hpp"
#include "models/switching.hpp"
#include "models/training.hpp"
#include "sim/collectives.hpp"
#include "sim/engine.hpp"
#include "sim/placement.hpp"
#include "sim/recorder.hpp"
#include "sim/samples.hpp"

namespace rollcast {

struct RunState {
  Job const& job;
  Profile const& profile;
  CollectivePrices& collective_prices;
  EventLog& log;
  Recorder& recorder;
  Engine& engine;
  Collectives& collectives;
  Placement const& placement;
  std::vector<Stage> stages;
  std::vector<CommunicatorId> gradients;  // of each stage; members are the replicas
  StepPrices step_prices;
  std::int64_t kv_blocks = 0;

  // Of the step under way.
  int step = 0;
  std::vector<Sample> samples = {};

  int classes() const { return static_cast<int>(placement.classes.size()); }
  int replicas() const { return static_cast<int>(placement.classes_of_stage.size()); }
  RankLedger const& ledger_of(int rank_class) const {
    return log.ledgers[static_cast<std::size_t>(log.ledger_of_class[static_cast<std::size_t>(rank_class)])];
  }
};

// Each of these runs inside the driver actor, from now until the last rank is done, and writes the spans.
void generate(RunState& run);
void log_probabilities(RunState& run);
void update_actor(RunState& run);
void synchronise_weights(RunState& run);
// The copies of each rank class, one after another.
void copy_to_and_from_host(RunState& run, std::vector<std::vector<HostCopy>> const& of_class);

// The sequences of each replica in the log-prob phases.
std::vector<std::vector<Sample>> logprob_shards(RunState const& run);

}  // namespace rollcast
