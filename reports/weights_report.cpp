#include "reports/weights_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>

#include "calibrate/profiles.hpp"
#include "models/fused_tensors.hpp"
#include "models/pools.hpp"
#include "reports/text_layout.hpp"

namespace rollcast {
namespace {

std::string range_text(IndexRange r) {
  return r.count == 1 ? std::to_string(r.first) : fmt::format("{}-{}", r.first, r.end() - 1);
}

int engine_ranks(Reshard const& r) { return r.rollout.parallel.tp * r.rollout.parallel.pp; }

bool named(WeightsForecast const& f, SyncTensor const& t, std::string const& name) {
  if (!name.empty())
    return full_name(t).find(name) != std::string::npos ||
           engine_parameter(f.map.model, f.map.rollout, t).find(name) != std::string::npos;
  return t.factor || fused_part(f.map.model, t) != FusedPart::none;
}

// The tensor by that name; of a run of experts the first that has it, or all where it is the run's first.
std::optional<SyncTensor> with_name(WeightsForecast const& f, SyncTensor t, std::string const& name) {
  if (named(f, t, name)) return t;
  int const experts = t.experts;
  t.experts = 1;
  for (int i = 1; i < experts; ++i) {
    ++t.first_expert;
    if (named(f, t, name)) return t;
  }
  return std::nullopt;
}

// Of one layer; of experts the first.
void add_details(WeightsForecast& f, std::string const& name) {
  std::optional<int> layer;
  std::vector<std::string> seen;
  for (SyncTensor const& of_model : sync_tensors(f.map)) {
    if (layer && of_model.layer != *layer) continue;
    if (std::find(seen.begin(), seen.end(), of_model.tensor.name) != seen.end()) continue;
    std::optional<SyncTensor> const found = with_name(f, of_model, name);
    if (!found) continue;
    SyncTensor const& t = *found;
    layer = t.layer;
    seen.push_back(t.tensor.name);
    TensorMap const m = map_tensor(f.map, t);
    TensorDetail detail{t, {m.source.stored, {}}, {m.destination.stored, {}}, {}};
    int first = static_cast<int>(f.map.rollout_places.size());
    std::vector<RankCopy> const all = copies_of(m, t);
    for (RankCopy const& c : all) first = std::min(first, c.destination_rank);
    f.engine = first / engine_ranks(f.map);
    for (RankCopy const& c : all) {
      if (c.destination_rank / engine_ranks(f.map) == f.engine) detail.copies.push_back(c);
    }
    std::stable_sort(detail.copies.begin(), detail.copies.end(), [](RankCopy const& a, RankCopy const& b) {
      return a.destination_rank < b.destination_rank;
    });
    f.details.push_back(std::move(detail));
  }
}

std::string tensor_names(Reshard const& r) {
  std::string names;
  std::vector<std::string> seen;
  for (SyncTensor const& t : sync_tensors(r)) {
    if (std::find(seen.begin(), seen.end(), t.tensor.name) != seen.end()) continue;
    seen.push_back(t.tensor.name);
    names += (names.empty() ? "" : ", ") + t.tensor.name;
  }
  return names;
}

}  // namespace

std::string_view sharding_text(Sharding s) {
  switch (s) {
    case Sharding::whole:
      return "whole copies on data-parallel ranks";
    case Sharding::rows:
      return "sharded by rows (FSDP2)";
    case Sharding::flat:
      return "each tensor flat over the ranks (ZeRO-3)";
    case Sharding::flat_layer:
      return "flat parameters of a layer (FSDP1)";
  }
  throw std::logic_error("no such Sharding");
}

std::vector<RankGroup> equal_ranks(std::vector<LinkBytes> const& ranks) {
  std::vector<RankGroup> groups;
  std::map<std::array<std::int64_t, kSyncLinks>, std::size_t> known;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    auto const [at, is_new] = known.try_emplace(ranks[i].by_link, groups.size());
    if (is_new) groups.push_back({{}, ranks[i]});
    groups[at->second].ranks.push_back(static_cast<int>(i));
  }
  return groups;
}

std::size_t busiest_rank(std::vector<LinkBytes> const& ranks) {
  auto const most = std::max_element(ranks.begin(), ranks.end(), [](LinkBytes const& a, LinkBytes const& b) {
    return a.to_others() < b.to_others();
  });
  return static_cast<std::size_t>(most - ranks.begin());
}

std::string what_text(Architecture const& a, SyncTensor const& t, IndexRange rows, IndexRange columns) {
  FusedPart const part = fused_part(a, t);
  std::string const whole =
      columns.count == t.tensor.columns ? "" : fmt::format(", columns {}", range_text(columns));
  auto const of = [&](std::string_view name) {
    std::int64_t const head = part == FusedPart::q ? head_rows(a).q : head_rows(a).kv;
    if (rows.first % head != 0 || rows.count % head != 0)
      return fmt::format("{} rows {}{}", name, range_text(rows), whole);
    IndexRange const heads{rows.first / head, rows.count / head};
    return fmt::format("{} head{} {}{}", name, heads.count == 1 ? "" : "s", range_text(heads), whole);
  };
  switch (part) {
    case FusedPart::q:
      return of("q");
    case FusedPart::k:
      return of("k");
    case FusedPart::v:
      return of("v");
    case FusedPart::gate:
      return fmt::format("gate rows {}{}", range_text(rows), whole);
    case FusedPart::up:
      return fmt::format("up rows {}{}", range_text(rows), whole);
    case FusedPart::none:
      break;
  }
  return fmt::format("rows {}{}", range_text(rows), whole);
}

WeightsResult forecast_weights(Scenario const& s, WeightsOptions const& options) {
  Job const& job = s.job;
  WeightsForecast f;
  f.scenario = s.name;
  f.map = reshard_of(job, options.map);
  f.colocated = colocated(job);
  f.merged_adapter = job.algorithm.adapter && !f.map.payload.factors;
  auto const train = static_cast<std::size_t>(pool_of(job, Role::actor));
  auto const rollout = static_cast<std::size_t>(pool_of(job, Role::rollout));
  std::vector<Pool> const pools = pools_of(job);
  if (pools.size() > 1) {
    f.train_pool = pools[train].name;
    f.rollout_pool = pools[rollout].name;
  }
  add_details(f, options.tensor);
  if (f.details.empty() && !options.tensor.empty())
    return {std::nullopt, fmt::format("no tensor has '{}' in its name; there are {}",
                                      printable(options.tensor), tensor_names(f.map))};
  f.traffic = sync_traffic(f.map);
  std::vector<Profile> const profiles = profiles_for(job);
  f.wire = wire_needs(f.traffic, {pools[train].cluster, profiles[train]},
                      {pools[rollout].cluster, profiles[rollout]});
  return {std::move(f), ""};
}

}  // namespace rollcast
