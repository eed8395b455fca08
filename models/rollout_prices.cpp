#include "models/rollout_prices.hpp"

#include <algorithm>
#include <cmath>

#include "models/layer_prices.hpp"

namespace rollcast {
namespace {

constexpr double kElement = 2;        // activations are bf16
constexpr double kStateElement = 4;   // the recurrent state is fp32
constexpr double kTolerance = 0.003;  // of a chord at its quarter points; 1 % is promised
constexpr double kTokensFloor = 1;
// Engines pad to the sizes of their CUDA graphs, and a measured product has a tile more at 257 than at 256.
constexpr double kTile = 16;
constexpr double kShortestPrompt = 16;

Cut cut_of(EngineOptions const& e) { return {e.parallel.tp, e.parallel.ep, /*whole_experts=*/true}; }

// KV bytes that one rank reads for one position of one sequence in one layer, and the FLOPs it takes.
struct PositionWork {
  Bytes kv;
  Flops flops;
};
PositionWork position_work(Architecture const& a, EngineOptions const& e, int layer) {
  PositionWork w;
  double const elements = static_cast<double>(kv_elements_per_token(a, layer));
  int const tp = e.parallel.tp;
  if (a.mla && !is_linear_attention_layer(a, layer)) {
    w.kv = size_of(e.kv_cache) * elements;
    w.flops = Flops(2.0 * a.heads * (2 * a.mla->kv_lora_rank + a.mla->qk_rope_head_dim) / tp);
  } else {
    w.kv = size_of(e.kv_cache) * (elements / kv_cut(a, tp));
    w.flops = attention_flops_per_pair(a, layer) / tp;
  }
  return w;
}

FlopsPerSecond attention_rate(Profile const& p) { return p.gpu.bf16 * p.attention_forward.value; }

// Quantized checkpoints keep lm_head in bf16.
DType head_dtype(EngineOptions const& e) { return e.weights == DType::fp8 ? DType::bf16 : e.weights; }

// A layer and lm_head, ready to be priced for any number of tokens.
struct Products {
  struct Layer {
    LayerShape shape;
    int example = 0;
    int count = 0;
    LayerProducts products;
  };
  std::vector<Layer> layers;
  std::vector<Matmul> head;
};

Products products_of(Profile const& p, Architecture const& a, EngineOptions const& e) {
  Products products;
  bool const fuse = e.kind != EngineKind::hf;
  for (LayerKind const& kind : layer_kinds(a, 0, a.layers)) {
    LayerShape shape = layer_shape(a, kind.example, cut_of(e));
    LayerProducts layer = layer_products(p, shape, e.weights, fuse);
    products.layers.push_back({std::move(shape), kind.example, kind.count, std::move(layer)});
  }
  products.head = lm_head_matmuls(a, e.parallel.tp);
  return products;
}

// Attention of the layers of one kind; prices where they were measured.
struct LayerAttention {
  int example = 0;
  int count = 0;
  std::optional<AttentionPrices> prices;
  Seconds shortest;  // without prices: the shortest kernel that was measured of others, on top
};

std::vector<LayerAttention> attention_of(Profile const& p, Products const& products, EngineOptions const& e,
                                         AttentionKind kind) {
  std::vector<LayerAttention> list;
  for (Products::Layer const& l : products.layers) {
    LayerAttention layer{l.example, l.count, std::nullopt, Seconds(0)};
    auto const& heads = l.shape.heads;
    if (heads && p.kernels) layer.prices = p.kernels->attention(kind, size_of(e.kv_cache).value, 0, *heads);
    if (!layer.prices && p.kernels) layer.shortest = p.kernels->shortest_attention(kind);
    list.push_back(std::move(layer));
  }
  return list;
}

Seconds decode_time_of(std::vector<LayerAttention> const& layers, Profile const& p, Architecture const& a,
                       EngineOptions const& e, double batch, double context) {
  BytesPerSecond const bandwidth = p.gpu.memory_bandwidth * p.decode_attention.value;
  Seconds total;
  for (LayerAttention const& layer : layers) {
    if (layer.prices) {
      total += layer.prices->at(batch, std::max(context, kTokensFloor)) * layer.count;
      continue;
    }
    PositionWork const w = position_work(a, e, layer.example);
    Seconds const growing =
        max(w.kv * (batch * context) / bandwidth, w.flops * (batch * context) / attention_rate(p));
    double const state = static_cast<double>(state_elements_per_sequence(a, layer.example)) / e.parallel.tp;
    total += (layer.shortest + growing + bytes(2 * state * kStateElement * batch) / bandwidth) * layer.count;
  }
  return total;
}

// From first to last, with the knots of what was measured between.
std::vector<double> knots_of(std::vector<LayerAttention> const& layers,
                             std::vector<double> const& (AttentionPrices::*knots)() const, double first,
                             double last) {
  std::vector<double> all{first, last};
  for (LayerAttention const& layer : layers) {
    if (!layer.prices) continue;
    for (double const k : ((*layer.prices).*knots)()) {
      if (k > first && k < last) all.push_back(k);
    }
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

// A prompt among as many like it as fill the token budget: kernels are not launched for each alone.
Seconds prompt_attention(std::vector<LayerAttention> const& layers, Profile const& p, Architecture const& a,
                         EngineOptions const& e, double length) {
  double const prompts = std::max(1.0, e.max_num_batched_tokens / length);
  Seconds total;
  for (LayerAttention const& layer : layers) {
    Flops const pairs = attention_flops_per_pair(a, layer.example) * (causal_pairs(length) / e.parallel.tp);
    total += (layer.prices ? layer.prices->at(prompts, length) / prompts
                           : layer.shortest / prompts + pairs / attention_rate(p)) *
             layer.count;
  }
  return total;
}

Curve prefill_curve(std::vector<LayerAttention> const& layers, Profile const& p, Architecture const& a,
                    EngineOptions const& e, double longest) {
  Curve curve{{0}, {0}};
  for (double length = kShortestPrompt;; length *= 2) {
    length = std::min(length, longest);
    curve.x.push_back(causal_pairs(length));
    curve.y.push_back(prompt_attention(layers, p, a, e, length).value);
    if (length >= longest) return curve;
  }
}

Seconds dense_time_of(Products const& products, Profile const& p, Architecture const& a,
                      EngineOptions const& e, CollectivePrices& collectives, double tokens) {
  constexpr double kBurst = 1;
  Bytes const hidden = bytes(tokens * a.hidden * kElement);
  Seconds const reduction =
      collectives.engine_all_reduce(e.kind, e.parallel.tp, hidden, e.cuda_graphs).total();
  Seconds const reductions = reduction * (a.parallel_block ? 1 : 2);
  Seconds total;
  for (Products::Layer const& layer : products.layers) {
    Seconds time = products_time(p, layer.products, tokens, e.weights, kBurst);
    time += Flops(tokens * layer.shape.recurrence_per_token.value) / attention_rate(p);
    time +=
        passes_time(p, layer.shape, tokens, 1, e.kind != EngineKind::hf, layer.products.experts.has_value());
    if (!e.cuda_graphs) time = max(time, Seconds(p.kernel_launch.value) * layer.shape.kernels);
    total += (time + reductions) * layer.count;
  }
  double const sampled = std::min(tokens, static_cast<double>(std::max(1, e.max_num_seqs)));
  for (Matmul const& m : products.head) total += matmul_time(p, m, sampled, head_dtype(e), kBurst);
  if (e.parallel.pp > 1) {
    Group const neighbours = placed_group(collectives.cluster(), e.parallel.pp, e.parallel.tp);
    total += collectives.at(CollectiveKind::send_recv, neighbours, hidden).total() * (e.parallel.pp - 1);
  }
  return total;
}

// Of vLLM and SGLang the published runs tell the work between steps alone. Overlapped, what is left is taken
// as TRT-LLM's, whose points were served so.
EngineOverhead const* measured_overhead(Profile const& p, EngineOptions const& e) {
  bool const overlapped = e.async_scheduling && e.kind != EngineKind::hf;
  return find_overhead(p.engines, overlapped ? EngineKind::trtllm : e.kind);
}

// Chords over token counts that are multiples of a tile (below one tile: every count).
template <class F>
class Refinement {
 public:
  Refinement(F const& f, double tile, Curve& curve) : f_(f), tile_(tile), curve_(curve) {}

  void add(double a, double b, double fa, double fb) {
    double const middle = aligned((a + b) / 2);
    if (middle > a && bends(a, b, fa, fb)) {
      double const value = f_(middle);
      add(a, middle, fa, value);
      add(middle, b, value, fb);
      return;
    }
    curve_.x.push_back(b);
    curve_.y.push_back(fb);
  }

 private:
  double aligned(double tokens) const {
    return tokens <= tile_ ? std::floor(tokens) : std::floor(tokens / tile_) * tile_;
  }

  // Whether the chord from a to b leaves f by more than the tolerance near a quarter point.
  bool bends(double a, double b, double fa, double fb) const {
    for (double const share : {0.25, 0.5, 0.75}) {
      double const x = aligned(a + (b - a) * share);
      if (x <= a || x >= b) continue;
      double const exact = f_(x);
      if (std::abs(fa + (fb - fa) * ((x - a) / (b - a)) - exact) > kTolerance * exact) return true;
    }
    return false;
  }

  F const& f_;
  double tile_;
  Curve& curve_;
};

// Powers of two first, so that a bend between two distant tokens cannot hide from the quarter points.
template <class F>
Curve curve_of(F const& f, double last, double tile) {
  Curve curve;
  Refinement<F> refinement(f, tile, curve);
  double a = kTokensFloor;
  double fa = f(a);
  curve.x.push_back(a);
  curve.y.push_back(fa);
  while (a < last) {
    double const b = std::min(2 * a, last);
    double const fb = f(b);
    refinement.add(a, b, fa, fb);
    a = b;
    fa = fb;
  }
  return curve;
}

}  // namespace

Seconds dense_time(Profile const& p, Architecture const& a, EngineOptions const& e, ClusterSpec const& c,
                   double tokens) {
  CollectivePrices collectives(p, c);
  return dense_time_of(products_of(p, a, e), p, a, e, collectives, tokens);
}

Seconds decode_attention_time(Profile const& p, Architecture const& a, EngineOptions const& e, double batch,
                              double context) {
  return decode_time_of(attention_of(p, products_of(p, a, e), e, AttentionKind::decode), p, a, e, batch,
                        context);
}

StepPrices rollout_step_prices(Profile const& p, Architecture const& a, EngineOptions const& e,
                               ClusterSpec const& c) {
  CollectivePrices collectives(p, c);
  return rollout_step_prices(p, collectives, a, e);
}

StepPrices rollout_step_prices(Profile const& p, CollectivePrices& collectives, Architecture const& a,
                               EngineOptions const& e) {
  StepPrices prices;
  if (EngineOverhead const* const measured = measured_overhead(p, e)) {
    prices.fixed = measured->step;
    prices.per_sequence = measured->per_sequence;
  } else {
    prices.fixed = Seconds(p.engine_step.value);
    prices.per_sequence =
        Seconds((e.async_scheduling ? p.engine_per_sequence : p.engine_per_sequence_synchronous).value);
  }
  if (e.logprobs) {
    prices.fixed += Seconds(p.engine_logprobs_step.value);
    prices.per_sequence += Seconds(p.engine_logprobs_per_sequence.value);
  }

  Products const products = products_of(p, a, e);
  double const last = std::max({2, e.max_num_batched_tokens, e.max_num_seqs});
  prices.dense =
      curve_of([&](double tokens) { return dense_time_of(products, p, a, e, collectives, tokens).value; },
               last, p.kernels ? kTile : 1);

  double const batch = std::max(2, e.max_num_seqs);
  double const context = std::max({2, e.max_model_len, a.max_context});
  std::vector<LayerAttention> const decode = attention_of(p, products, e, AttentionKind::decode);
  prices.batch_knots = knots_of(decode, &AttentionPrices::batch_knots, 1, batch);
  prices.context_knots = knots_of(decode, &AttentionPrices::length_knots, 0, context);
  for (double const b : prices.batch_knots) {
    std::vector<double> row;
    for (double const l : prices.context_knots) {
      row.push_back(decode_time_of(decode, p, a, e, b, l).value);
    }
    prices.decode_attention.push_back(row);
  }
  for (LayerAttention const& layer : decode) {
    Seconds const read =
        position_work(a, e, layer.example).kv / (p.gpu.memory_bandwidth * p.decode_attention.value);
    prices.chunk_read += (read * layer.count).value;
  }
  prices.prefill = prefill_curve(attention_of(p, products, e, AttentionKind::prefill), p, a, e, context);
  return prices;
}

RolloutWork rollout_work(Architecture const& a, EngineOptions const& e, double dense_tokens,
                         double decode_context_sum, double steps) {
  RolloutWork work;
  if (steps <= 0) return work;
  Products const products = products_of({}, a, e);
  double const tokens_per_step = dense_tokens / steps;
  auto const add = [&](std::vector<Matmul> const& list, double count) {
    for (Matmul const& m : list) {
      work.flops += Flops(2 * dense_tokens * m.rows_per_token * m.n * m.k * count);
      work.hbm += size_of(e.weights) * (steps * matrices_read(m, tokens_per_step) * m.n * m.k * count);
    }
  };
  for (Products::Layer const& layer : products.layers) {
    add(layer.shape.matmuls, layer.count);
    work.flops += Flops(dense_tokens * layer.shape.recurrence_per_token.value) * layer.count;
  }
  for (LayerKind const& kind : layer_kinds(a, 0, a.layers)) {
    PositionWork const w = position_work(a, e, kind.example);
    double const state = static_cast<double>(state_elements_per_sequence(a, kind.example)) / e.parallel.tp;
    work.flops += w.flops * decode_context_sum * kind.count;
    work.hbm += w.kv * ((decode_context_sum + dense_tokens) * kind.count);
    work.hbm += bytes(2 * state * kStateElement * dense_tokens * kind.count);
  }
  add(products.head, 1);
  // Stages hold a share of the layers each; lm_head is on the last one alone, an average rank has its share.
  work.flops /= e.parallel.pp;
  work.hbm /= e.parallel.pp;
  return work;
}

}  // namespace rollcast
