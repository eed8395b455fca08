#include "models/static_generate.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>

#include "models/layer_prices.hpp"

namespace rollcast {
namespace {

constexpr double kElement = 2;  // K and V in bf16
constexpr double kLogitBytes = 2 + 4;
constexpr double kDenseLayerKernels = 40;
constexpr double kMoeLayerKernels = 24;
constexpr double kExpertKernels = 8;
constexpr int kContextKnots = 17;

// The GPU's time alone: launches are the host's here.
EngineOptions on_the_gpu(EngineOptions e) {
  e.kind = EngineKind::hf;
  e.cuda_graphs = true;
  e.max_num_seqs = std::numeric_limits<int>::max();  // logits of every position
  return e;
}

Seconds dense_part(Profile const& p, CollectivePrices const& collectives, Architecture const& a,
                   EngineOptions const& e, double tokens) {
  Bytes const logits = bytes(tokens * a.vocab / e.parallel.tp * kLogitBytes);
  return dense_time(p, a, on_the_gpu(e), collectives.cluster(), tokens) + memory_time(p, logits);
}

Bytes cache_of_token(Architecture const& a, int tp) {
  double elements = 0;
  for (LayerKind const& kind : layer_kinds(a, 0, a.layers)) {
    double const cut = a.mla ? 1 : kv_cut(a, tp);
    elements += static_cast<double>(kv_elements_per_token(a, kind.example)) / cut * kind.count;
  }
  return bytes(elements * kElement);
}

Bytes copied(Architecture const& a, EngineOptions const& e, StaticOptions const& o, double positions) {
  return cache_of_token(a, e.parallel.tp) * (positions * (o.unpadded_attention ? 4 : 2));
}

Seconds gather_time(CollectivePrices& collectives, Architecture const& a, EngineOptions const& e,
                    StaticOptions const& o) {
  if (o.weights.ranks <= 1) return Seconds(0);
  double const all = static_cast<double>(count_parameters(a).total) / e.parallel.tp;
  return collectives.at(CollectiveKind::all_gather, o.weights, all * size_of(e.weights)).total();
}

// What a token takes apart from what grows with the context.
struct TokenFloor {
  Seconds dense;
  Seconds host;
  Seconds gather;
};

TokenFloor token_floor(Profile const& p, CollectivePrices& collectives, Architecture const& a,
                       EngineOptions const& e, EngineOverhead const& host, StaticOptions const& o,
                       double batch) {
  return {dense_part(p, collectives, a, e, batch),
          host.launch * (eager_kernels(a, batch) + o.hook_operations), gather_time(collectives, a, e, o)};
}

Seconds gpu_time(TokenFloor const& floor, Profile const& p, Architecture const& a, EngineOptions const& e,
                 StaticOptions const& o, double batch, double context) {
  return floor.dense + decode_attention_time(p, a, on_the_gpu(e), batch, context) +
         memory_time(p, copied(a, e, o, batch * context));
}

// Seconds of a token over its context; a knot where the GPU becomes the slower one.
Curve token_curve(TokenFloor const& floor, Profile const& p, Architecture const& a, EngineOptions const& e,
                  EngineOverhead const& host, StaticOptions const& o, double batch, double first,
                  double last) {
  double const beside = max(floor.host, floor.gather).value;
  Curve curve;
  double before = 0;
  for (int i = 0; i < kContextKnots; ++i) {
    double const context = first + (last - first) * i / (kContextKnots - 1);
    double const gpu = gpu_time(floor, p, a, e, o, batch, context).value;
    if (i > 0 && (before < beside) != (gpu < beside)) {
      double const left = curve.x.back();
      double const crossing = left + (context - left) * (beside - before) / (gpu - before);
      if (crossing > left && crossing < context) {
        curve.x.push_back(crossing);
        curve.y.push_back(beside);
      }
    }
    if (i == 0 || context > curve.x.back()) {
      curve.x.push_back(context);
      curve.y.push_back(std::max(gpu, beside));
    }
    before = gpu;
  }
  for (double& y : curve.y) y += host.step.value + host.per_sequence.value * batch;
  return curve;
}

Seconds prompt_time(TokenFloor const& floor, Profile const& p, CollectivePrices const& collectives,
                    Architecture const& a, EngineOptions const& e, double batch, double length) {
  Seconds gpu = dense_part(p, collectives, a, e, batch * length);
  for (LayerKind const& kind : layer_kinds(a, 0, a.layers)) {
    Flops const pairs =
        attention_flops_per_pair(a, kind.example) * (batch * causal_pairs(length) / e.parallel.tp);
    gpu += pairs / (p.gpu.bf16 * p.attention_forward.value) * kind.count;
  }
  return max(gpu, max(floor.host, floor.gather));
}

}  // namespace

double eager_kernels(Architecture const& a, double tokens) {
  double sum = 0;
  for (LayerKind const& kind : layer_kinds(a, 0, a.layers)) {
    if (!is_moe_layer(a, kind.example)) {
      sum += kDenseLayerKernels * kind.count;
      continue;
    }
    Matmul expert;
    expert.copies = a.moe->experts;
    expert.hit = static_cast<double>(a.moe->experts_per_token) / a.moe->experts;
    sum += (kMoeLayerKernels + kExpertKernels * matrices_read(expert, tokens)) * kind.count;
  }
  return sum;
}

Seconds static_token_time(Profile const& p, CollectivePrices& collectives, Architecture const& a,
                          EngineOptions const& e, EngineOverhead const& host, StaticOptions const& o,
                          double batch, double context) {
  TokenFloor const floor = token_floor(p, collectives, a, e, host, o, batch);
  Seconds const gpu = gpu_time(floor, p, a, e, o, batch, context);
  return max(gpu, max(floor.host, floor.gather)) + host.step + host.per_sequence * batch;
}

StaticBatch static_generate(Profile const& p, CollectivePrices& collectives, Architecture const& a,
                            EngineOptions const& e, EngineOverhead const& host, StaticOptions const& o,
                            std::vector<StaticSequence> const& sequences) {
  if (sequences.empty()) throw std::logic_error("static generation: no sequence");
  int length = o.prompt_length;
  int longest = 1;
  for (StaticSequence const& s : sequences) {
    if (s.prompt_tokens < 1 || s.response_tokens < 1)
      throw std::logic_error("static generation: a sequence without a token");
    length = std::max(length, s.prompt_tokens);
    longest = std::max(longest, s.response_tokens);
  }
  StaticBatch result;
  result.steps = o.steps > 0 ? o.steps : longest;
  auto const batch = static_cast<double>(sequences.size());
  TokenFloor const floor = token_floor(p, collectives, a, e, host, o, batch);
  result.first_token = prompt_time(floor, p, collectives, a, e, batch, length) + host.step;

  std::int64_t const later = result.steps - 1;
  double const first = length + 1;
  Curve const curve = token_curve(floor, p, a, e, host, o, batch, first, length + std::max(2, result.steps));
  auto const time_of = [&](std::int64_t tokens) {
    return result.first_token + Seconds(sum_over_contexts(curve, first, tokens));
  };
  result.end = time_of(later);
  for (StaticSequence const& s : sequences)
    result.finished.push_back(time_of(std::min<std::int64_t>(later, s.response_tokens - 1)));

  double const steps = result.steps;
  double const contexts = static_cast<double>(later) * first + 0.5 * (steps - 1) * (steps - 2);
  RolloutWork const work = rollout_work(a, e, batch * (length + steps - 1), batch * contexts, steps);
  result.flops = work.flops;
  result.hbm = work.hbm + copied(a, e, o, batch * contexts);
  return result;
}

}  // namespace rollcast
