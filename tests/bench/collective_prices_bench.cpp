// Prices of collectives with the built-in calibration: the first question of a group makes its curve, later
// ones read it. Goals: a curve 100 us, a read 200 ns.
#include <benchmark/benchmark.h>

#include "calibrate/measured_collectives.hpp"
#include "models/catalog/catalog.hpp"
#include "models/collective_prices.hpp"

namespace rollcast {
namespace {

ClusterSpec cluster() {
  Catalog const& c = builtin_catalog();
  return {*find_node(c, "hgx-h100"), 16, *find_fabric(c, "ib-400g")};
}

// 0: one node, 1: two nodes, 2: 16 nodes, 3: one rank on each of 16 nodes.
Group group(std::int64_t which) {
  constexpr Group groups[] = {{8, 1, 1}, {16, 2, 1}, {128, 16, 1}, {16, 16, 8}};
  return groups[which];
}

void CollectivePricesFirst(benchmark::State& state) {
  ClusterSpec const c = cluster();
  for (auto _ : state) {
    auto curve =
        collective_curve(measured_collectives().nccl, c, CollectiveKind::all_reduce, group(state.range(0)));
    benchmark::DoNotOptimize(curve);
  }
}
BENCHMARK(CollectivePricesFirst)
    ->Name("CollectivePrices/first")
    ->DenseRange(0, 3)
    ->Unit(benchmark::kMicrosecond);

void CollectivePricesRead(benchmark::State& state) {
  Profile const profile;
  CollectivePrices prices(measured_collectives(), profile, cluster());
  for (std::int64_t which = 0; which < 4; ++which) prices.at(CollectiveKind::all_reduce, group(which), MB(1));
  double size = 1000;
  for (auto _ : state) {
    size = size < 1e9 ? 1.1 * size : 1000;
    benchmark::DoNotOptimize(prices.at(CollectiveKind::all_reduce, group(0), bytes(size)));
  }
}
BENCHMARK(CollectivePricesRead)->Name("CollectivePrices/read");

}  // namespace
}  // namespace rollcast
