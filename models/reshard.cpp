#include "models/reshard.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>

#include "models/fp8_blocks.hpp"
#include "models/pools.hpp"

namespace rollcast {
namespace {

// The pools that are parts of one node share number 0; the others follow.
std::vector<RankPlace> places(Job const& job, int pool) {
  std::vector<Pool> const pools = pools_of(job);
  Pool const& own = pools[static_cast<std::size_t>(pool)];
  RankPlace first;
  for (Pool const& p : pools) {
    if (!own.part_of_node && p.part_of_node) first.node = 1;
  }
  for (int before = 0; before < pool; ++before) {
    Pool const& p = pools[static_cast<std::size_t>(before)];
    first.gpu += p.cluster.gpus();
    if (!own.part_of_node && !p.part_of_node) first.node += p.cluster.nodes;
  }
  std::vector<RankPlace> of_rank;
  for (int rank = 0; rank < own.cluster.gpus(); ++rank)
    of_rank.push_back({first.gpu + rank, first.node + rank / own.cluster.node.gpus});
  return of_rank;
}

// Who of those that hold a part sends it next.
class Sources {
 public:
  Sources(Reshard const& r, Shard const& part, int turn) : r_(r), part_(part), turn_(turn) {
    for (int const rank : part.ranks) near_[place(rank).node].push_back(rank);
  }

  int next(RankPlace to) {
    auto const near = near_.find(to.node);
    if (near == near_.end()) return take(part_.ranks, turns_[kAnyNode]);
    for (int const rank : near->second) {
      if (place(rank).gpu == to.gpu) return rank;
    }
    return take(near->second, turns_[to.node]);
  }

 private:
  static constexpr int kAnyNode = -1;

  RankPlace place(int rank) const { return r_.train_places[static_cast<std::size_t>(rank)]; }

  int take(std::vector<int> const& ranks, int& taken) const {
    return ranks[static_cast<std::size_t>(turn_ + taken++) % ranks.size()];
  }

  Reshard const& r_;
  Shard const& part_;
  int turn_;
  std::map<int, std::vector<int>> near_;
  std::map<int, int> turns_;
};

void add_copies(PartPair& pair, Shard const& source, Shard const& destination, SyncTensor const& t,
                Fp8Scaling scaling) {
  for (ShardRect const& d : destination.rects) {
    for (ShardRect const& s : source.rects) {
      IndexRange const rows = overlap(s.rows, d.rows);
      IndexRange const columns = overlap(s.columns, d.columns);
      if (rows.count == 0 || columns.count == 0) continue;
      auto const offset = [&](ShardRect const& in) {
        return in.offset + (rows.first - in.rows.first) * in.stride + columns.first - in.columns.first;
      };
      pair.copies.push_back({rows, columns, offset(s), s.stride, offset(d), d.stride});
      pair.elements += rows.count * columns.count;
      if (t.quantized) pair.scales += scales_in(d, rows, columns, scaling);
    }
  }
  pair.bytes = pair.elements * t.element_bytes + pair.scales * kScaleBytes;
}

}  // namespace

std::string_view name_of(SyncLink l) {
  switch (l) {
    case SyncLink::same_gpu:
      return "same_gpu";
    case SyncLink::node:
      return "node";
    case SyncLink::network:
      return "network";
  }
  throw std::logic_error("no such SyncLink");
}

SyncLink link_between(RankPlace a, RankPlace b) {
  if (a.gpu == b.gpu) return SyncLink::same_gpu;
  return a.node == b.node ? SyncLink::node : SyncLink::network;
}

Reshard reshard_of(Job const& job, ReshardOptions const& options) {
  if (!has_rollout(job.algorithm)) throw std::logic_error("a job without rollout syncs no weights");
  int const actor = pool_of(job, Role::actor);
  int const engines = pool_of(job, Role::rollout);
  Reshard r;
  r.model = job.model;
  r.train = train_layout(for_role(job, Role::actor), options.flat_parameters);
  r.rollout = rollout_layout(on_pool(job, engines));
  r.payload = sync_payload(job, options.scaling);
  r.train_places = places(job, actor);
  r.rollout_places = places(job, engines);
  return r;
}

std::vector<SyncTensor> sync_tensors(Reshard const& r) {
  ExpertRuns runs;
  if (r.model.moe) {
    int const experts = r.model.moe->experts;
    runs.train = static_cast<int>(divide_up(experts, r.train.parallel.ep));
    runs.engine = experts / r.rollout.parallel.ep;
    runs.engine_longer = experts % r.rollout.parallel.ep;
    runs.apart = r.train.sharding == Sharding::flat_layer;
  }
  return sync_tensors(r.model, r.payload, runs);
}

TensorMap map_tensor(Reshard const& r, SyncTensor const& t) {
  TensorMap m;
  m.source = train_shards(r.model, r.train, t);
  m.destination = rollout_shards(r.model, r.rollout, t);
  for (std::size_t s = 0; s < m.source.parts.size(); ++s) {
    Shard const& source = m.source.parts[s];
    Sources sources(r, source, t.ordinal);
    for (std::size_t d = 0; d < m.destination.parts.size(); ++d) {
      Shard const& destination = m.destination.parts[d];
      PartPair pair;
      pair.source = static_cast<int>(s);
      pair.destination = static_cast<int>(d);
      add_copies(pair, source, destination, t, r.payload.scaling);
      if (pair.elements == 0) continue;
      for (int const rank : destination.ranks) {
        RankPlace const to = r.rollout_places[static_cast<std::size_t>(rank)];
        int const from = sources.next(to);
        pair.flows.push_back({from, rank, link_between(r.train_places[static_cast<std::size_t>(from)], to)});
      }
      m.pairs.push_back(std::move(pair));
    }
  }
  return m;
}

std::vector<RankCopy> copies_of(TensorMap const& m, SyncTensor const& t) {
  std::vector<RankCopy> all;
  for (PartPair const& p : m.pairs) {
    for (PartPair::Flow const& f : p.flows) {
      for (PartCopy const& c : p.copies)
        all.push_back(
            {f.source_rank, f.destination_rank, f.link, c, c.rows.count * c.columns.count * t.element_bytes});
    }
  }
  return all;
}

}  // namespace rollcast
