#include "models/rollout_prices.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "models/curve_fit.hpp"
#include "models/engine_attention.hpp"
#include "models/engine_dense.hpp"
#include "models/speculative.hpp"

namespace rollcast {
namespace {

constexpr double kStateElement = 4;  // the recurrent state is fp32
// Engines pad to the sizes of their CUDA graphs, and a measured product has a tile more at 257 than at 256.
constexpr double kTile = 16;
constexpr double kShortestPrompt = 16;

Curve prefill_curve(std::vector<LayerAttention> const& layers, Profile const& p, Architecture const& a,
                    EngineOptions const& e, double longest) {
  Curve curve{{0}, {0}};
  for (double length = kShortestPrompt;; length *= 2) {
    length = std::min(length, longest);
    curve.x.push_back(causal_pairs(length));
    curve.y.push_back(prompt_time(layers, p, a, e, length).value);
    if (length >= longest) return curve;
  }
}

// Of vLLM and SGLang the published runs tell the work between steps alone. Overlapped, what is left is taken
// as TRT-LLM's, whose points were served so.
EngineOverhead const* measured_overhead(Profile const& p, EngineOptions const& e) {
  bool const overlapped = e.async_scheduling && e.kind != EngineKind::hf;
  return find_overhead(p.engines, overlapped ? EngineKind::trtllm : e.kind);
}

// A step's overhead over the tokens that it yields; each of `groups` ranks schedules its own sequences.
void add_overhead(StepPrices& prices, Profile const& p, EngineOptions const& e) {
  double const share = 1 / expected_tokens(e.speculative);
  double const groups = engine_layout(e).groups;
  if (EngineOverhead const* const measured = measured_overhead(p, e)) {
    prices.fixed = measured->step * share;
    prices.per_sequence = measured->per_sequence * (share / groups);
  } else {
    prices.fixed = Seconds(p.engine_step.value) * share;
    prices.per_sequence =
        Seconds((e.async_scheduling ? p.engine_per_sequence : p.engine_per_sequence_synchronous).value) *
        (share / groups);
  }
  if (e.front_end == FrontEnd::in_process)
    prices.per_sequence += Seconds(p.engine_text_per_sequence.value) / groups;
  if (!e.logprobs) return;
  prices.fixed += Seconds(p.engine_logprobs_step.value) * share;
  if (e.front_end != FrontEnd::apart)
    prices.per_sequence += Seconds(p.engine_logprobs_per_sequence.value) / groups;
}

}  // namespace

Seconds dense_time(Profile const& p, Architecture const& a, EngineOptions const& e, ClusterSpec const& c,
                   double tokens) {
  CollectivePrices collectives(p, c);
  return speculative_dense_time(engine_products(p, a, e), p, a, e, collectives, tokens);
}

Seconds decode_attention_time(Profile const& p, Architecture const& a, EngineOptions const& e, double batch,
                              double context) {
  auto const layers = engine_attention(p, engine_products(p, a, e), e, AttentionKind::decode);
  return speculative_decode_time(layers, p, a, e, batch, context);
}

StepPrices rollout_step_prices(Profile const& p, Architecture const& a, EngineOptions const& e,
                               ClusterSpec const& c) {
  CollectivePrices collectives(p, c);
  return rollout_step_prices(p, collectives, a, e);
}

StepPrices rollout_step_prices(Profile const& p, CollectivePrices& collectives, Architecture const& a,
                               EngineOptions const& e) {
  StepPrices prices;
  add_overhead(prices, p, e);

  EngineProducts const products = engine_products(p, a, e);
  double const last = std::max({2, e.max_num_batched_tokens, e.max_num_seqs});
  auto const dense = [&](double tokens) {
    return speculative_dense_time(products, p, a, e, collectives, tokens).value;
  };
  // Beyond the largest graph a step pays for its launches.
  double const queries = 1.0 + draft_tokens(e);
  double const in_graph = std::floor(graph_tokens(p.gpu, e) * products.layout.groups / queries);
  prices.dense = CurveFit(dense, p.kernels ? kTile : 1).from_one_to(last, in_graph);

  double const batch = std::max(2, e.max_num_seqs);
  double const context = std::max({2, e.max_model_len, a.max_context});
  auto const decode = engine_attention(p, products, e, AttentionKind::decode);
  prices.batch_knots = knots_of(decode, &AttentionPrices::batch_knots, 1, batch, products.layout.groups);
  prices.context_knots = knots_of(decode, &AttentionPrices::length_knots, 0, context);
  for (double const b : prices.batch_knots) {
    std::vector<double> row;
    for (double const l : prices.context_knots)
      row.push_back(speculative_decode_time(decode, p, a, e, b, l).value);
    prices.decode_attention.push_back(row);
  }
  prices.chunk_read = chunk_read_time(decode, p, a, e).value;
  prices.prefill = prefill_curve(engine_attention(p, products, e, AttentionKind::prefill), p, a, e, context);
  return prices;
}

RolloutWork rollout_work(Architecture const& a, EngineOptions const& e, double dense_tokens,
                         double decode_context_sum, double steps) {
  RolloutWork work;
  if (steps <= 0) return work;
  EngineProducts const products = engine_products({}, a, e);
  double const yield = expected_tokens(e.speculative);
  double const queries = 1.0 + draft_tokens(e);
  double const forwards = steps / yield;
  double const all = dense_tokens * queries / yield;
  double const contexts = decode_context_sum / yield / products.layout.groups;
  double const own = all / products.layout.groups;
  auto const add = [&](std::vector<Matmul> const& list, double tokens, double count) {
    for (Matmul const& m : list) {
      work.flops += Flops(2 * tokens * m.rows_per_token * m.n * m.k * count);
      work.hbm += size_of(e.weights) * (forwards * matrices_read(m, tokens / forwards) * m.n * m.k * count);
    }
  };
  for (EngineProducts::Layer const& layer : products.layers) {
    add(layer.own.shape.matmuls, own, layer.count);
    if (layer.routed) add(layer.routed->shape.matmuls, all, layer.count);
    work.flops += Flops(own * layer.own.shape.recurrence_per_token.value) * layer.count;
    PositionWork const w = position_work(a, e, layer.example);
    work.flops += w.flops * contexts * queries * layer.count;
    work.hbm += w.kv * ((contexts + own) * layer.count);
    work.hbm += bytes(2 * state_elements(a, e, layer.example) * kStateElement * own * layer.count);
  }
  add(products.head, own, 1);
  // Stages hold a share of the layers each; lm_head is on the last one alone, an average rank has its share.
  work.flops /= e.parallel.pp;
  work.hbm /= e.parallel.pp;
  return work;
}

}  // namespace rollcast
