#include "scenarios/text/hf_families.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

namespace rollcast {
namespace {

void read_common(HfKeys& c, Architecture& a) {
  a.layers = c.required("num_hidden_layers");
  a.hidden = c.required("hidden_size");
  a.heads = c.required("num_attention_heads");
  bool const multi_query = c.flag("multi_query", false) || c.flag("multi_query_attention", false);
  a.kv_heads = c.integer("num_key_value_heads", multi_query ? 1 : a.heads);
  a.head_dim = c.integer("head_dim", a.heads > 0 ? a.hidden / a.heads : 0);
  a.vocab = c.required("vocab_size");
  a.max_context = c.integer("max_position_embeddings", 0);
}

void read_dense(HfKeys& c, Architecture& a) {
  read_common(c, a);
  a.intermediate = c.required("intermediate_size");
  a.tied_embeddings = c.tied(false);
}

void read_llama(HfKeys& c, Architecture& a) {
  read_dense(c, a);
  a.qkv_bias = a.output_bias = c.flag("attention_bias", false);
  a.mlp_bias = c.flag("mlp_bias", false);
}

// The configuration's width is that of both halves of the gated MLP together.
void read_qwen(HfKeys& c, Architecture& a) {
  read_dense(c, a);
  if (Entry const* e = c.entry("intermediate_size"); e != nullptr && a.intermediate % 2 != 0)
    c.problem(*e, "is odd, but holds two equal halves", "write an even number");
  a.intermediate /= 2;
  a.head_dim = c.integer("kv_channels", a.head_dim);
  c.only("no_bias", true, "biases outside the attention are not understood");
  a.qkv_bias = true;
}

void read_qwen2(HfKeys& c, Architecture& a) {
  read_dense(c, a);
  a.qkv_bias = true;
}

void read_qwen3(HfKeys& c, Architecture& a) {
  read_dense(c, a);
  a.qkv_bias = a.output_bias = c.flag("attention_bias", false);
  a.qk_norm = true;
}

void read_qwen_experts(HfKeys& c, Architecture& a, bool shared) {
  Moe m;
  m.experts = c.required("num_experts");
  m.experts_per_token = c.required("num_experts_per_tok");
  m.expert_intermediate = c.required("moe_intermediate_size");
  if (shared) {
    m.shared_intermediate = c.required("shared_expert_intermediate_size");
    m.shared_experts = 1;
    m.shared_gate = true;
  }
  c.only("decoder_sparse_step", 1, "dense layers between the sparse ones are not understood");
  if (Entry const* e = c.entry("mlp_only_layers"); e != nullptr && !e->value.items.empty())
    c.problem(*e, "dense layers between the sparse ones are not understood", HfKeys::inline_remedy());
  a.moe = m;
}

void read_qwen3_moe(HfKeys& c, Architecture& a) {
  read_common(c, a);
  a.intermediate = c.integer("intermediate_size", 0);
  a.tied_embeddings = c.tied(false);
  a.qkv_bias = a.output_bias = c.flag("attention_bias", false);
  a.qk_norm = true;
  read_qwen_experts(c, a, false);
}

// full_attention_interval, or what layer_types repeats.
int read_interval(HfKeys& c, Architecture const& a) {
  Entry const* types = c.entry("layer_types");
  int interval = c.integer("full_attention_interval", 0);
  if (types == nullptr) return interval > 0 ? interval : 4;
  std::vector<Value> const& items = types->value.items;
  if (interval == 0) {
    auto const first =
        std::find_if(items.begin(), items.end(), [](Value const& v) { return v.text == "full_attention"; });
    interval = static_cast<int>(first - items.begin()) + 1;
  }
  bool regular = items.size() == static_cast<std::size_t>(a.layers);
  for (std::size_t i = 0; i < items.size(); ++i) {
    bool const full = (i + 1) % static_cast<std::size_t>(interval) == 0;
    regular = regular && items[i].text == (full ? "full_attention" : "linear_attention");
  }
  if (!regular)
    c.problem(*types,
              fmt::format("is not linear attention with every {}-th of {} layers full", interval, a.layers),
              "only that regular order is understood");
  return interval;
}

void read_hybrid(HfKeys& c, Architecture& a, bool sparse) {
  read_common(c, a);
  a.intermediate = sparse ? c.integer("intermediate_size", 0) : c.required("intermediate_size");
  a.tied_embeddings = c.tied(false);
  a.qkv_bias = a.output_bias = c.flag("attention_bias", false);
  a.qk_norm = true;
  a.gated_attention = c.flag("attn_output_gate", true);
  a.mtp_layers = c.integer("mtp_num_hidden_layers", 0);
  LinearAttention l;
  l.full_attention_interval = read_interval(c, a);
  l.key_heads = c.required("linear_num_key_heads");
  l.value_heads = c.required("linear_num_value_heads");
  l.key_head_dim = c.required("linear_key_head_dim");
  l.value_head_dim = c.required("linear_value_head_dim");
  l.conv_kernel = c.integer("linear_conv_kernel_dim", 4);
  a.linear_attention = l;
  if (sparse) {
    read_qwen_experts(c, a, true);
  } else {
    c.entry("mlp_only_layers");  // of no meaning here, but written
  }
}

void read_qwen3_5(HfKeys& c, Architecture& a) { read_hybrid(c, a, false); }
void read_qwen3_5_moe(HfKeys& c, Architecture& a) { read_hybrid(c, a, true); }

void read_grouped_experts(HfKeys& c, Architecture& a) {
  Moe m;
  m.experts = c.required("n_routed_experts");
  m.experts_per_token = c.required("num_experts_per_tok");
  m.expert_intermediate = c.required("moe_intermediate_size");
  m.shared_experts = c.integer("n_shared_experts", 0);
  double const shared_width = static_cast<double>(m.shared_experts) * m.expert_intermediate;
  if (shared_width <= kMostInHfConfig) {
    m.shared_intermediate = m.shared_experts * m.expert_intermediate;
  } else if (Entry const* e = c.entry("n_shared_experts")) {
    c.problem(*e, "shared experts wider than 1000000000 together", "correct the shapes");
  }
  m.first_dense_layers = c.integer("first_k_dense_replace", 0);
  std::string const method = c.text("topk_method");
  m.router_bias = method.empty() || method == "noaux_tc";
  c.only("moe_layer_freq", 1, "dense layers between the sparse ones are not understood");
  a.moe = m;
  a.mtp_layers = c.integer("num_nextn_predict_layers", 0);
}

void read_latent(HfKeys& c, Architecture& a) {
  read_dense(c, a);
  Mla m;
  m.q_lora_rank = c.integer("q_lora_rank", 0);
  m.kv_lora_rank = c.required("kv_lora_rank");
  m.qk_nope_head_dim = c.required("qk_nope_head_dim");
  m.qk_rope_head_dim = c.required("qk_rope_head_dim");
  m.v_head_dim = c.required("v_head_dim");
  c.entry("qk_head_dim");  // the sum of the two
  a.mla = m;
  a.kv_heads = a.heads;
  a.head_dim = m.qk_nope_head_dim + m.qk_rope_head_dim;
  a.qkv_bias = a.output_bias = c.flag("attention_bias", false);
  read_grouped_experts(c, a);
}

void read_glm4_moe(HfKeys& c, Architecture& a) {
  read_dense(c, a);
  a.qkv_bias = c.flag("attention_bias", false);
  a.qk_norm = c.flag("use_qk_norm", false);
  read_grouped_experts(c, a);
}

void read_opt(HfKeys& c, Architecture& a) {
  read_common(c, a);
  a.intermediate = c.required("ffn_dim");
  a.tied_embeddings = c.tied(true);
  a.gated_mlp = false;
  a.qkv_bias = a.output_bias = a.mlp_bias = c.flag("enable_bias", true);
  a.norm_bias = true;
  c.only("layer_norm_elementwise_affine", true, "norms without weights are not understood");
  int const width = c.integer("word_embed_proj_dim", a.hidden);
  a.embedding_width = width == a.hidden ? 0 : width;
  a.final_norm = c.flag("do_layer_norm_before", true) && !c.flag("_remove_final_layer_norm", false);
  a.learned_positions = a.max_context + 2;  // the two rows before position 0 are stored too
}

void read_gpt_neox(HfKeys& c, Architecture& a) {
  read_dense(c, a);
  a.gated_mlp = false;
  a.qkv_bias = a.output_bias = c.flag("attention_bias", true);
  a.mlp_bias = true;
  a.norm_bias = true;
}

void read_stablelm(HfKeys& c, Architecture& a) {
  read_dense(c, a);
  a.qkv_bias = c.flag("use_qkv_bias", false);
  a.norm_bias = true;
  a.parallel_block = c.flag("use_parallel_residual", false);
  c.only("qk_layernorm", false, "a norm of its own for every head is not understood");
}

void read_phi(HfKeys& c, Architecture& a) {
  read_dense(c, a);
  a.gated_mlp = false;
  a.qkv_bias = a.output_bias = a.mlp_bias = a.norm_bias = a.lm_head_bias = true;
  a.parallel_block = true;
  c.only("qk_layernorm", false, "norms on q and k are not understood");
}

constexpr std::array<HfFamily, 26> kFamilies{{
    {"llama", "llama", read_llama},
    {"qwen", "qwen", read_qwen},
    {"qwen2", "qwen2", read_qwen2},
    {"qwen2_vl", "qwen2", read_qwen2},
    {"qwen2_vl_text", "qwen2", read_qwen2},
    {"qwen2_5_vl", "qwen2", read_qwen2},
    {"qwen2_5_vl_text", "qwen2", read_qwen2},
    {"qwen3", "qwen3", read_qwen3},
    {"qwen3_vl", "qwen3", read_qwen3},
    {"qwen3_vl_text", "qwen3", read_qwen3},
    {"qwen3_moe", "qwen3_moe", read_qwen3_moe},
    {"qwen3_vl_moe", "qwen3_moe", read_qwen3_moe},
    {"qwen3_vl_moe_text", "qwen3_moe", read_qwen3_moe},
    {"qwen3_next", "qwen3_next", read_qwen3_5_moe},
    {"qwen3_5", "qwen3_5", read_qwen3_5},
    {"qwen3_5_text", "qwen3_5", read_qwen3_5},
    {"qwen3_5_moe", "qwen3_5_moe", read_qwen3_5_moe},
    {"qwen3_5_moe_text", "qwen3_5_moe", read_qwen3_5_moe},
    {"deepseek_v3", "deepseek_v3", read_latent},
    {"glm4_moe", "glm4_moe", read_glm4_moe},
    {"glm4_moe_lite", "glm4_moe_lite", read_latent},
    {"opt", "opt", read_opt},
    {"gpt_neox", "gpt_neox", read_gpt_neox},
    {"stablelm", "stablelm", read_stablelm},
    {"stablelm_epoch", "stablelm", read_stablelm},
    {"phi", "phi", read_phi},
}};

}  // namespace

HfFamily const* find_hf_family(std::string_view model_type) {
  for (HfFamily const& f : kFamilies)
    if (f.model_type == model_type) return &f;
  return nullptr;
}

std::vector<std::string_view> hf_model_types() {
  std::vector<std::string_view> types;
  for (HfFamily const& f : kFamilies)
    if (!f.model_type.ends_with("_text")) types.push_back(f.model_type);
  return types;
}

}  // namespace rollcast
