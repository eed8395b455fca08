// One weight sync of a scenario by the reshard map, as a verdict, tables and JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/sync_traffic.hpp"
#include "scenarios/scenario.hpp"

namespace rollcast {

// A tensor in detail: all copies to one engine.
struct TensorDetail {
  SyncTensor tensor;
  Shards source;  // names of the stored parameters; parts left out
  Shards destination;
  std::vector<RankCopy> copies;
};

struct WeightsForecast {
  std::string scenario;
  Reshard map;
  bool colocated = false;
  std::string train_pool;  // empty: there is one
  std::string rollout_pool;
  bool merged_adapter = false;
  SyncTraffic traffic;
  std::vector<WireNeed> wire;
  int engine = 0;  // of the details
  std::vector<TensorDetail> details;
};

struct WeightsOptions {
  ReshardOptions map;
  // Of the detail: a part of a tensor's name, as in the checkpoint or in the engine; the first layer that has
  // one is told. Empty: what the engine fuses in the first layer (of an adapter: its first factors).
  std::string tensor;
};

// The forecast, or one sentence for a name that no tensor has. std::logic_error for a job without rollout.
struct WeightsResult {
  std::optional<WeightsForecast> forecast;
  std::string error;
};
WeightsResult forecast_weights(Scenario const& s, WeightsOptions const& options);

// Verdict, layouts, bytes by link, by rank and by pair of nodes, the detail, what the wire alone needs.
std::string weights_text(WeightsForecast const& f);

// Keys as reports/json_schema lists them; bytes are whole numbers.
std::string weights_json(WeightsForecast const& f);

// Ranks of the same bytes, in the order of their first rank.
struct RankGroup {
  std::vector<int> ranks;
  LinkBytes bytes;
};
std::vector<RankGroup> equal_ranks(std::vector<LinkBytes> const& ranks);

// The one that sends or receives most to or from other GPUs; the first of equal ones.
std::size_t busiest_rank(std::vector<LinkBytes> const& ranks);

// What a copy is to a person: "q heads 0-1", "gate rows 0-13", "rows 0-4095, columns 0-1023".
std::string what_text(Architecture const& a, SyncTensor const& t, IndexRange rows, IndexRange columns);

// "tp 2, pp 2"; experts: with ep and etp.
std::string layout_text(Parallel const& p, bool experts);

// "sharded by rows (FSDP2)".
std::string_view sharding_text(Sharding s);

}  // namespace rollcast
