#include "models/sharding.hpp"

#include <algorithm>

#include "models/adapter.hpp"
#include "models/layer_prices.hpp"
#include "models/shard_rect.hpp"

namespace rollcast {
namespace {

std::int64_t cut_rows(Tensor const& t, Architecture const& a, int tp) {
  if (!t.kv) return divide_up(t.rows, tp);
  return t.rows / a.kv_heads * divide_up(a.kv_heads, tp);
}

// Ranks that cut the matrix.
int cut_of(Tensor const& t, Parallel const& p) { return t.expert ? p.expert_tp() : p.tp; }

std::int64_t local_copies(Tensor const& t, int ep) { return t.expert ? divide_up(t.copies, ep) : t.copies; }

std::int64_t adapter_shard(Adapter const& adapter, Tensor const& t, Architecture const& a,
                           Parallel const& p) {
  if (!is_target(adapter, t)) return 0;
  return adapter.count * adapter_shard(t, a, adapter.rank, cut_of(t, p)) * local_copies(t, p.ep);
}

bool is_input(Tensor const& t) { return t.name.starts_with("embed_") || t.name.starts_with("project_in"); }

bool is_head(Tensor const& t) { return t.name.starts_with("lm_head"); }

}  // namespace

std::int64_t shard_count(Tensor const& t, Architecture const& a, Parallel const& p) {
  std::int64_t const copies = local_copies(t, p.ep);
  int const cut = cut_of(t, p);
  switch (t.split) {
    case Split::replicated:
      return t.rows * t.columns * copies;
    case Split::rows:
      return cut_rows(t, a, cut) * t.columns * copies;
    case Split::columns:
      return t.rows * divide_up(t.columns, cut) * copies;
    case Split::vocab:
      return divide_up(t.rows, cut) * t.columns * copies;
  }
  return 0;
}

std::int64_t adapter_shard(Tensor const& t, Architecture const& a, int rank, int cut, bool both_cut) {
  bool const by_rows = t.split == Split::rows;
  bool const by_columns = t.split == Split::columns;
  std::int64_t const rank_of_a = by_rows && both_cut ? divide_up(rank, cut) : rank;
  std::int64_t const columns_of_a = by_columns ? divide_up(t.columns, cut) : t.columns;
  std::int64_t rows_of_b = by_rows ? cut_rows(t, a, cut) : t.rows;
  if (by_columns && both_cut) rows_of_b = divide_up(t.rows, cut);
  return rank_of_a * columns_of_a + rank * rows_of_b;
}

std::vector<Tensor> outer_tensors(Architecture const& a, Stage const& s, Head head) {
  std::vector<Tensor> held;
  for (Tensor const& t : outer_tensors(a)) {
    bool const wanted =
        is_input(t) ? s.has_embedding : s.has_lm_head && (!is_head(t) || head == Head::vocabulary);
    if (wanted) held.push_back(t);
    bool const copy = a.tied_embeddings && t.name == "embed_tokens.weight" && head == Head::vocabulary;
    if (copy && s.has_lm_head && !s.has_embedding) held.push_back(t);
  }
  if (head == Head::scalar && s.has_lm_head) {
    Tensor score;
    score.name = "score.weight";
    score.rows = 1;
    score.columns = a.hidden;
    score.matmul = true;
    held.push_back(score);
  }
  return held;
}

RankParameters rank_parameters(Architecture const& a, Stage const& s, Head head, Parallel const& p,
                               std::optional<Adapter> const& adapter) {
  RankParameters sum;
  for (LayerKind const& kind : layer_kinds(a, s.first_layer, s.layers)) {
    double in_layer = 0;
    double quantized_in_layer = 0;
    for (Tensor const& t : layer_tensors(a, kind.example)) {
      auto const n = static_cast<double>(shard_count(t, a, p));
      in_layer += n;
      (t.expert ? sum.experts : sum.dense) += kind.count * n;
      double const one = n / static_cast<double>(local_copies(t, p.ep));
      sum.largest_matrix = std::max(sum.largest_matrix, one);
      if (!adapter) continue;
      auto const extra = static_cast<double>(adapter_shard(*adapter, t, a, p));
      (t.expert ? sum.adapter_experts : sum.adapter_dense) += kind.count * extra;
      if (!is_quantized(*adapter, t)) continue;
      (t.expert ? sum.quantized_experts : sum.quantized_dense) += kind.count * n;
      quantized_in_layer += n;
      sum.largest_quantized = std::max(sum.largest_quantized, one);
    }
    sum.largest_layer = std::max(sum.largest_layer, in_layer);
    sum.largest_quantized_layer = std::max(sum.largest_quantized_layer, quantized_in_layer);
  }
  for (Tensor const& t : outer_tensors(a, s, head)) {
    auto const n = static_cast<double>(shard_count(t, a, p));
    sum.outer += n;
    sum.largest_outer = std::max(sum.largest_outer, n);
  }
  sum.dense += sum.outer;
  return sum;
}

int shard_ranks(Job const& job) { return data_parallel(job) * job.train.parallel.cp; }

int expert_shard_ranks(Job const& job) { return expert_data_parallel(job); }

}  // namespace rollcast
