// Weights cut the slow way: whole matrices of distinct integers, concatenated and sliced as the programs do
// it. Shares no code with the reshard map but the names of the stored parameters.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "models/reshard.hpp"

namespace rollcast::test {

struct Matrix {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<std::int64_t> at;  // row by row
};

inline Matrix row_slice(Matrix const& m, std::int64_t first, std::int64_t end) {
  first = std::min(first, m.rows);
  end = std::min(end, m.rows);
  return {end - first, m.columns, {m.at.begin() + first * m.columns, m.at.begin() + end * m.columns}};
}

inline Matrix column_slice(Matrix const& m, std::int64_t first, std::int64_t end) {
  first = std::min(first, m.columns);
  end = std::min(end, m.columns);
  Matrix out{m.rows, end - first, {}};
  for (std::int64_t r = 0; r < m.rows; ++r)
    out.at.insert(out.at.end(), m.at.begin() + r * m.columns + first, m.at.begin() + r * m.columns + end);
  return out;
}

inline Matrix stacked(std::vector<Matrix> const& parts) {
  Matrix out{0, parts.front().columns, {}};
  for (Matrix const& p : parts) {
    out.rows += p.rows;
    out.at.insert(out.at.end(), p.at.begin(), p.at.end());
  }
  return out;
}

inline std::int64_t up(std::int64_t n, std::int64_t to) { return (n + to - 1) / to * to; }

// Part i of n when the size is rounded up.
inline Matrix row_part(Matrix const& m, std::int64_t n, std::int64_t i, std::int64_t multiple = 1) {
  std::int64_t const each = up(up(m.rows, multiple), n) / n;
  return row_slice(m, i * each, (i + 1) * each);
}
inline Matrix column_part(Matrix const& m, std::int64_t n, std::int64_t i) {
  std::int64_t const each = up(m.columns, n) / n;
  return column_slice(m, i * each, (i + 1) * each);
}

// What a rank stores, by the name of the parameter.
using Memory = std::map<std::string, std::vector<std::int64_t>>;

// The logical weights of one layer (or those outside): tensor name, and "#expert" where it has experts.
class Weights {
 public:
  Weights(Architecture const& a, int layer) : a_(a), layer_(layer) {
    std::vector<Tensor> const list = layer < 0 ? outer_tensors(a) : layer_tensors(a, layer);
    for (Tensor const& t : list) {
      for (int e = 0; e < t.copies; ++e) {
        Matrix m{t.rows, t.columns, {}};
        for (std::int64_t i = 0; i < t.rows * t.columns; ++i) m.at.push_back(next_++);
        matrices_[key(t, e)] = std::move(m);
      }
    }
  }

  Matrix const& of(std::string const& name, int expert = -1) const {
    return matrices_.at(expert < 0 ? name : fmt::format("{}#{}", name, expert));
  }
  static std::string key(Tensor const& t, int expert) {
    return t.expert ? fmt::format("{}#{}", t.name, expert) : t.name;
  }
  Architecture const& model() const { return a_; }
  int layer() const { return layer_; }
  std::string full(std::string const& name) const {
    return layer_ < 0 ? name : fmt::format("layers.{}.{}", layer_, name);
  }
  std::string full(std::string name, int expert) const {
    name.insert(name.find("experts.") + 8, fmt::format("{}.", expert));
    return full(name);
  }

