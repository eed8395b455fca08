#include "models/adapter_kernels.hpp"

#include <algorithm>

#include "models/engine_adapter.hpp"
#include "models/engine_layout.hpp"
#include "models/layer_prices.hpp"

namespace rollcast {
namespace {

constexpr double kElement = 2;
constexpr double kShrunk = 4;  // between the two kernels, fp32

Adapter adapter_of(AdapterVariant const& v) {
  Adapter a;
  a.rank = v.rank;
  a.targets = v.targets;
  return a;
}

int largest_rank(ServedAdapters const& adapters) {
  int most = adapters.max_rank;
  if (most > 0) return most;
  for (AdapterVariant const& v : adapters.variants) most = std::max(most, v.rank);
  return most;
}

}  // namespace

AdapterKernels adapter_kernels(Profile const& p, Architecture const& a, EngineOptions const& e,
                               ServedAdapters const& adapters) {
  AdapterKernels out;
  EngineLayout const layout = engine_layout(e);
  for (LayerKind const& kind : layer_kinds(a, 0, a.layers)) {
    for (Matmul const& m : layer_shape(a, kind.example, layout.own).matmuls) {
      AdapterKernel shrink{static_cast<double>(kind.count), kAdapterKernel.value, {}, {}};
      AdapterKernel expand = shrink;
      bool used = false;
      for (AdapterVariant const& v : adapters.variants) {
        bool const targets = is_target(adapter_of(v), m.tensor);
        double const rank = adapters.padded_ranks ? largest_rank(adapters) : v.rank;
        double const on = targets ? memory_time(p, bytes(1)).value : 0;
        used = used || targets;
        double const rows = m.rows_per_token / layout.groups;
        shrink.per_token.push_back(on * rows * (kElement * m.k + kShrunk * rank));
        shrink.per_distinct.push_back(on * kElement * rank * m.k);
        expand.per_token.push_back(on * rows * (kShrunk * rank + 2 * kElement * m.n));
        expand.per_distinct.push_back(on * kElement * rank * m.n);
      }
      if (!used) continue;
      out.kernels.push_back(std::move(shrink));
      out.kernels.push_back(std::move(expand));
    }
  }
  return out;
}

Seconds adapter_step_time(AdapterKernels const& k, std::span<AdapterCounts const> of_variants) {
  double sum = 0;
  for (AdapterKernel const& each : k.kernels) {
    double time = 0;
    for (std::size_t v = 0; v < of_variants.size(); ++v)
      time += of_variants[v].tokens * each.per_token[v] + of_variants[v].distinct * each.per_distinct[v];
    if (time > 0) sum += each.layers * std::max(each.floor, time);
  }
  return Seconds(sum);
}

Seconds adapter_host_time(AdapterKernels const& k) {
  double sum = 0;
  for (AdapterKernel const& each : k.kernels) sum += each.layers * each.floor;
  return Seconds(sum);
}

Seconds adapter_split_time(AdapterKernels const& k, int variant, double tokens) {
  double sum = 0;
  auto const v = static_cast<std::size_t>(variant);
  for (AdapterKernel const& each : k.kernels) {
    double const time = tokens * each.per_token[v] + each.per_distinct[v];
    if (time > 0) sum += each.layers * std::max(each.floor, time);
  }
  return Seconds(sum);
}

Seconds merge_time(Profile const& p, Architecture const& a, EngineOptions const& e, AdapterVariant const& v) {
  EngineLayout const layout = engine_layout(e);
  Seconds total;
  for (LayerKind const& kind : layer_kinds(a, 0, a.layers)) {
    for (Matmul const& m : layer_shape(a, kind.example, layout.own).matmuls) {
      if (!is_target(adapter_of(v), m.tensor)) continue;
      total += memory_time(p, bytes(4 * kElement * m.n * m.k)) * kind.count;
    }
  }
  return total;
}

}  // namespace rollcast
