#include "models/engine_adapter.hpp"

#include <algorithm>

#include "models/engine_layout.hpp"
#include "models/layer_prices.hpp"

namespace rollcast {
namespace {

constexpr double kElement = 2;
constexpr double kShrunk = 4;  // between the two kernels, fp32

Seconds kernel_time(Profile const& p, double moved) {
  return max(kAdapterKernel, memory_time(p, bytes(moved)));
}

}  // namespace

Seconds adapter_time(Profile const& p, Architecture const& a, EngineOptions const& e, Adapter const& adapter,
                     double tokens) {
  EngineLayout const layout = engine_layout(e);
  double const rank = adapter.rank;
  Seconds total;
  for (LayerKind const& kind : layer_kinds(a, 0, a.layers)) {
    for (Matmul const& m : layer_shape(a, kind.example, layout.own).matmuls) {
      if (!is_target(adapter, m.tensor)) continue;
      double const rows = std::max(1.0, tokens / layout.groups) * m.rows_per_token;
      double const matrices = matrices_read(m, tokens / layout.groups);
      double const shrink = kElement * (rows * m.k + matrices * rank * m.k) + kShrunk * rows * rank;
      double const expand = kShrunk * rows * rank + kElement * (matrices * rank * m.n + 2 * rows * m.n);
      total += (kernel_time(p, shrink) + kernel_time(p, expand)) * kind.count;
    }
  }
  return total;
}

StepPrices with_adapter(StepPrices prices, Profile const& p, Architecture const& a, EngineOptions const& e,
                        Adapter const& adapter) {
  for (std::size_t i = 0; i < prices.dense.x.size(); ++i)
    prices.dense.y[i] += adapter_time(p, a, e, adapter, prices.dense.x[i]).value;
  return prices;
}

}  // namespace rollcast
