#include "models/engine_dense.hpp"

#include <algorithm>
#include <utility>

#include "models/engine_defaults.hpp"
#include "models/engine_versions.hpp"
#include "models/kernels.hpp"

namespace rollcast {
namespace {

constexpr double kElement = 2;  // activations are bf16
constexpr double kBurst = 1;    // decoding does not load the matrix units
// DeepEP's low-latency buffers, as its README and SGLang (SGLANG_DEEPEP_NUM_MAX_DISPATCH_TOKENS_PER_RANK)
// size them.
constexpr double kLowLatencyTokens = 128;

// Launches of a layer with latent attention beyond those of grouped queries: low-rank projections and their
// norms, products absorbed into queries and outputs, the cache's write (8); top-k within groups of experts
// (12).
constexpr int kLatentKernels = 20;

// Of one launch where nothing is replayed. Of vLLM and SGLang in eager mode the only figure is an early
// release's.
Seconds eager_launch(Profile const& p, EngineOptions const& e) {
  EngineOverhead const* const known = find_overhead(p.engines, e.kind);
  if (known == nullptr) return Seconds(p.kernel_launch.value);
  if (known->launch > Seconds(0)) return known->launch;
  return overhead_of_version(EngineKind::vllm, "0.3")->launch * other_prices(p).releases;
}

// What a layer's launches take at least: the driver's part where the code between them is compiled.
Seconds launches_time(EngineProducts::Layer const& layer, Profile const& p, Architecture const& a,
                      EngineOptions const& e, double own) {
  if (e.cuda_graphs && (e.kind == EngineKind::hf || own <= graph_tokens(p.gpu, e))) return Seconds(0);
  double const kernels = layer.own.shape.kernels + (a.mla ? kLatentKernels : 0);
  return (e.cuda_graphs ? Seconds(p.kernel_launch.value) : eager_launch(p, e)) * kernels;
}

bool of_experts(Pass const& pass) { return pass.part != Pass::Part::layer; }

Bytes bytes_of(std::vector<Pass> const& passes) {
  double sum = 0;
  for (Pass const& pass : passes) sum += bytes_per_element(pass.kind) * pass.width * pass.rows_per_token;
  return bytes(sum);
}

std::vector<Pass> only(std::vector<Pass> passes, bool experts) {
  std::erase_if(passes, [&](Pass const& pass) { return of_experts(pass) != experts; });
  return passes;
}

// The layer without its experts, to be priced for a rank's own tokens.
LayerShape without_experts(LayerShape s) {
  std::erase_if(s.matmuls, [](Matmul const& m) { return m.expert; });
  s.inner_bytes -= bytes_of(only(s.passes, true));
  s.passes = only(std::move(s.passes), false);
  s.experts.reset();
  return s;
}

LayerShape experts_alone(LayerShape s) {
  std::erase_if(s.matmuls, [](Matmul const& m) { return !m.expert; });
  s.passes = only(std::move(s.passes), true);
  s.inner_bytes = bytes_of(s.passes);
  s.stream_bytes = Bytes(0);
  s.recurrence_per_token = Flops(0);
  return s;
}

EngineProducts::Part part_of(Profile const& p, LayerShape shape, EngineOptions const& e) {
  LayerProducts products =
      layer_products(p, shape, e.weights, e.kind == EngineKind::hf ? Fusion::none : Fusion::all);
  return {std::move(shape), std::move(products)};
}

Seconds part_time(EngineProducts::Part const& part, Profile const& p, EngineOptions const& e, double tokens) {
  Seconds time = products_time(p, part.products, tokens, e.weights, kBurst);
  time += Flops(tokens * part.shape.recurrence_per_token.value) / (p.gpu.bf16 * p.attention_forward.value);
  return time +
         passes_time(p, part.shape, tokens, 1, e.kind != EngineKind::hf, part.products.experts.has_value());
}

Seconds exchange_time(CollectivePrices& collectives, Architecture const& a, EngineOptions const& e,
                      double tokens) {
  Group const group = placed_group(collectives.cluster(), e.parallel.tp, 1);
  if (e.parallel.ep <= 1) {
    Bytes const hidden = bytes(tokens * a.hidden * kElement);
    return collectives.at(CollectiveKind::all_gather, group, hidden).total() +
           collectives.at(CollectiveKind::reduce_scatter, group, hidden).total();
  }
  double const own = tokens / e.parallel.tp;
  auto const both_ways = [&](ExchangeMode mode) {
    Seconds sum;
    for (ExchangeDirection const d : {ExchangeDirection::dispatch, ExchangeDirection::combine}) {
      sum += collectives
                 .expert_exchange({mode, d, group, own, static_cast<double>(a.hidden),
                                   static_cast<double>(a.moe->experts_per_token)})
                 .total();
    }
    return sum;
  };
  Seconds const normal = both_ways(ExchangeMode::normal);
  return own > kLowLatencyTokens ? normal : min(normal, both_ways(ExchangeMode::low_latency));
}

}  // namespace

DType head_dtype(EngineOptions const& e) { return e.weights == DType::fp8 ? DType::bf16 : e.weights; }

double graph_tokens(Gpu const& gpu, EngineOptions const& e) {
  if (!e.cuda_graphs || e.kind == EngineKind::hf) return 0;
  double const most = engine_defaults(e.kind, gpu, e.parallel.tp).cuda_graph_tokens;
  double const queries = 1 + draft_tokens(e);
  return e.kind == EngineKind::vllm ? std::min(most, 2 * queries * e.max_num_seqs) : most * queries;
}

EngineProducts engine_products(Profile const& p, Architecture const& a, EngineOptions const& e) {
  EngineProducts products;
  products.layout = engine_layout(e);
  for (LayerKind const& kind : layer_kinds(a, 0, a.layers)) {
    EngineProducts::Layer layer;
    layer.example = kind.example;
    layer.count = kind.count;
    LayerShape own = layer_shape(a, kind.example, products.layout.own);
    if (own.moe && products.layout.groups > 1) {
      own = without_experts(std::move(own));
      layer.routed = part_of(p, experts_alone(layer_shape(a, kind.example, products.layout.experts)), e);
    }
    layer.own = part_of(p, std::move(own), e);
    products.layers.push_back(std::move(layer));
  }
  products.head = lm_head_matmuls(a, products.layout.own.tp);
  return products;
}

Seconds reduction_time(CollectivePrices& collectives, EngineOptions const& e, Bytes hidden) {
  if (e.custom_all_reduce)
    return collectives.engine_all_reduce(e.kind, e.parallel.tp, hidden, e.cuda_graphs).total();
  Group const group = placed_group(collectives.cluster(), e.parallel.tp, 1);
  return collectives.at(CollectiveKind::all_reduce, group, hidden).total();
}

Seconds layer_time(EngineProducts::Layer const& layer, EngineLayout const& layout, Profile const& p,
                   Architecture const& a, EngineOptions const& e, CollectivePrices& collectives,
                   double tokens) {
  double const own = std::max(1.0, tokens / layout.groups);
  Seconds time = part_time(layer.own, p, e, own);
  if (layer.routed) time += part_time(*layer.routed, p, e, tokens);
  time = max(time, launches_time(layer, p, a, e, own));
  if (layout.groups > 1) return layer.routed ? time + exchange_time(collectives, a, e, tokens) : time;
  Bytes const hidden = bytes(tokens * a.hidden * kElement);
  Seconds const reduction = reduction_time(collectives, e, hidden);
  return time + reduction * (a.parallel_block ? 1 : 2);
}

Seconds head_time(EngineProducts const& products, Profile const& p, EngineOptions const& e, double sampled) {
  Seconds total;
  for (Matmul const& m : products.head)
    total += matmul_time(p, m, std::max(1.0, sampled / products.layout.groups), head_dtype(e), kBurst);
  return total;
}

Seconds dense_time(EngineProducts const& products, Profile const& p, Architecture const& a,
                   EngineOptions const& e, CollectivePrices& collectives, double tokens) {
  Seconds total;
  for (EngineProducts::Layer const& layer : products.layers)
    total += layer_time(layer, products.layout, p, a, e, collectives, tokens) * layer.count;
  double const positions = (1.0 + draft_tokens(e)) * std::max(1, e.max_num_seqs);
  total += head_time(products, p, e, std::min(tokens, positions));
  if (e.parallel.pp > 1) {
    Bytes const hidden = bytes(tokens / products.layout.groups * a.hidden * kElement);
    Group const neighbours = placed_group(collectives.cluster(), e.parallel.pp, e.parallel.tp);
    total += collectives.at(CollectiveKind::send_recv, neighbours, hidden).total() * (e.parallel.pp - 1);
  }
  return total;
}

}  // namespace rollcast
