#include "models/engine_attention.hpp"

#include <algorithm>
#include <utility>

namespace rollcast {
namespace {

constexpr double kStateElement = 4;  // the recurrent state is fp32
constexpr double kTokensFloor = 1;

FlopsPerSecond attention_rate(Profile const& p) { return p.gpu.bf16 * p.attention_forward.value; }
BytesPerSecond read_rate(Profile const& p) { return p.gpu.memory_bandwidth * p.decode_attention.value; }

}  // namespace

std::vector<LayerAttention> engine_attention(Profile const& p, EngineProducts const& products,
                                             EngineOptions const& e, AttentionKind kind) {
  std::vector<LayerAttention> list;
  for (EngineProducts::Layer const& l : products.layers) {
    LayerAttention layer{l.example, l.count, std::nullopt, Seconds(0)};
    auto const& heads = l.own.shape.heads;
    if (heads && p.kernels) layer.prices = p.kernels->attention(kind, size_of(e.kv_cache).value, 0, *heads);
    if (!layer.prices && p.kernels) layer.shortest = p.kernels->shortest_attention(kind);
    list.push_back(std::move(layer));
  }
  return list;
}

PositionWork position_work(Architecture const& a, EngineOptions const& e, int layer) {
  PositionWork w;
  auto const elements = static_cast<double>(kv_elements_per_token(a, layer));
  int const tp = engine_layout(e).own.tp;
  if (a.mla && !is_linear_attention_layer(a, layer)) {
    w.kv = size_of(e.kv_cache) * elements;
    w.flops = Flops(2.0 * a.heads * (2 * a.mla->kv_lora_rank + a.mla->qk_rope_head_dim) / tp);
  } else {
    w.kv = size_of(e.kv_cache) * (elements / kv_cut(a, tp));
    w.flops = attention_flops_per_pair(a, layer) / tp;
  }
  return w;
}

double state_elements(Architecture const& a, EngineOptions const& e, int layer) {
  return static_cast<double>(state_elements_per_sequence(a, layer)) / engine_layout(e).own.tp;
}

Seconds decode_time(std::vector<LayerAttention> const& layers, Profile const& p, Architecture const& a,
                    EngineOptions const& e, double batch, double context, double queries) {
  double const own = batch / engine_layout(e).groups;
  Seconds total;
  for (LayerAttention const& layer : layers) {
    PositionWork const w = position_work(a, e, layer.example);
    Seconds const compute = w.flops * (own * context * queries) / attention_rate(p);
    if (layer.prices) {
      Seconds const one = layer.prices->at(own, std::max(context, kTokensFloor));
      total += (queries > 1 ? max(one, compute) : one) * layer.count;
      continue;
    }
    Seconds const growing = max(w.kv * (own * context) / read_rate(p), compute);
    double const state = state_elements(a, e, layer.example);
    Seconds const recurrent = bytes(2 * state * kStateElement * own) / read_rate(p);
    total += (layer.shortest + growing + recurrent) * layer.count;
  }
  return total;
}

Seconds prompt_time(std::vector<LayerAttention> const& layers, Profile const& p, Architecture const& a,
                    EngineOptions const& e, double length) {
  EngineLayout const layout = engine_layout(e);
  double const prompts = std::max(1.0, e.max_num_batched_tokens / layout.groups / length);
  Seconds total;
  for (LayerAttention const& layer : layers) {
    Flops const pairs = attention_flops_per_pair(a, layer.example) * (causal_pairs(length) / layout.own.tp);
    total += (layer.prices ? layer.prices->at(prompts, length) / prompts
                           : layer.shortest / prompts + pairs / attention_rate(p)) *
             layer.count;
  }
  return total / layout.groups;
}

Seconds chunk_read_time(std::vector<LayerAttention> const& layers, Profile const& p, Architecture const& a,
                        EngineOptions const& e) {
  Seconds total;
  for (LayerAttention const& layer : layers)
    total += position_work(a, e, layer.example).kv / read_rate(p) * layer.count;
  return total / engine_layout(e).groups;
}

std::vector<double> knots_of(std::vector<LayerAttention> const& layers,
                             std::vector<double> const& (AttentionPrices::*knots)() const, double first,
                             double last, double scale) {
  std::vector<double> all{first, last};
  for (LayerAttention const& layer : layers) {
    if (!layer.prices) continue;
    for (double const k : ((*layer.prices).*knots)()) {
      if (k * scale > first && k * scale < last) all.push_back(k * scale);
    }
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

}  // namespace rollcast
