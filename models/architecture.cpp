#include "models/architecture.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <string_view>

namespace rollcast {
namespace {

using Tensors = std::vector<Tensor>;

void check_layer(Architecture const& a, int layer) {
  if (layer < 0 || layer >= a.layers)
    throw std::logic_error(a.name + " has no layer " + std::to_string(layer));
}

void add_linear(Tensors& list, std::string const& module, std::int64_t out, std::int64_t in, Split split,
                bool bias = false, bool kv = false) {
  Tensor weight;
  weight.name = module + ".weight";
  weight.rows = out;
  weight.columns = in;
  weight.split = split;
  weight.kv = kv;
  weight.matmul = true;
  list.push_back(weight);
  if (!bias) return;
  // A row-parallel layer adds its bias once, after the reduction.
  Tensor b;
  b.name = module + ".bias";
  b.rows = out;
  b.split = split == Split::rows ? Split::rows : Split::replicated;
  b.kv = kv;
  list.push_back(b);
}

void add_vector(Tensors& list, std::string name, std::int64_t length, Split split = Split::replicated) {
  Tensor v;
  v.name = std::move(name);
  v.rows = length;
  v.split = split;
  list.push_back(v);
}

void add_norm(Tensors& list, Architecture const& a, std::string const& module, std::int64_t width) {
  add_vector(list, module + ".weight", width);
  if (a.norm_bias) add_vector(list, module + ".bias", width);
}

void add_grouped_attention(Tensors& list, Architecture const& a) {
  std::int64_t const q = std::int64_t{a.heads} * a.head_dim;
  std::int64_t const kv = std::int64_t{a.kv_heads} * a.head_dim;
  add_linear(list, "self_attn.q_proj", a.gated_attention ? 2 * q : q, a.hidden, Split::rows, a.qkv_bias);
  add_linear(list, "self_attn.k_proj", kv, a.hidden, Split::rows, a.qkv_bias, true);
  add_linear(list, "self_attn.v_proj", kv, a.hidden, Split::rows, a.qkv_bias, true);
  if (a.qk_norm) {
    add_vector(list, "self_attn.q_norm.weight", a.head_dim);
    add_vector(list, "self_attn.k_norm.weight", a.head_dim);
  }
  add_linear(list, "self_attn.o_proj", a.hidden, q, Split::columns, a.output_bias);
}

// The down projections to the latent ranks are not cut by tp: every rank needs the whole latent.
void add_latent_attention(Tensors& list, Architecture const& a) {
  Mla const& m = *a.mla;
  std::int64_t const q = std::int64_t{a.heads} * (m.qk_nope_head_dim + m.qk_rope_head_dim);
  std::int64_t const kv = std::int64_t{a.heads} * (m.qk_nope_head_dim + m.v_head_dim);
  if (m.q_lora_rank > 0) {
    add_linear(list, "self_attn.q_a_proj", m.q_lora_rank, a.hidden, Split::replicated, a.qkv_bias);
    add_vector(list, "self_attn.q_a_layernorm.weight", m.q_lora_rank);
    add_linear(list, "self_attn.q_b_proj", q, m.q_lora_rank, Split::rows);
  } else {
    add_linear(list, "self_attn.q_proj", q, a.hidden, Split::rows);
  }
  add_linear(list, "self_attn.kv_a_proj_with_mqa", m.kv_lora_rank + m.qk_rope_head_dim, a.hidden,
             Split::replicated, a.qkv_bias);
  add_vector(list, "self_attn.kv_a_layernorm.weight", m.kv_lora_rank);
  add_linear(list, "self_attn.kv_b_proj", kv, m.kv_lora_rank, Split::rows);
  add_linear(list, "self_attn.o_proj", a.hidden, std::int64_t{a.heads} * m.v_head_dim, Split::columns,
             a.output_bias);
}

void add_linear_attention(Tensors& list, Architecture const& a) {
  LinearAttention const& l = *a.linear_attention;
  std::int64_t const key = std::int64_t{l.key_heads} * l.key_head_dim;
  std::int64_t const value = std::int64_t{l.value_heads} * l.value_head_dim;
  add_linear(list, "linear_attn.in_proj_qkv", 2 * key + value, a.hidden, Split::rows);
  add_linear(list, "linear_attn.in_proj_z", value, a.hidden, Split::rows);
  add_linear(list, "linear_attn.in_proj_b", l.value_heads, a.hidden, Split::rows);
  add_linear(list, "linear_attn.in_proj_a", l.value_heads, a.hidden, Split::rows);
  Tensor conv;
  conv.name = "linear_attn.conv1d.weight";
  conv.rows = 2 * key + value;
  conv.columns = l.conv_kernel;
  conv.split = Split::rows;
  list.push_back(conv);
  add_vector(list, "linear_attn.dt_bias", l.value_heads, Split::rows);
  add_vector(list, "linear_attn.A_log", l.value_heads, Split::rows);
  add_vector(list, "linear_attn.norm.weight", l.value_head_dim);
  add_linear(list, "linear_attn.out_proj", a.hidden, value, Split::columns);
}

void add_mlp(Tensors& list, Architecture const& a, std::string const& module, std::int64_t width, bool bias) {
  if (a.gated_mlp) add_linear(list, module + ".gate_proj", width, a.hidden, Split::rows, bias);
  add_linear(list, module + ".up_proj", width, a.hidden, Split::rows, bias);
  add_linear(list, module + ".down_proj", a.hidden, width, Split::columns, bias);
}

void add_experts(Tensors& list, Architecture const& a) {
  Moe const& m = *a.moe;
  add_linear(list, "mlp.gate", m.experts, a.hidden, Split::replicated);
  if (m.router_bias) add_vector(list, "mlp.gate.e_score_correction_bias", m.experts);
  Tensors one;
  add_mlp(one, a, "mlp.experts", m.expert_intermediate, false);
  for (Tensor& t : one) {
    t.copies = m.experts;
    t.expert = true;
    list.push_back(t);
  }
  if (m.shared_experts > 0) add_mlp(list, a, "mlp.shared_experts", m.shared_intermediate, false);
  if (m.shared_gate) add_linear(list, "mlp.shared_expert_gate", 1, a.hidden, Split::replicated);
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::int64_t& counter_of(ParameterCounts& counts, Tensor const& t) {
  std::string_view const name = t.name;
  if (t.expert) return counts.experts;
  if (contains(name, "norm")) return counts.norms;
  if (name.starts_with("self_attn.") || name.starts_with("linear_attn.")) return counts.attention;
  if (name.starts_with("mlp.gate.") || name.starts_with("mlp.shared_expert_gate.")) return counts.router;
  if (name.starts_with("mlp.")) return counts.mlp;
  if (name.starts_with("lm_head.")) return counts.lm_head;
  return counts.embedding;
}

int embedding_width(Architecture const& a) { return a.embedding_width > 0 ? a.embedding_width : a.hidden; }

// An upper estimate in floating point, so that shapes out of a file cannot overflow the exact count.
double rough_parameters(Architecture const& a) {
  double const hidden = a.hidden;
  double attention = 4.0 * a.heads * a.head_dim * hidden;
  if (a.mla) {
    double const per_head = a.mla->qk_nope_head_dim + a.mla->qk_rope_head_dim + a.mla->v_head_dim;
    attention = (hidden + a.mla->q_lora_rank + a.mla->kv_lora_rank) * (2.0 * a.heads * per_head + hidden);
  }
  if (a.linear_attention) {
    LinearAttention const& l = *a.linear_attention;
    attention += (4.0 * l.key_heads * l.key_head_dim + 4.0 * l.value_heads * l.value_head_dim) *
                 (hidden + l.conv_kernel);
  }
  double width = a.intermediate;
  if (a.moe) {
    width +=
        static_cast<double>(a.moe->experts) * (a.moe->expert_intermediate + 1.0) + a.moe->shared_intermediate;
  }
  double const outside = 2.0 * a.vocab * (hidden + a.embedding_width) + a.learned_positions * hidden;
  return a.layers * (attention + 3.0 * width * hidden + 16.0 * hidden) + outside;
}

std::string fault_of_moe(Architecture const& a) {
  Moe const& m = *a.moe;
  if (m.experts < 1 || m.expert_intermediate < 1)
    return "a mixture of experts needs experts and expert_intermediate";
  if (m.experts_per_token < 1 || m.experts_per_token > m.experts)
    return fmt::format("experts_per_token {} is not between 1 and the {} experts", m.experts_per_token,
                       m.experts);
  if ((m.shared_experts > 0) != (m.shared_intermediate > 0))
    return "shared_experts and shared_intermediate go together";
  if (m.first_dense_layers > a.layers)
    return fmt::format("first_dense_layers {} is more than the {} layers", m.first_dense_layers, a.layers);
  return {};
}

}  // namespace

std::string fault(Architecture const& a) {
  for (auto const& [name, value] :
       {std::pair{"layers", a.layers}, std::pair{"hidden", a.hidden}, std::pair{"heads", a.heads},
        std::pair{"kv_heads", a.kv_heads}, std::pair{"head_dim", a.head_dim}, std::pair{"vocab", a.vocab}}) {
    if (value < 1) return fmt::format("{} is {}, it must be at least 1", name, value);
  }
  if (a.layers > 10000) return fmt::format("{} layers, more than 10000", a.layers);
  if (a.heads % a.kv_heads != 0)
    return fmt::format("kv_heads {} does not divide heads {}", a.kv_heads, a.heads);
  bool const dense_layers = !a.moe || a.moe->first_dense_layers > 0;
  if (dense_layers && a.intermediate < 1) return "intermediate is 0 in a model with dense layers";
  if (a.moe) {
    if (std::string why = fault_of_moe(a); !why.empty()) return why;
  }
  if (a.mla && (a.mla->kv_lora_rank < 1 || a.mla->qk_rope_head_dim < 1 || a.mla->v_head_dim < 1))
    return "latent attention needs kv_lora_rank, qk_rope_head_dim and v_head_dim";
  if (a.linear_attention) {
    LinearAttention const& l = *a.linear_attention;
    if (l.full_attention_interval < 1 || l.key_heads < 1 || l.value_heads < 1 || l.key_head_dim < 1 ||
        l.value_head_dim < 1)
      return "linear attention needs full_attention_interval, heads and head widths of at least 1";
    if (l.full_attention_interval > a.layers)
      return fmt::format("full_attention_interval {} leaves none of the {} layers with full attention",
                         l.full_attention_interval, a.layers);
    if (static_cast<double>(l.value_heads) * l.key_head_dim * l.value_head_dim > 1e15)
      return "linear attention with a state of more than 1e15 elements";
  }
  if (rough_parameters(a) > 1e15) return "more than 1e15 parameters";
  return {};
}

bool is_moe_layer(Architecture const& a, int layer) {
  check_layer(a, layer);
  return a.moe && layer >= a.moe->first_dense_layers;
}

bool is_linear_attention_layer(Architecture const& a, int layer) {
  check_layer(a, layer);
  return a.linear_attention && (layer + 1) % a.linear_attention->full_attention_interval != 0;
}

std::vector<Tensor> layer_tensors(Architecture const& a, int layer) {
  Tensors list;
  add_norm(list, a, "input_layernorm", a.hidden);
  if (is_linear_attention_layer(a, layer)) {
    add_linear_attention(list, a);
  } else if (a.mla) {
    add_latent_attention(list, a);
  } else {
    add_grouped_attention(list, a);
  }
  if (!a.parallel_block) add_norm(list, a, "post_attention_layernorm", a.hidden);
  if (is_moe_layer(a, layer)) {
    add_experts(list, a);
  } else {
    add_mlp(list, a, "mlp", a.intermediate, a.mlp_bias);
  }
  return list;
}

std::vector<Tensor> outer_tensors(Architecture const& a) {
  Tensors list;
  Tensor embedding;
  embedding.name = "embed_tokens.weight";
  embedding.rows = a.vocab;
  embedding.columns = embedding_width(a);
  embedding.split = Split::vocab;
  list.push_back(embedding);
  if (a.learned_positions > 0) {
    Tensor positions;
    positions.name = "embed_positions.weight";
    positions.rows = a.learned_positions;
    positions.columns = a.hidden;
    list.push_back(positions);
  }
  if (embedding_width(a) != a.hidden) {
    add_linear(list, "project_in", a.hidden, a.embedding_width, Split::replicated);
    add_linear(list, "project_out", a.embedding_width, a.hidden, Split::replicated);
  }
  if (a.final_norm) add_norm(list, a, "norm", a.hidden);
  if (!a.tied_embeddings) add_linear(list, "lm_head", a.vocab, embedding_width(a), Split::vocab);
  if (a.lm_head_bias) add_vector(list, "lm_head.bias", a.vocab, Split::vocab);
  return list;
}

ParameterCounts count_parameters(Architecture const& a) {
  ParameterCounts counts;
  auto const add = [&](Tensors const& list) {
    for (Tensor const& t : list) {
      counter_of(counts, t) += t.count();
      counts.total += t.count();
      counts.active += t.expert ? t.count() / t.copies * a.moe->experts_per_token : t.count();
    }
  };
  add(outer_tensors(a));
  for (int layer = 0; layer < a.layers; ++layer) add(layer_tensors(a, layer));
  return counts;
}

std::int64_t kv_elements_per_token(Architecture const& a, int layer) {
  if (is_linear_attention_layer(a, layer)) return 0;
  if (a.mla) return a.mla->kv_lora_rank + a.mla->qk_rope_head_dim;
  return 2 * std::int64_t{a.kv_heads} * a.head_dim;
}

std::int64_t state_elements_per_sequence(Architecture const& a, int layer) {
  if (!is_linear_attention_layer(a, layer)) return 0;
  LinearAttention const& l = *a.linear_attention;
  std::int64_t const key = std::int64_t{l.key_heads} * l.key_head_dim;
  std::int64_t const value = std::int64_t{l.value_heads} * l.value_head_dim;
  return value * l.key_head_dim + (2 * key + value) * l.conv_kernel;
}

Flops layer_matmul_flops_per_token(Architecture const& a, int layer) {
  std::int64_t multiply_adds = 0;
  for (Tensor const& t : layer_tensors(a, layer)) {
    if (t.matmul) multiply_adds += t.rows * t.columns * (t.expert ? a.moe->experts_per_token : 1);
  }
  if (is_linear_attention_layer(a, layer)) {
    LinearAttention const& l = *a.linear_attention;
    multiply_adds += 3 * std::int64_t{l.value_heads} * l.key_head_dim * l.value_head_dim;
  }
  return Flops(2.0 * static_cast<double>(multiply_adds));
}

Flops lm_head_flops_per_token(Architecture const& a) {
  double multiply_adds = static_cast<double>(a.vocab) * embedding_width(a);
  if (embedding_width(a) != a.hidden) multiply_adds += 2.0 * a.hidden * a.embedding_width;
  return Flops(2.0 * multiply_adds);
}

Flops attention_flops_per_pair(Architecture const& a, int layer) {
  if (is_linear_attention_layer(a, layer)) return Flops(0);
  int const qk = a.mla ? a.mla->qk_nope_head_dim + a.mla->qk_rope_head_dim : a.head_dim;
  int const v = a.mla ? a.mla->v_head_dim : a.head_dim;
  return Flops(2.0 * a.heads * (qk + v));
}

}  // namespace rollcast
