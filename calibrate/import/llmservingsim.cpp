#include "calibrate/import/llmservingsim.hpp"

#include <algorithm>
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
    out.samples.push_back(std::move(s));
  }
}

}  // namespace rollcast
