#include "models/checkpoint_layout.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>

#include "models/roles.hpp"
#include "models/shard_exchange.hpp"
#include "models/sharding.hpp"
#include "models/state_bytes.hpp"
#include "models/train_shards.hpp"

namespace rollcast {
namespace {

Layout layout_of(Job const& job, std::vector<SyncTensor> const& tensors) {
  TrainLayout const trainer = train_layout(job);
  Layout all(static_cast<std::size_t>(trainer.ranks));
  int number = 0;
  for (SyncTensor const& t : tensors) {
    for (Shard const& shard : train_shards(job.model, trainer, t).parts) {
      for (int const rank : shard.ranks) {
        for (ShardRect const& r : shard.rects) {
          if (r.count() > 0) all[static_cast<std::size_t>(rank)].push_back({number, r.rows, r.columns});
        }
      }
    }
    ++number;
  }
  return all;
}

// The experts' blocks of a rank have data-parallel ranks of their own.
Layout distributed(Job const& job, std::vector<SyncTensor> const& tensors, Layout const& held) {
  Parallel const& p = job.train.parallel;
  int const of_stage = job.cluster.gpus() / p.pp;
  Layout all;
  for (RankBlocks const& blocks : held) {
    auto const rank = static_cast<int>(all.size());
    int const index = rank % of_stage;
    RankBlocks dense, experts;
    for (Block const& b : blocks) {
      Tensor const& t = tensors[static_cast<std::size_t>(b.tensor)].tensor;
      bool const copy = job.model.tied_embeddings && rank >= of_stage && t.split == Split::vocab;
      if (!copy) (t.expert ? experts : dense).push_back(b);
    }
    RankBlocks mine = flat_part(dense, index / p.tp, shard_ranks(job));
    RankBlocks const of_experts = flat_part(experts, index / p.expert_block(), expert_shard_ranks(job));
    mine.insert(mine.end(), of_experts.begin(), of_experts.end());
    all.push_back(std::move(mine));
  }
  return all;
}

bool is_distributed(Job const& job, SavedState state) {
  return state == SavedState::optimizer && !is_fully_sharded(job.train) && zero_stage(job.train) >= 1;
}

void drop_copies(Job const& job, Layout& saved) {
  std::vector<SyncTensor> const tensors = checkpoint_tensors(job);
  Parallel const& p = job.train.parallel;
  int rank = 0;
  for (RankBlocks& blocks : saved) {
    std::erase_if(blocks, [&](Block const& b) {
      Tensor const& t = tensors[static_cast<std::size_t>(b.tensor)].tensor;
      return t.split == Split::replicated && rank % (t.expert ? p.expert_tp() : p.tp) != 0;
    });
    ++rank;
  }
}

// The saved blocks of one tensor, by row.
struct Saved {
  Block block;
  int rank = 0;
  std::int64_t reach = 0;  // the last row end up to here
};

std::map<int, std::vector<Saved>> by_tensor(Layout const& saved) {
  std::map<int, std::vector<Saved>> of;
  for (std::size_t r = 0; r < saved.size(); ++r) {
    for (Block const& b : saved[r]) of[b.tensor].push_back({b, static_cast<int>(r), 0});
  }
  for (auto& [tensor, blocks] : of) {
    std::sort(blocks.begin(), blocks.end(), [](Saved const& a, Saved const& b) { return a.block < b.block; });
    std::int64_t reach = 0;
    for (Saved& s : blocks) s.reach = reach = std::max(reach, s.block.rows.end());
  }
  return of;
}

}  // namespace

std::int64_t elements_of(RankBlocks const& blocks) {
  std::int64_t sum = 0;
  for (Block const& b : blocks) sum += b.count();
  return sum;
}

std::vector<SyncTensor> checkpoint_tensors(Job const& job) {
  SyncPayload payload;
  payload.factors = adapter_of(job, {Role::actor, true, false});
  return sync_tensors(job.model, payload, {});
}

RankBlocks flat_part(RankBlocks const& blocks, int part, int parts) {
  IndexRange const own = part_of(elements_of(blocks), parts, part);
  RankBlocks out;
  std::int64_t start = 0;
  for (Block const& b : blocks) {
    IndexRange there = overlap(own, {start, b.count()});
    there.first -= start;
    for (ShardRect const& r : flat_rects(row_major(b.rows, b.columns, 0), there, 0))
      out.push_back({b.tensor, r.rows, r.columns});
    start += b.count();
  }
  return out;
}

Layout held_layout(Job const& job, SavedState state) {
  std::vector<SyncTensor> const tensors = checkpoint_tensors(job);
  Layout held = layout_of(job, tensors);
  return is_distributed(job, state) ? distributed(job, tensors, held) : held;
}

Layout saved_layout(Job const& job, SavedState state) {
  Layout held = held_layout(job, state);
  if (is_distributed(job, state)) {
    drop_copies(job, held);
    return held;
  }
  std::map<Block, std::vector<int>> holders;
  for (std::size_t r = 0; r < held.size(); ++r) {
    for (Block const& b : held[r]) holders[b].push_back(static_cast<int>(r));
  }
  Layout saved(held.size());
  for (auto const& [block, ranks] : holders) {
    auto const parts = static_cast<int>(ranks.size());
    for (int i = 0; i < parts; ++i) {
      RankBlocks& mine = saved[static_cast<std::size_t>(ranks[static_cast<std::size_t>(i)])];
      for (Block const& part : flat_part({block}, i, parts)) mine.push_back(part);
    }
  }
  return saved;
}

LoadPlan load_plan(Layout const& saved, Layout const& needed, Bytes per_element) {
  std::map<int, std::vector<Saved>> const of = by_tensor(saved);
  LoadPlan plan;
  for (RankBlocks const& blocks : needed) {
    std::map<int, std::int64_t> from;
    std::int64_t found = 0;
    for (Block const& b : blocks) {
      auto const shards = of.find(b.tensor);
      if (shards == of.end()) break;
      auto const& list = shards->second;
      auto s = std::partition_point(list.begin(), list.end(),
                                    [&](Saved const& x) { return x.reach <= b.rows.first; });
      for (; s != list.end() && s->block.rows.first < b.rows.end(); ++s) {
        std::int64_t const n =
            overlap(b.rows, s->block.rows).count * overlap(b.columns, s->block.columns).count;
        if (n > 0) from[s->rank] += n;
        found += n;
      }
    }
    if (found != elements_of(blocks))
      throw std::logic_error("the saved shards do not hold what a rank needs once");
    std::vector<ShardRead> reads;
    for (auto const& [rank, n] : from) reads.push_back({rank, per_element * static_cast<double>(n)});
    plan.push_back(std::move(reads));
  }
  return plan;
}

}  // namespace rollcast
