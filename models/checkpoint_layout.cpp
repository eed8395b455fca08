#include "models/checkpoint_layout.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>

#include "models/sharding.hpp"
#include "models/stage_layers.hpp"
#include "models/state_bytes.hpp"

namespace rollcast {
namespace {

constexpr int kEmbedding = 0;  // its number: the first tensor outside the layers

std::int64_t divide_up(std::int64_t n, std::int64_t parts) { return (n + parts - 1) / parts; }

// Tensors of the whole model with their first numbers; `copies` follow each other.
struct Numbered {
  Tensor tensor;
  int number = 0;
  int layer = -1;  // -1: outside the layers
};

std::vector<Numbered> numbered(Architecture const& a) {
  std::vector<Numbered> all;
  int next = 0;
  auto const add = [&](std::vector<Tensor> const& tensors, int layer) {
    for (Tensor const& t : tensors) {
      all.push_back({t, next, layer});
      next += static_cast<int>(t.copies);
    }
  };
  add(outer_tensors(a), -1);
  for (int layer = 0; layer < a.layers; ++layer) add(layer_tensors(a, layer), layer);
  return all;
}

// Elements [from, to) of a block, row by row: the rest of a row, whole rows, the beginning of a row.
void add_range(RankBlocks& out, Block const& b, std::int64_t from, std::int64_t to) {
  std::int64_t const width = b.columns();
  while (from < to) {
    std::int64_t const row = from / width;
    std::int64_t const column = from % width;
    bool const whole = column == 0 && to - from >= width;
    std::int64_t const rows = whole ? (to - from) / width : 1;
    std::int64_t const columns = whole ? width : std::min(width - column, to - from);
    out.push_back(
        {b.tensor, b.row + row, b.row + row + rows, b.column + column, b.column + column + columns});
    from += rows * columns;
  }
}

Block cut_rows(Block b, std::int64_t each, std::int64_t index) {
  std::int64_t const end = b.row_end;
  b.row = std::min(end, b.row + each * index);
  b.row_end = std::min(end, b.row + each);
  return b;
}

// The part of one copy of the tensor on rank `index` of those that cut it.
Block cut(Tensor const& t, Architecture const& a, int number, int ranks, int index) {
  Block b{number, 0, t.rows, 0, t.columns};
  switch (t.split) {
    case Split::replicated:
      return b;
    case Split::rows: {
      if (!t.kv) return cut_rows(b, divide_up(t.rows, ranks), index);
      std::int64_t const heads = divide_up(a.kv_heads, ranks);
      std::int64_t const first = std::int64_t{index} * a.kv_heads / ranks;
      return cut_rows(b, t.rows / a.kv_heads * heads, first / heads);
    }
    case Split::columns: {
      std::int64_t const each = divide_up(t.columns, ranks);
      b.column = std::min(t.columns, each * index);
      b.column_end = std::min(t.columns, b.column + each);
      return b;
    }
    case Split::vocab:
      return cut_rows(b, divide_up(t.rows, ranks), index);
  }
  throw std::logic_error("no such Split");
}

Layout fsdp_layout(Job const& job) {
  int const ranks = job.cluster.gpus();
  int const shards = job.train.shard_ranks > 0 ? std::min(job.train.shard_ranks, ranks) : ranks;
  Layout const of_copy = row_shards(whole_model(job.model), shards);
  Layout all;
  for (int r = 0; r < ranks; ++r) all.push_back(of_copy[static_cast<std::size_t>(r % shards)]);
  return all;
}

Layout replica_layout(Job const& job, bool cut_over_replicas, bool by_tensor) {
  RankBlocks const whole = whole_model(job.model);
  int const ranks = job.cluster.gpus();
  Layout all;
  for (int r = 0; r < ranks; ++r) {
    if (!cut_over_replicas) {
      all.push_back(whole);
    } else if (!by_tensor) {
      all.push_back(flat_part(whole, r, ranks));
    } else {
      RankBlocks mine;
      for (Block const& b : whole) {
        for (Block const& part : flat_part({b}, r, ranks)) mine.push_back(part);
      }
      all.push_back(std::move(mine));
    }
  }
  return all;
}

// The experts' blocks of a rank have data-parallel ranks of their own.
RankBlocks distributed_part(Job const& job, RankBlocks const& held, std::vector<char> const& of_expert,
                            int index) {
  RankBlocks dense;
  RankBlocks experts;
  for (Block const& b : held)
    (of_expert[static_cast<std::size_t>(b.tensor)] != 0 ? experts : dense).push_back(b);
  RankBlocks mine = flat_part(dense, index / job.train.parallel.tp, shard_ranks(job));
  if (!experts.empty()) {
    int const block = job.train.parallel.expert_block();
    for (Block const& b : flat_part(experts, index / block, expert_shard_ranks(job))) mine.push_back(b);
  }
  return mine;
}

Layout megatron_layout(Job const& job, bool cut_over_replicas) {
  std::vector<char> of_expert;
  for (Numbered const& n : numbered(job.model))
    of_expert.insert(of_expert.end(), static_cast<std::size_t>(n.tensor.copies), n.tensor.expert ? 1 : 0);
  int const pp = job.train.parallel.pp;
  int const of_stage = job.cluster.gpus() / pp;
  Layout all;
  for (int stage = 0; stage < pp; ++stage) {
    for (int index = 0; index < of_stage; ++index) {
      RankBlocks held = megatron_blocks(job, stage, index);
      if (!cut_over_replicas) {
        all.push_back(std::move(held));
        continue;
      }
      if (job.model.tied_embeddings && stage > 0)
        std::erase_if(held, [](Block const& b) { return b.tensor == kEmbedding; });
      all.push_back(distributed_part(job, held, of_expert, index));
    }
  }
  return all;
}

std::int64_t overlap(std::int64_t a, std::int64_t a_end, std::int64_t b, std::int64_t b_end) {
  return std::max<std::int64_t>(0, std::min(a_end, b_end) - std::max(a, b));
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
    for (Saved& s : blocks) s.reach = reach = std::max(reach, s.block.row_end);
  }
  return of;
}

}  // namespace

