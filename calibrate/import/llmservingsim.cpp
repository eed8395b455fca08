#include "calibrate/import/llmservingsim.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <string_view>
#include <utility>

#include "calibrate/import/gpu_names.hpp"
#include "calibrate/import/stack.hpp"
#include "calibrate/import/table.hpp"
#include "models/catalog/catalog.hpp"

namespace rollcast {
namespace {

Architecture const* model_of(SourceText const& source) {
  for (std::string const& part : parts_of_path(source.path)) {
    if (Architecture const* a = find_architecture(builtin_catalog(), part)) return a;
  }
  return nullptr;
}

// operation, variant and shape; the operation stays empty for a layer that is not known.
void describe_layer(Architecture const& a, std::string const& layer, double tokens, double cached, double tp,
                    Sample& s) {
  double const h = a.hidden;
  double const heads = a.heads / tp, kv = std::max(1.0, a.kv_heads / tp);
  double const inner = a.intermediate / tp;
  auto const gemm = [&](double n, double k) {
    s.operation = "gemm";
    s.variant = "sustained";
    s.shape = {tokens, n, k};
  };
  auto const pass = [&](char const* variant, double width) {
    s.operation = "memory_pass";
    s.variant = variant;
    s.shape = {tokens, width};
  };
  if (layer == "q_proj") gemm(heads * a.head_dim, h);
  if (layer == "k_proj" || layer == "v_proj") gemm(kv * a.head_dim, h);
  if (layer == "o_proj") gemm(h, heads * a.head_dim);
  if (layer == "gate_proj" || layer == "up_proj") gemm(inner, h);
  if (layer == "down_proj") gemm(h, inner);
  if (layer == "lm_head") gemm(static_cast<double>(a.vocab) / tp, h);
  if (layer == "input_layernorm" || layer == "post_layernorm" || layer == "final_layernorm") pass("norm", h);
  if (layer == "rope") pass("rope", (heads + kv) * a.head_dim);
  if (layer == "act_fn") pass("activation", inner);
  if (layer == "embedding") pass("embedding", h);
  if (layer == "attn") {
    s.operation = "attention_prefill";
    s.shape = {1, tokens, cached, heads, kv, static_cast<double>(a.head_dim)};
  }
}

constexpr std::array<std::string_view, 7> kProducts = {"q_proj",    "k_proj",  "v_proj",   "o_proj",
                                                       "gate_proj", "up_proj", "down_proj"};
constexpr std::array<std::string_view, 5> kOthers = {"input_layernorm", "post_layernorm", "rope", "act_fn",
                                                     "attn"};

// A layer is spread over as many rows as it has parts.
class TimedLayers {
 public:
  void add(std::string const& part, double tokens, double tp, Sample const& s) {
    Layer& layer = layers_[{tp, tokens}];
    layer.last = s;
    layer.parts[part] = s.seconds;
  }

  void append_to(Imported& out, Architecture const& a) const {
    for (auto const& [key, layer] : layers_) {
      Sample s = layer.last;
      s.variant = "apart";
      s.shape = {key.second,
                 static_cast<double>(a.hidden),
                 static_cast<double>(a.heads),
                 static_cast<double>(a.kv_heads),
                 static_cast<double>(a.head_dim),
                 static_cast<double>(a.intermediate),
                 key.first};
      s.operation = "layer_gemm";
      s.seconds = Seconds(0);
      if (!sum(layer, kProducts, s.seconds)) continue;
      out.samples.push_back(s);
      s.operation = "layer";
      if (sum(layer, kOthers, s.seconds)) out.samples.push_back(std::move(s));
    }
  }

 private:
  struct Layer {
    Sample last;
    std::map<std::string, Seconds, std::less<>> parts;
  };

  template <std::size_t N>
  static bool sum(Layer const& layer, std::array<std::string_view, N> const& parts, Seconds& time) {
    for (std::string_view const part : parts) {
      auto const it = layer.parts.find(part);
      if (it == layer.parts.end()) return false;
      time += it->second;
    }
    return true;
  }

  std::map<std::pair<double, double>, Layer> layers_;
};

}  // namespace

bool is_llmservingsim(std::vector<std::string> const& columns) {
  return has_columns(columns, {"layer_name", "input", "kv_cache", "tp_size", "latency(ns)"});
}

void read_llmservingsim(SourceText const& source, Imported& out) {
  Architecture const* model = model_of(source);
  if (model == nullptr) {
    note(out, source, 0, "", "no folder of its path names a model of the catalog",
         "put it below a folder such as Llama-3.1-8B");
    return;
  }
  TableReader row(source, out);
  TimedLayers layers;
  while (row.next()) {
    Sample s;
    s.gpu = gpu_of(source, row);
    s.dtype = "bf16";
    s.seconds = Seconds(row.positive("latency(ns)") * 1e-9);
    s.source = source.name;
    s.version = "llmservingsim";
    double const tokens = row.count("input"), cached = row.whole("kv_cache"), tp = row.count("tp_size");
    if (!row.good()) continue;
    describe_layer(*model, row.text("layer_name"), tokens, cached, tp, s);
    if (s.operation.empty()) {
      skip(out, source, "layer " + shown(row.text("layer_name")) + " is no operation with a price");
      continue;
    }
    if (cached < 1) layers.add(row.text("layer_name"), tokens, tp, s);
    out.samples.push_back(std::move(s));
  }
  layers.append_to(out, *model);
}

}  // namespace rollcast
