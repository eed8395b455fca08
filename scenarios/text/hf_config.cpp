#include "scenarios/text/hf_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "scenarios/text/document.hpp"
#include "scenarios/text/fields.hpp"

namespace rollcast {
namespace {

constexpr double kMost = 1e9;

// The keys of one config.json: reads by name, remembers which were read, reports what does not fit.
class Config {
 public:
  // outer: the whole file, where `map` is its text_config; else the same map.
  Config(Document const& document, Value const& outer, Value const& map, std::vector<Problem>& problems)
      : document_(document), outer_(outer), map_(map), problems_(problems) {}

  // nullptr when the key is absent or null.
  Entry const* entry(std::string_view key) {
    read_.emplace_back(key);
    Entry const* e = find(map_, key);
    return e == nullptr || e->value.kind == ValueKind::null ? nullptr : e;
  }

  int integer(std::string_view key, int fallback) {
    Entry const* e = entry(key);
    if (e == nullptr) return fallback;
    NumberText const n = e->value.kind == ValueKind::scalar ? parse_whole_number(e->value)
                                                            : NumberText{false, 0, "not a single number"};
    if (n.ok && n.value >= 0 && n.value <= kMost) return static_cast<int>(n.value);
    problem(*e, n.ok ? fmt::format("{} is out of range", shown(e->value.text)) : n.error,
            "write a whole number, at most 1000000000");
    return fallback;
  }

  int required(std::string_view key) {
    if (entry(key) == nullptr) {
      problems_.push_back(problem_at(document_, map_.mark, std::string(key), "is missing",
                                     "write it as the maker's config.json does"));
      return 0;
    }
    return integer(key, 0);
  }

  bool flag(std::string_view key, bool fallback) {
    Entry const* e = entry(key);
    if (e == nullptr) return fallback;
    if (e->value.text == "true") return true;
    if (e->value.text != "false") problem(*e, "neither true nor false", "write true or false");
    return false;
  }

  std::string text(std::string_view key) {
    Entry const* e = entry(key);
    return e == nullptr ? std::string() : e->value.text;
  }

  // The file as a whole decides for vision models: their text_config may carry a default of no meaning.
  bool tied(bool fallback) {
    Config whole(document_, outer_, outer_, problems_);
    return whole.flag("tie_word_embeddings", flag("tie_word_embeddings", fallback));
  }

  void only(std::string_view key, int allowed, std::string_view why) {
    Entry const* e = entry(key);
    if (e != nullptr && integer(key, allowed) != allowed) problem(*e, std::string(why), inline_remedy());
  }

  void only(std::string_view key, bool allowed, std::string_view why) {
    Entry const* e = entry(key);
    if (e != nullptr && flag(key, allowed) != allowed) problem(*e, std::string(why), inline_remedy());
  }

  void problem(Entry const& e, std::string what, std::string remedy) {
    problems_.push_back(problem_at(document_, e.mark, shown(e.key), std::move(what), std::move(remedy)));
  }

  // A key that gives a shape and that nothing has read.
  void refuse_other_shapes(std::string_view model_type) {
    for (Entry const& e : map_.entries) {
      if (std::find(read_.begin(), read_.end(), e.key) != read_.end() || !gives_shape(e)) continue;
      problem(e, fmt::format("gives a shape that a {} model does not have here", model_type),
              inline_remedy());
    }
  }

  static std::string inline_remedy() {
    return "write the model inline instead, model: {layers: ..., hidden: ..., ...}, if its shapes can be "
           "said so";
  }

 private:
  static bool gives_shape(Entry const& e) {
    constexpr std::array<std::string_view, 11> words{"_size",  "_dim", "dim_",    "heads",  "layers", "rank",
                                                     "expert", "ffn_", "d_model", "n_embd", "n_inner"};
    constexpr std::array<std::string_view, 14> harmless{"max_window_layers",
                                                        "chunk_size_feed_forward",
                                                        "type_vocab_size",
                                                        "ep_size",
                                                        "no_repeat_ngram_size",
                                                        "encoder_no_repeat_ngram_size",
                                                        "sliding_window_size",
                                                        "window_size",
                                                        "num_experts_per_group",
                                                        "num_expert_group",
                                                        "rotary_dim",
                                                        "rope_dim",
                                                        "original_vocab_size",
                                                        "onnx_opset_layers"};
    if (std::find(harmless.begin(), harmless.end(), e.key) != harmless.end()) return false;
    bool const named = std::any_of(words.begin(), words.end(),
                                   [&](std::string_view w) { return e.key.find(w) != std::string::npos; });
    if (!named) return false;
    if (e.value.kind == ValueKind::list) return !e.value.items.empty();
    if (e.value.kind != ValueKind::scalar) return false;
    NumberText const n = parse_number(e.value);
    return n.ok && n.value > 0;
  }