 private:
  Architecture a_;
  int layer_;
  std::int64_t next_ = 0;
  std::map<std::string, Matrix> matrices_;
};

// linear_qkv of Megatron before it is cut: per KV group its query heads, its key head, its value head.
inline Matrix interleaved_qkv(Weights const& w, std::string const& kind) {
  Architecture const& a = w.model();
  Matrix const& q = w.of("self_attn.q_proj." + kind);
  Matrix const& k = w.of("self_attn.k_proj." + kind);
  Matrix const& v = w.of("self_attn.v_proj." + kind);
  std::vector<Matrix> parts;
  std::int64_t const q_rows = q.rows / a.kv_heads;
  std::int64_t const kv_rows = k.rows / a.kv_heads;
  for (int g = 0; g < a.kv_heads; ++g) {
    parts.push_back(row_slice(q, g * q_rows, (g + 1) * q_rows));
    parts.push_back(row_slice(k, g * kv_rows, (g + 1) * kv_rows));
    parts.push_back(row_slice(v, g * kv_rows, (g + 1) * kv_rows));
  }
  return stacked(parts);
}

// One tensor of linear attention with parts that are cut each on its own.
inline Matrix mixed_part(Architecture const& a, Matrix const& m, int n, int i) {
  std::int64_t const key = a.linear_attention->key_heads * a.linear_attention->key_head_dim;
  return stacked({row_part(row_slice(m, 0, key), n, i), row_part(row_slice(m, key, 2 * key), n, i),
                  row_part(row_slice(m, 2 * key, m.rows), n, i)});
}

inline bool is_mixed(Tensor const& t) {
  return t.name == "linear_attn.in_proj_qkv.weight" || t.name == "linear_attn.conv1d.weight";
}

// A tensor that is not fused with others, on rank i of n.
inline Matrix plain_part(Architecture const& a, Tensor const& t, Matrix const& m, int n, int i,
                         std::int64_t vocabulary_multiple, bool by_parts) {
  switch (t.split) {
    case Split::replicated:
      return m;
    case Split::columns:
      return column_part(m, n, i);
    case Split::vocab:
      return row_part(m, n, i, vocabulary_multiple);
    case Split::rows:
      return by_parts && is_mixed(t) ? mixed_part(a, m, n, i) : row_part(m, n, i);
  }
  return {};
}

inline std::string ending(std::string const& name) { return name.substr(name.rfind('.') + 1); }
inline bool has(std::string const& name, char const* part) { return name.find(part) != std::string::npos; }

// Everything that rank x of a pipeline stage of Megatron holds of these weights.
inline Memory megatron_memory(Weights const& w, Parallel const& p, int x) {
  Architecture const& a = w.model();
  Memory out;
  int const tp = p.tp;
  int const i = x % tp;
  int const etp = p.expert_tp();
  int const etp_i = x % etp;
  int const ep_i = x / etp % p.ep;
  std::vector<Tensor> const list = w.layer() < 0 ? outer_tensors(a) : layer_tensors(a, w.layer());
  for (Tensor const& t : list) {
    bool const gated = a.gated_mlp && (has(t.name, "gate_proj") || has(t.name, "up_proj"));
    bool const qkv =
        !a.mla && (has(t.name, ".q_proj.") || has(t.name, ".k_proj.") || has(t.name, ".v_proj."));
    if (qkv) {
      out[w.full("self_attn.linear_qkv." + ending(t.name))] =
          row_part(interleaved_qkv(w, ending(t.name)), tp, i).at;
      continue;
    }
    for (int e = 0; e < t.copies; ++e) {
      if (t.expert && e / (a.moe->experts / p.ep) != ep_i) continue;
      int const n = t.expert ? etp : tp;
      int const at = t.expert ? etp_i : i;
      int const expert = t.expert ? e : -1;
      auto const name = [&](std::string const& plain) { return t.expert ? w.full(plain, e) : w.full(plain); };
      if (gated) {
        std::string const module = t.name.substr(0, t.name.find(has(t.name, "gate_proj") ? "gate_" : "up_"));
        std::string const kind = ending(t.name);
        out[name(module + "linear_fc1." + kind)] =
            stacked({row_part(w.of(module + "gate_proj." + kind, expert), n, at),
                     row_part(w.of(module + "up_proj." + kind, expert), n, at)})
                .at;
        continue;
      }
      out[name(t.name)] = plain_part(a, t, w.of(t.name, expert), n, at, 128 * n, true).at;
    }
  }
  return out;
}

// The same of an engine's rank: tensor-parallel index i, position among the ranks of its stage.
inline Memory engine_memory(Weights const& w, RolloutLayout const& l, int i, int position) {
  Architecture const& a = w.model();
  Memory out;
  int const tp = l.data_parallel_attention ? 1 : l.parallel.tp;
  if (l.data_parallel_attention) i = 0;
  std::vector<Tensor> const list = w.layer() < 0 ? outer_tensors(a) : layer_tensors(a, w.layer());
  // Of the KV heads: a share, or the one of the neighbours.
  auto const kv = [&](Matrix const& m) {
    std::int64_t const head = m.rows / a.kv_heads;
    if (tp <= a.kv_heads) return row_part(m, tp, i);
    std::int64_t const mine = i / (tp / a.kv_heads);
    return row_slice(m, mine * head, (mine + 1) * head);
  };
  for (Tensor const& t : list) {
    std::string const kind = ending(t.name);
    bool const gated = a.gated_mlp && (has(t.name, "gate_proj") || has(t.name, "up_proj"));
    if (!a.mla && (has(t.name, ".q_proj.") || has(t.name, ".k_proj.") || has(t.name, ".v_proj."))) {
      out[w.full("self_attn.qkv_proj." + kind)] =
          stacked({row_part(w.of("self_attn.q_proj." + kind), tp, i), kv(w.of("self_attn.k_proj." + kind)),
                   kv(w.of("self_attn.v_proj." + kind))})
              .at;
      continue;
    }
    if (!t.expert) {
      if (gated) {
        std::string const module = t.name.substr(0, t.name.find(has(t.name, "gate_proj") ? "gate_" : "up_"));
        out[w.full(module + "gate_up_proj." + kind)] =
            stacked({row_part(w.of(module + "gate_proj." + kind), tp, i),
                     row_part(w.of(module + "up_proj." + kind), tp, i)})
                .at;
      } else {
        out[w.full(t.name)] = plain_part(a, t, w.of(t.name), tp, i, 64, true).at;
      }
      continue;
    }
    // Under ep the first ranks take one expert more where they do not divide.
    int const experts = a.moe->experts;
    int const ep = l.parallel.ep;
    int first = 0;
    int count = experts;
    if (ep > 1) {
      for (int rank = 0; rank <= position % ep; ++rank) {
        first = rank == 0 ? 0 : first + count;
        count = experts / ep + (rank < experts % ep ? 1 : 0);
      }
    }
    int const n = ep > 1 ? 1 : l.parallel.tp;
    int const at = ep > 1 ? 0 : position % l.parallel.tp;
    for (int e = first; e < first + count; ++e) {
      if (has(t.name, "down_proj")) {
        out[fmt::format("layers.{}.mlp.experts.w2_weight[{}]", w.layer(), e - first)] =
            column_part(w.of(t.name, e), n, at).at;
      } else {
        out[fmt::format("layers.{}.mlp.experts.w13_weight[{}]", w.layer(), e - first)] =
            stacked({row_part(w.of("mlp.experts.gate_proj.weight", e), n, at),
                     row_part(w.of("mlp.experts.up_proj.weight", e), n, at)})
                .at;
      }
    }
  }
  return out;
}

// Rank x of the only stage of FSDP2 or ZeRO-3, whose tensors stay apart.
inline Memory sharded_memory(Weights const& w, TrainLayout const& l, int x) {
  Architecture const& a = w.model();
  Parallel const& p = l.parallel;
  Memory out;
  std::vector<Tensor> const list = w.layer() < 0 ? outer_tensors(a) : layer_tensors(a, w.layer());
  for (Tensor const& t : list) {
    for (int e = 0; e < t.copies; ++e) {
      int const block = t.expert ? p.expert_block() : p.tp;
      if (t.expert && x / p.expert_tp() % p.ep != e / (a.moe->experts / p.ep)) continue;
      int const cut = t.expert ? p.expert_tp() : p.tp;
      int const same = l.ranks / p.pp / block;
      int const group = l.shard_ranks > 0 ? std::min(l.shard_ranks, same) : same;
      int const j = x / block % group;
      Matrix const cell = plain_part(a, t, w.of(t.name, t.expert ? e : -1), cut, x % cut, 1, false);
      std::string const name = t.expert ? w.full(t.name, e) : w.full(t.name);
      if (l.sharding == Sharding::whole) {
        out[name] = cell.at;
      } else if (l.sharding == Sharding::rows) {
        out[name] = row_part(cell, group, j).at;
      } else {
        Matrix const flat{static_cast<std::int64_t>(cell.at.size()), 1, cell.at};
        out[name] = row_part(flat, group, j).at;
      }
    }
  }
  return out;
}

// Rank x of FSDP1: all tensors of the layer in a row, norms last, cut evenly.
inline Memory flat_memory(Weights const& w, TrainLayout const& l, int x) {
  Architecture const& a = w.model();
  std::vector<std::int64_t> all;
  auto const append = [&](Matrix const& m) { all.insert(all.end(), m.at.begin(), m.at.end()); };
  std::vector<Tensor> const list = w.layer() < 0 ? outer_tensors(a) : layer_tensors(a, w.layer());
  auto const norm = [&](Tensor const& t) {
    return w.layer() >= 0 && (has(t.name, "input_layernorm") || has(t.name, "post_attention_layernorm"));
  };
  bool experts_done = false;
  for (Tensor const& t : list) {
    if (norm(t)) continue;
    if (!t.expert) {
      append(w.of(t.name));
      continue;
    }
    for (int e = 0; !experts_done && e < t.copies; ++e) {
      for (Tensor const& of_expert : list) {
        if (of_expert.expert) append(w.of(of_expert.name, e));
      }
    }
    experts_done = true;
  }
  for (Tensor const& t : list) {
    if (norm(t)) append(w.of(t.name));
  }
  int const group = l.shard_ranks > 0 ? std::min(l.shard_ranks, l.ranks) : l.ranks;
  Matrix const flat{static_cast<std::int64_t>(all.size()), 1, all};
  return {{w.layer() < 0 ? "flat_param" : w.full("flat_param"), row_part(flat, group, x % group).at}};
}

}  // namespace rollcast::test
