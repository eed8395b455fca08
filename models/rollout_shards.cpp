#include "models/rollout_shards.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "models/fused_tensors.hpp"
#include "models/train_shards.hpp"

namespace rollcast {
namespace {

constexpr std::int64_t kVocabularyMultiple = 64;

bool whole_experts(RolloutLayout const& l, SyncTensor const& t) {
  return t.tensor.expert && l.parallel.ep > 1;
}

int cut_of(RolloutLayout const& l, SyncTensor const& t) {
  if (whole_experts(l, t)) return 1;
  return l.data_parallel_attention && !t.tensor.expert ? 1 : l.parallel.tp;
}

// Key or value rows by whole heads.
IndexRange kv_rows(Architecture const& a, std::int64_t rows, int tp, int index) {
  std::int64_t const head = rows / a.kv_heads;
  if (tp <= a.kv_heads) {
    IndexRange const heads = part_of(a.kv_heads, tp, index);
    return {heads.first * head, heads.count * head};
  }
  return {std::int64_t{index} * a.kv_heads / tp * head, head};
}

std::vector<ShardRect> row_rects(Architecture const& a, RolloutLayout const& l, SyncTensor const& t, int tp,
                                 int index) {
  IndexRange const columns{0, t.tensor.columns};
  if (t.tensor.kv) {
    IndexRange const own = kv_rows(a, t.tensor.rows, tp, index);
    FusedPart const part = l.fused ? fused_part(a, t) : FusedPart::none;
    std::int64_t before = 0;
    if (is_qkv(part)) before = part_of(a.heads, tp, index).count * head_rows(a).q;
    if (part == FusedPart::v) before += own.count;
    return {row_major(own, columns, before * columns.count)};
  }
  std::vector<ShardRect> rects = cut_each(separate_rows(a, t), columns, tp, index);
  if (l.fused && fused_part(a, t) == FusedPart::up) rects.front().offset = rects.front().count();
  return rects;
}

std::vector<ShardRect> rects_of(Architecture const& a, RolloutLayout const& l, SyncTensor const& t,
                                int index) {
  int const cut = cut_of(l, t);
  IndexRange const rows{0, t.tensor.rows};
  IndexRange const columns{0, t.tensor.columns};
  switch (t.tensor.split) {
    case Split::replicated:
      return {row_major(rows, columns, 0)};
    case Split::columns:
      return {row_major(rows, part_of(columns.count, cut, index), 0)};
    case Split::vocab: {
      std::int64_t const padded = divide_up(rows.count, kVocabularyMultiple) * kVocabularyMultiple;
      return {row_major(overlap(part_of(padded, cut, index), rows), columns, 0)};
    }
    case Split::rows:
      return row_rects(a, l, t, cut, index);
  }
  throw std::logic_error("no such Split");
}

// Of the ranks of one stage, counted over all engines.
int rank_of(RolloutLayout const& l, int stage, int position) {
  int const tp = l.parallel.tp;
  return position / tp * tp * l.parallel.pp + stage * tp + position % tp;
}

std::vector<int> members(Architecture const& a, RolloutLayout const& l, SyncTensor const& t, int stage,
                         int index) {
  int first = index;
  int step = l.parallel.tp;
  bool const on_every_rank = cut_of(l, t) == 1;
  if (whole_experts(l, t)) {
    first = expert_rank(t.first_expert, a.moe->experts / l.parallel.ep, a.moe->experts % l.parallel.ep);
    step = l.parallel.ep;
  } else if (on_every_rank || t.tensor.split == Split::replicated) {
    first = 0;
    step = 1;
  }
  std::vector<int> ranks;
  for (int position = first; position < l.ranks / l.parallel.pp; position += step)
    ranks.push_back(rank_of(l, stage, position));
  return ranks;
}

}  // namespace

RolloutLayout rollout_layout(Job const& job) {
  RolloutLayout l;
  l.ranks = job.cluster.gpus();
  l.parallel = job.rollout.parallel;
  l.data_parallel_attention = job.rollout.data_parallel_attention;
  l.fused = job.rollout.kind != EngineKind::hf;
  l.stages = pipeline_stages(job.model, job.rollout.parallel.pp);
  return l;
}

std::string engine_parameter(Architecture const& a, RolloutLayout const& l, SyncTensor const& t) {
  if (!l.fused || t.factor) return full_name(t);
  FusedPart const part = fused_part(a, t);
  if (t.tensor.expert) {
    bool const down = part == FusedPart::none && t.tensor.split == Split::columns;
    int const run = whole_experts(l, t) ? a.moe->experts / l.parallel.ep : a.moe->experts;
    int const longer = whole_experts(l, t) ? a.moe->experts % l.parallel.ep : 0;
    int const rank = expert_rank(t.first_expert, run, longer);
    return fmt::format("layers.{}.mlp.experts.{}[{}]", t.layer, down ? "w2_weight" : "w13_weight",
                       t.first_expert - first_expert_of(rank, run, longer));
  }
  SyncTensor named = t;
  if (part != FusedPart::none)
    named.tensor.name = renamed(t.tensor.name, is_qkv(part) ? "qkv_proj" : "gate_up_proj");
  return full_name(named);
}

Shards rollout_shards(Architecture const& a, RolloutLayout const& l, SyncTensor const& t) {
  Shards all;
  all.stored = engine_parameter(a, l, t);
  int const parts = t.tensor.split == Split::replicated ? 1 : cut_of(l, t);
  for (int index = 0; index < parts; ++index) {
    Shard shard{rects_of(a, l, t, index), {}};
    if (shard.count() == 0) continue;
    for (int const stage : stages_with(a, l.stages, l.parallel.pp, t)) {
      std::vector<int> const ranks = members(a, l, t, stage, index);
      shard.ranks.insert(shard.ranks.end(), ranks.begin(), ranks.end());
    }
    all.parts.push_back(std::move(shard));
  }
  for (Shard& s : all.parts) std::sort(s.ranks.begin(), s.ranks.end());
  return all;
}

}  // namespace rollcast
