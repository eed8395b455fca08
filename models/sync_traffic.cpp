#include "models/sync_traffic.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/fp8_blocks.hpp"
#include "models/prices.hpp"

namespace rollcast {
namespace {

std::size_t index(SyncLink l) { return static_cast<std::size_t>(l); }

// What tells whether another layer's tensor is sent by the same ranks to the same ranks, where there is no
// choice among sources: its shape and its place in both pipelines.
struct Repeat {
  std::string name;
  int first_expert = 0;
  std::int64_t rows = 0;
  std::vector<int> train_stages;
  std::vector<int> rollout_stages;
  auto operator<=>(Repeat const&) const = default;
};

Repeat repeat_of(Reshard const& r, SyncTensor const& t) {
  return {t.tensor.name, t.first_expert, t.tensor.rows,
          stages_with(r.model, r.train.stages, r.train.parallel.pp, t),
          stages_with(r.model, r.rollout.stages, r.rollout.parallel.pp, t)};
}

bool repeats_in_layers(Reshard const& r, Shards const& source) {
  // A flat parameter has another length in another kind of layer.
  if (r.train.sharding == Sharding::flat_layer) return false;
  return std::none_of(source.parts.begin(), source.parts.end(),
                      [](Shard const& s) { return s.ranks.size() > 1; });
}

void add_flows(SyncTraffic& sum, Reshard const& r, TensorMap const& m, std::int64_t times) {
  for (PartPair const& p : m.pairs) {
    std::int64_t const each = p.bytes * times;
    for (PartPair::Flow const& f : p.flows) {
      std::size_t const link = index(f.link);
      sum.sent[static_cast<std::size_t>(f.source_rank)].by_link[link] += each;
      sum.received[static_cast<std::size_t>(f.destination_rank)].by_link[link] += each;
      sum.total.by_link[link] += each;
      if (f.link != SyncLink::network) continue;
      sum.node_pairs[{r.train_places[static_cast<std::size_t>(f.source_rank)].node,
                      r.rollout_places[static_cast<std::size_t>(f.destination_rank)].node}] += each;
    }
    auto const flows = static_cast<std::int64_t>(p.flows.size());
    sum.copies += static_cast<std::int64_t>(p.copies.size()) * flows * times;
    sum.scale_bytes += p.scales * kScaleBytes * flows * times;
  }
}

void add_blocks(SyncTraffic& sum, SyncTensor const& t, TensorMap const& m, Fp8Scaling scaling,
                std::int64_t times) {
  std::int64_t const rows = t.tensor.rows;
  std::int64_t const columns = t.tensor.columns;
  BlockCount const trainer = count_blocks(rows, columns, m.source.parts, scaling);
  BlockCount const engines = count_blocks(rows, columns, m.destination.parts, scaling);
  sum.blocks += trainer.blocks * times;
  sum.blocks_cut_by_trainer += trainer.cut * times;
  sum.blocks_cut_by_engines += engines.cut * times;
  sum.whole_bytes += trainer.blocks * kScaleBytes * times;
}

// The largest of a kind of link so far.
void take(WireNeed& most, std::int64_t bytes, BytesPerSecond rate, std::string who) {
  if (bytes <= 0 || !(rate.value > 0)) return;
  Seconds const time = Bytes(static_cast<double>(bytes)) / rate;
  if (most.time < time) most = {most.link, bytes, time, std::move(who)};
}

BytesPerSecond rate_in_node(PoolLinks const& p) {
  Node const& node = p.cluster.node;
  bool const nvlink = node.gpu.nvlink.value > 0 && node.interconnect == Interconnect::nvswitch;
  return nvlink ? node.gpu.nvlink * p.profile.nvlink.value : node.gpu.pcie * p.profile.pcie.value;
}

BytesPerSecond rate_of_nics(PoolLinks const& p, double nics) {
  return min(p.cluster.node.nic, p.cluster.fabric.nic) * p.profile.network.value *
         std::min<double>(nics, p.cluster.node.nics);
}

BytesPerSecond rate_of(SyncLink link, PoolLinks const& p) {
  switch (link) {
    case SyncLink::same_gpu:
      return p.profile.gpu.memory_bandwidth * p.profile.memory_pass.value / 2;
    case SyncLink::node:
      return rate_in_node(p);
    case SyncLink::network:
      break;
  }
  return rate_of_nics(p, std::max(1.0, static_cast<double>(p.cluster.node.nics) / p.cluster.node.gpus));
}

void take_ranks(WireNeed& most, std::vector<LinkBytes> const& ranks, PoolLinks const& p, char const* pool,
                char const* verb) {
  for (std::size_t i = 0; i < ranks.size(); ++i)
    take(most, ranks[i].at(most.link), rate_of(most.link, p), fmt::format("{} rank {} {}", pool, i, verb));
}

}  // namespace

std::int64_t LinkBytes::total() const {
  std::int64_t sum = 0;
  for (std::int64_t const b : by_link) sum += b;
  return sum;
}

SyncTraffic sync_traffic(Reshard const& r) {
  SyncTraffic sum;
  sum.sent.resize(r.train_places.size());
  sum.received.resize(r.rollout_places.size());
  std::map<Repeat, std::pair<SyncTensor, std::int64_t>> repeats;
  auto const add = [&](SyncTensor const& t, TensorMap const& m, std::int64_t times) {
    sum.tensors += times;
    sum.whole_bytes += t.tensor.rows * t.tensor.columns * t.element_bytes * times;
    add_flows(sum, r, m, times);
    if (t.quantized) add_blocks(sum, t, m, r.payload.scaling, times);
  };
  for (SyncTensor const& t : sync_tensors(r)) {
    Repeat const key = repeat_of(r, t);
    if (auto const known = repeats.find(key); known != repeats.end()) {
      known->second.second += t.experts;
      continue;
    }
    TensorMap const m = map_tensor(r, t);
    if (repeats_in_layers(r, m.source)) {
      repeats.emplace(key, std::pair{t, std::int64_t{t.experts}});
    } else {
      add(t, m, t.experts);
    }
  }
  for (auto const& [key, repeat] : repeats) add(repeat.first, map_tensor(r, repeat.first), repeat.second);
  return sum;
}

std::vector<WireNeed> wire_needs(SyncTraffic const& t, PoolLinks train, PoolLinks rollout) {
  std::map<int, std::int64_t> out, in;
  for (auto const& [nodes, sent] : t.node_pairs) {
    out[nodes.first] += sent;
    in[nodes.second] += sent;
  }
  std::vector<WireNeed> needs;
  for (SyncLink const link : {SyncLink::same_gpu, SyncLink::node, SyncLink::network}) {
    WireNeed most;
    most.link = link;
    take_ranks(most, t.sent, train, "train", "sends");
    take_ranks(most, t.received, rollout, "rollout", "receives");
    if (link == SyncLink::network) {
      for (auto const& [node, sent] : out)
        take(most, sent, rate_of_nics(train, train.cluster.node.nics), fmt::format("node {} sends", node));
      for (auto const& [node, got] : in)
        take(most, got, rate_of_nics(rollout, rollout.cluster.node.nics),
             fmt::format("node {} receives", node));
    }
    if (most.bytes > 0) needs.push_back(most);
  }
  return needs;
}

}  // namespace rollcast
