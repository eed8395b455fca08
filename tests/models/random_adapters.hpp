// Random plans of adapters for property tests.
#pragma once

#include <utility>

#include "models/adapter_plan.hpp"
#include "tests/models/random_rollouts.hpp"

namespace rollcast {

inline AdapterPlan random_plan(Draw& d) {
  AdapterPlan p;
  ServedAdapters& o = p.options;
  o.count = d.whole(1, 8);
  o.variants.resize(static_cast<std::size_t>(d.whole(1, 3)));
  o.execution = static_cast<AdapterExecution>(d.whole(0, 4));
  o.pool = static_cast<AdapterPool>(d.whole(0, 1));
  o.eviction = static_cast<AdapterEviction>(d.whole(0, 1));
  o.loading = static_cast<AdapterLoading>(d.whole(0, 1));
  o.prefetch = d.often(0.5) ? 0 : d.whole(1, 5);
  o.batch_limit = d.often(0.5) ? 0 : d.whole(1, 4);
  p.order = static_cast<ServeOrder>(d.whole(0, 2));
  if (d.often(0.4)) p.patience = seconds(60 * d.real() * d.real());
  p.slots = d.whole(1, o.count);
  for (std::size_t v = 0; v < o.variants.size(); ++v) {
    p.merge.push_back(seconds(5 * d.real()));
    p.pages.push_back(d.whole(1, 5));
  }
  for (int n = d.whole(0, 3); n > 0; --n) {
    AdapterKernel k;
    k.layers = d.whole(1, 3);
    for (std::size_t v = 0; v < o.variants.size(); ++v) {
      double const rows = d.often(0.2) ? 0 : 0.01 * d.real();
      k.of_variant.push_back({rows, 0.1 * d.real(), 0.001 * d.real()});
    }
    p.kernels.plain.push_back(k);
    p.kernels.kernels.push_back(std::move(k));
  }
  p.kernels.launches = seconds(0.5 * d.real());
  return p;
}

}  // namespace rollcast