  Document const& document_;
  Value const& outer_;
  Value const& map_;
  std::vector<Problem>& problems_;
  std::vector<std::string> read_;
};

void read_common(Config& c, Architecture& a) {
  a.layers = c.required("num_hidden_layers");
  a.hidden = c.required("hidden_size");
  a.heads = c.required("num_attention_heads");
  bool const multi_query = c.flag("multi_query", false) || c.flag("multi_query_attention", false);
  a.kv_heads = c.integer("num_key_value_heads", multi_query ? 1 : a.heads);
  a.head_dim = c.integer("head_dim", a.heads > 0 ? a.hidden / a.heads : 0);
  a.vocab = c.required("vocab_size");
  a.max_context = c.integer("max_position_embeddings", 0);
}

void read_dense(Config& c, Architecture& a) {
  read_common(c, a);
  a.intermediate = c.required("intermediate_size");
  a.tied_embeddings = c.tied(false);
}

void read_llama(Config& c, Architecture& a) {
  read_dense(c, a);
  a.qkv_bias = a.output_bias = c.flag("attention_bias", false);
  a.mlp_bias = c.flag("mlp_bias", false);
}

// The configuration's width is that of both halves of the gated MLP together.
void read_qwen(Config& c, Architecture& a) {
  read_dense(c, a);
  if (Entry const* e = c.entry("intermediate_size"); e != nullptr && a.intermediate % 2 != 0)
    c.problem(*e, "is odd, but holds two equal halves", "write an even number");
  a.intermediate /= 2;
  a.head_dim = c.integer("kv_channels", a.head_dim);
  c.only("no_bias", true, "biases outside the attention are not understood");
  a.qkv_bias = true;
}

void read_qwen2(Config& c, Architecture& a) {
  read_dense(c, a);
  a.qkv_bias = true;
}

void read_qwen3(Config& c, Architecture& a) {
  read_dense(c, a);
  a.qkv_bias = a.output_bias = c.flag("attention_bias", false);
  a.qk_norm = true;
}

void read_qwen_experts(Config& c, Architecture& a, bool shared) {
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
    c.problem(*e, "dense layers between the sparse ones are not understood", Config::inline_remedy());
  a.moe = m;
}

void read_qwen3_moe(Config& c, Architecture& a) {
  read_common(c, a);
  a.intermediate = c.integer("intermediate_size", 0);
  a.tied_embeddings = c.tied(false);
  a.qkv_bias = a.output_bias = c.flag("attention_bias", false);
  a.qk_norm = true;
  read_qwen_experts(c, a, false);
}

// full_attention_interval, or what layer_types repeats.
int read_interval(Config& c, Architecture const& a) {
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

void read_hybrid(Config& c, Architecture& a, bool sparse) {
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

void read_qwen3_5(Config& c, Architecture& a) { read_hybrid(c, a, false); }
void read_qwen3_5_moe(Config& c, Architecture& a) { read_hybrid(c, a, true); }

void read_grouped_experts(Config& c, Architecture& a) {
  Moe m;
  m.experts = c.required("n_routed_experts");
  m.experts_per_token = c.required("num_experts_per_tok");
  m.expert_intermediate = c.required("moe_intermediate_size");
  m.shared_experts = c.integer("n_shared_experts", 0);
  double const shared_width = static_cast<double>(m.shared_experts) * m.expert_intermediate;
  if (shared_width <= kMost) {
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

void read_latent(Config& c, Architecture& a) {
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

void read_glm4_moe(Config& c, Architecture& a) {
  read_dense(c, a);
  a.qkv_bias = c.flag("attention_bias", false);
  a.qk_norm = c.flag("use_qk_norm", false);
  read_grouped_experts(c, a);
}

void read_opt(Config& c, Architecture& a) {
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

void read_gpt_neox(Config& c, Architecture& a) {
  read_dense(c, a);
  a.gated_mlp = false;
  a.qkv_bias = a.output_bias = c.flag("attention_bias", true);
  a.mlp_bias = true;
  a.norm_bias = true;
}

void read_stablelm(Config& c, Architecture& a) {
  read_dense(c, a);
  a.qkv_bias = c.flag("use_qkv_bias", false);
  a.norm_bias = true;
  a.parallel_block = c.flag("use_parallel_residual", false);
  c.only("qk_layernorm", false, "a norm of its own for every head is not understood");
}

void read_phi(Config& c, Architecture& a) {
  read_dense(c, a);
  a.gated_mlp = false;
  a.qkv_bias = a.output_bias = a.mlp_bias = a.norm_bias = a.lm_head_bias = true;
  a.parallel_block = true;
  c.only("qk_layernorm", false, "norms on q and k are not understood");
}

struct Family {
  std::string_view model_type;
  std::string_view family;  // Architecture::family
  void (*read)(Config&, Architecture&);
};

constexpr std::array<Family, 26> kFamilies{{
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

Family const* family_of(Document const& d, Value const& map, std::vector<Problem>& problems) {
  Entry const* e = find(map, "model_type");
  std::string const type = e == nullptr ? std::string() : e->value.text;
  std::vector<std::string_view> known;
  for (Family const& f : kFamilies) {
    if (f.model_type == type) return &f;
    if (!f.model_type.ends_with("_text")) known.push_back(f.model_type);
  }
  std::string what = e == nullptr ? "is missing: the architecture is not known"
                                  : fmt::format("the architecture '{}' is not understood", shown(type));
  problems.push_back(problem_at(d, e == nullptr ? map.mark : e->mark, "model_type", std::move(what),
                                fmt::format("understood are {}; or write the model inline", one_of(known))));
  return nullptr;
}

std::string name_of_model(Value const& root, std::string const& file) {
  std::string name;
  if (Entry const* e = find(root, "_name_or_path"))
    name = std::filesystem::path(e->value.text).filename().string();
  if (name.empty()) name = std::filesystem::path(file).parent_path().filename().string();
  return name.empty() ? std::filesystem::path(file).stem().string() : name;
}

HfConfigResult read(Document const& d, std::string const& file) {
  HfConfigResult result;
  result.problems = d.problems;
  if (!result.problems.empty()) return result;
  Entry const* text = find(d.root, "text_config");
  bool const nested =
      text != nullptr && text->value.kind == ValueKind::map && find(text->value, "hidden_size") != nullptr;
  Value const& map = nested ? text->value : d.root;
  Family const* family =
      family_of(d, nested && find(map, "model_type") == nullptr ? d.root : map, result.problems);
  if (family == nullptr) return result;

  Architecture a;
  a.name = name_of_model(d.root, file);
  a.family = family->family;
  a.sources = {{"*", file}};
  Config config(d, d.root, map, result.problems);
  family->read(config, a);
  if (!a.mla && a.heads > 0 && a.hidden % a.heads != 0 && find(map, "head_dim") == nullptr)
    result.problems.push_back(
        problem_at(d, map.mark, "head_dim",
                   fmt::format("is missing, and {} heads do not divide hidden_size {}", a.heads, a.hidden),
                   "write head_dim"));
  if (!result.problems.empty()) return result;
  config.refuse_other_shapes(family->model_type);
  if (std::string why = fault(a); !why.empty())
    result.problems.push_back(problem_at(d, map.mark, "", std::move(why), "correct the shapes"));
  if (result.problems.empty()) result.architecture = std::move(a);
  return result;
}

}  // namespace

HfConfigResult read_hf_config(std::string const& path) { return read(read_document(path), path); }

HfConfigResult read_hf_config_text(std::string_view text, std::string const& name) {
  return read(parse_document(text, name), name);
}

}  // namespace rollcast