std::int64_t elements_of(RankBlocks const& blocks) {
  std::int64_t sum = 0;
  for (Block const& b : blocks) sum += b.elements();
  return sum;
}

RankBlocks whole_model(Architecture const& a) {
  RankBlocks all;
  for (Numbered const& n : numbered(a)) {
    for (int copy = 0; copy < n.tensor.copies; ++copy)
      all.push_back({n.number + copy, 0, n.tensor.rows, 0, n.tensor.columns});
  }
  return all;
}

Layout row_shards(RankBlocks const& tensors, int ranks) {
  Layout all(static_cast<std::size_t>(ranks));
  for (Block const& b : tensors) {
    for (int r = 0; r < ranks; ++r) {
      Block const part = cut_rows(b, divide_up(b.rows(), ranks), r);
      if (part.elements() > 0) all[static_cast<std::size_t>(r)].push_back(part);
    }
  }
  return all;
}

RankBlocks flat_part(RankBlocks const& blocks, int part, int parts) {
  std::int64_t const all = elements_of(blocks);
  std::int64_t const from = all * part / parts;
  std::int64_t const to = all * (part + 1) / parts;
  RankBlocks out;
  std::int64_t start = 0;
  for (Block const& b : blocks) {
    std::int64_t const n = b.elements();
    add_range(out, b, std::clamp<std::int64_t>(from - start, 0, n),
              std::clamp<std::int64_t>(to - start, 0, n));
    start += n;
  }
  return out;
}

RankBlocks megatron_blocks(Job const& job, int stage, int index) {
  Architecture const& a = job.model;
  Parallel const& p = job.train.parallel;
  if (stage < 0 || stage >= p.pp) throw std::logic_error("no such pipeline stage");
  Stage const s = pipeline_stages(a, job.train, 1)[static_cast<std::size_t>(stage)];
  std::vector<Tensor> const outer = outer_tensors(a, s, Head::vocabulary);
  int const expert_tp = p.expert_tp();
  std::int64_t const group = index / expert_tp % p.ep;  // of the experts
  RankBlocks held;
  auto const add = [&](Block const& b) {
    if (b.elements() > 0) held.push_back(b);
  };
  for (Numbered const& n : numbered(a)) {
    Tensor const& t = n.tensor;
    bool const here = n.layer >= 0 ? n.layer >= s.first_layer && n.layer < s.first_layer + s.layers
                                   : std::any_of(outer.begin(), outer.end(),
                                                 [&](Tensor const& o) { return o.name == t.name; });
    if (!here) continue;
    if (!t.expert) {
      for (int copy = 0; copy < t.copies; ++copy) add(cut(t, a, n.number + copy, p.tp, index % p.tp));
      continue;
    }
    std::int64_t const each = divide_up(t.copies, p.ep);
    for (std::int64_t e = group * each; e < std::min(t.copies, (group + 1) * each); ++e)
      add(cut(t, a, n.number + static_cast<int>(e), expert_tp, index % expert_tp));
  }
  return held;
}

Layout held_layout(Job const& job, SavedState state) {
  bool const optimizer = state == SavedState::optimizer;
  int const zero = zero_stage(job.train);
  switch (job.train.kind) {
    case TrainerKind::fsdp2:
      return fsdp_layout(job);
    case TrainerKind::megatron:
      return megatron_layout(job, optimizer && zero >= 1);
    case TrainerKind::deepspeed:
    case TrainerKind::ddp:
      return replica_layout(job, zero >= (optimizer ? 1 : 3), zero >= 3);
  }
  throw std::logic_error("no such TrainerKind");
}

Layout saved_layout(Layout const& held) {
  std::map<Block, std::vector<int>> holders;
  for (std::size_t r = 0; r < held.size(); ++r) {
    for (Block const& b : held[r]) holders[b].push_back(static_cast<int>(r));
  }
  Layout saved(held.size());
  for (auto const& [block, ranks] : holders) {
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      for (Block const& part : flat_part({block}, static_cast<int>(i), static_cast<int>(ranks.size())))
        saved[static_cast<std::size_t>(ranks[i])].push_back(part);
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
      auto s =
          std::partition_point(list.begin(), list.end(), [&](Saved const& x) { return x.reach <= b.row; });
      for (; s != list.end() && s->block.row < b.row_end; ++s) {
        std::int64_t const n = overlap(b.row, b.row_end, s->block.row, s->block.row_end) *
                               overlap(b.column, b.column_end, s->block.column, s->block.column_end);
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
