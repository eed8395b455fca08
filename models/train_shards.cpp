#include "models/train_shards.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "models/fused_tensors.hpp"
#include "models/shard_exchange.hpp"
#include "models/sharding.hpp"
#include "models/stage_layers.hpp"

namespace rollcast {
namespace {

constexpr std::int64_t kVocabularyMultiple = 128;  // Megatron's make_vocab_size_divisible_by

int cut_of(TrainLayout const& l, SyncTensor const& t) {
  return t.tensor.expert ? l.parallel.expert_tp() : l.parallel.tp;
}

// Of linear_qkv: fused row = group x (query rows + key rows + value rows) + row within the group.
std::vector<ShardRect> qkv_rects(Architecture const& a, SyncTensor const& t, FusedPart part, int tp,
                                 int index) {
  HeadRows const head = head_rows(a);
  std::int64_t const query = a.heads / a.kv_heads * head.q;
  std::int64_t const group = query + 2 * head.kv;
  IndexRange const own = part_of(a.kv_heads * group, tp, index);
  IndexRange const columns{0, t.tensor.columns};
  std::int64_t const before = part == FusedPart::q ? 0 : part == FusedPart::k ? query : query + head.kv;
  std::int64_t const rows = part == FusedPart::q ? query : head.kv;
  std::vector<ShardRect> rects;
  for (std::int64_t g = own.first / group; g * group < own.end(); ++g) {
    IndexRange const there = overlap({g * group + before, rows}, own);
    if (there.count == 0) continue;
    IndexRange const logical{g * rows + there.first - g * group - before, there.count};
    rects.push_back(row_major(logical, columns, (there.first - own.first) * columns.count));
  }
  return rects;
}

// What tensor parallelism leaves on its rank `index`.
std::vector<ShardRect> cell(Architecture const& a, TrainLayout const& l, SyncTensor const& t, int index) {
  int const cut = cut_of(l, t);
  IndexRange const rows{0, t.tensor.rows};
  IndexRange const columns{0, t.tensor.columns};
  FusedPart const part = l.fused ? fused_part(a, t) : FusedPart::none;
  if (is_qkv(part)) return qkv_rects(a, t, part, cut, index);
  switch (t.tensor.split) {
    case Split::replicated:
      return {row_major(rows, columns, 0)};
    case Split::columns:
      return {row_major(rows, part_of(columns.count, cut, index), 0)};
    case Split::vocab: {
      std::int64_t const multiple = l.fused ? kVocabularyMultiple * cut : 1;
      std::int64_t const padded = divide_up(rows.count, multiple) * multiple;
      return {row_major(overlap(part_of(padded, cut, index), rows), columns, 0)};
    }
    case Split::rows: {
      if (!l.fused) return {row_major(part_of(rows.count, cut, index), columns, 0)};
      std::vector<ShardRect> rects = cut_each(separate_rows(a, t), columns, cut, index);
      if (part == FusedPart::up) rects.front().offset = rects.front().count();
      return rects;
    }
  }
  throw std::logic_error("no such Split");
}

// The tensors of a flat parameter in its order.
std::vector<Tensor> flat_order(Architecture const& a, int layer) {
  if (layer < 0) return outer_tensors(a);
  std::vector<Tensor> list = layer_tensors(a, layer);
  std::stable_partition(list.begin(), list.end(), [](Tensor const& t) {
    return !t.name.starts_with("input_layernorm") && !t.name.starts_with("post_attention_layernorm");
  });
  return list;
}

struct FlatPlace {
  std::int64_t offset = 0;  // of the tensor in the flat parameter
  std::int64_t total = 0;
};

// Experts lie one after the other, each with its own gate, up and down.
FlatPlace flat_place(Architecture const& a, TrainLayout const& l, SyncTensor const& t) {
  Parallel const& p = l.parallel;
  if (p.tp != 1 || p.pp != 1 || p.ep != 1 || p.expert_tp() != 1)
    throw std::logic_error("flat parameters of a model that is cut otherwise");
  FlatPlace place;
  std::int64_t in_expert = 0;
  std::vector<Tensor> const list = flat_order(a, t.layer);
  for (auto one = list.begin(); one != list.end(); ++one) {
    std::int64_t const size = one->rows * one->columns;
    if (one->name == t.tensor.name) place.offset = one->expert ? place.offset + in_expert : place.total;
    if (!one->expert) {
      place.total += size;
      continue;
    }
    in_expert += size;
    bool const last = one + 1 == list.end() || !(one + 1)->expert;
    if (!last) continue;
    if (t.tensor.expert) place.offset += place.total + t.first_expert * in_expert;
    place.total += one->copies * in_expert;
  }
  return place;
}

// Part `index` of `parts` of a cell that is one rectangle.
std::vector<ShardRect> piece(TrainLayout const& l, SyncTensor const& t, ShardRect const& whole,
                             FlatPlace const& flat, int parts, int index) {
  Sharding const how = l.sharding == Sharding::flat_layer && t.factor ? Sharding::flat : l.sharding;
  switch (how) {
    case Sharding::whole:
      return {whole};
    case Sharding::rows: {
      IndexRange rows = part_of(whole.rows.count, parts, index);
      rows.first += whole.rows.first;
      return {row_major(rows, whole.columns, 0)};
    }
    case Sharding::flat:
      return flat_rects(whole, part_of(whole.count(), parts, index), 0);
    case Sharding::flat_layer: {
      IndexRange const own = part_of(flat.total, parts, index);
      IndexRange const there = overlap(own, {flat.offset, whole.count()});
      return flat_rects(whole, {there.first - flat.offset, there.count}, there.first - own.first);
    }
  }
  throw std::logic_error("no such Sharding");
}

// Ranks of a stage that hold cell `index`, ascending.
std::vector<int> members(Architecture const& a, TrainLayout const& l, SyncTensor const& t, int stage,
                         int index) {
  Parallel const& p = l.parallel;
  int const stage_ranks = l.ranks / p.pp;
  int first = index;
  int step = p.tp;
  if (t.tensor.expert) {
    int const held = static_cast<int>(divide_up(a.moe->experts, p.ep));
    first = t.first_expert / held * p.expert_tp() + index;
    step = p.expert_block();
  }
  std::vector<int> ranks;
  for (int x = first; x < stage_ranks; x += step) ranks.push_back(stage * stage_ranks + x);
  return ranks;
}

std::string stored_name(Architecture const& a, TrainLayout const& l, SyncTensor const& t) {
  if (l.sharding == Sharding::flat_layer && !t.factor)
    return t.layer < 0 ? "flat_param" : fmt::format("layers.{}.flat_param", t.layer);
  FusedPart const part = l.fused ? fused_part(a, t) : FusedPart::none;
  if (part == FusedPart::none) return full_name(t);
  SyncTensor named = t;
  named.tensor.name = renamed(t.tensor.name, is_qkv(part) ? "linear_qkv" : "linear_fc1");
  return full_name(named);
}

bool empty(std::vector<ShardRect> const& rects) {
  return std::all_of(rects.begin(), rects.end(), [](ShardRect const& r) { return r.count() == 0; });
}

}  // namespace

TrainLayout train_layout(Job const& job, bool flat_layer) {
  TrainLayout l;
  l.ranks = job.cluster.gpus();
  l.parallel = job.train.parallel;
  l.shard_ranks = job.train.shard_ranks;
  l.fused = job.train.kind == TrainerKind::megatron;
  if (job.train.kind == TrainerKind::fsdp2) {
    l.sharding = flat_layer ? Sharding::flat_layer : Sharding::rows;
  } else if (is_fully_sharded(job.train)) {
    l.sharding = Sharding::flat;
  }
  l.stages = pipeline_stages(job.model, job.train, job.train.virtual_stages);
  return l;
}

std::vector<int> stages_with(Architecture const& a, std::vector<Stage> const& stages, int pp,
                             SyncTensor const& t) {
  std::vector<int> ranks;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    Stage const& s = stages[i];
    bool holds = t.layer >= s.first_layer && t.layer < s.first_layer + s.layers;
    if (t.layer < 0) {
      std::vector<Tensor> const outer = outer_tensors(a, s, Head::vocabulary);
      holds =
          std::any_of(outer.begin(), outer.end(), [&](Tensor const& o) { return o.name == t.tensor.name; });
    }
    if (holds) ranks.push_back(static_cast<int>(i) % pp);
  }
  if (ranks.empty()) throw std::logic_error("no pipeline stage holds " + full_name(t));
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

Shards train_shards(Architecture const& a, TrainLayout const& l, SyncTensor const& t) {
  Shards all;
  all.stored = stored_name(a, l, t);
  std::vector<int> const stages = stages_with(a, l.stages, l.parallel.pp, t);
  // A tensor that tensor parallelism leaves whole is one part, held by all ranks of the stage.
  bool const cut = t.tensor.split != Split::replicated;
  for (int index = 0; index < cut_of(l, t); ++index) {
    std::vector<ShardRect> const rects = cell(a, l, t, index);
    if (empty(rects)) continue;
    FlatPlace const flat =
        l.sharding == Sharding::flat_layer && !t.factor ? flat_place(a, l, t) : FlatPlace{};
    std::size_t const first = cut || index == 0 ? all.parts.size() : 0;
    for (int const stage : stages) {
      std::vector<int> const ranks = members(a, l, t, stage, index);
      int const held = static_cast<int>(ranks.size());
      int const parts = l.sharding == Sharding::whole ? 1
                        : l.shard_ranks > 0           ? std::min(l.shard_ranks, held)
                                                      : held;
      for (int j = 0; j < held; ++j) {
        std::size_t const at = first + static_cast<std::size_t>(j % parts);
        while (all.parts.size() <= at) {
          auto const next = static_cast<int>(all.parts.size() - first);
          all.parts.push_back(
              {l.sharding == Sharding::whole ? rects : piece(l, t, rects.front(), flat, parts, next), {}});
        }
        all.parts[at].ranks.push_back(ranks[static_cast<std::size_t>(j)]);
      }
    }
  }
  std::erase_if(all.parts, [](Shard const& s) { return empty(s.rects); });
  for (Shard& s : all.parts) std::sort(s.ranks.begin(), s.ranks.end());
  return all;
}

}  // namespace rollcast
