// One training step's gradient reduction: replicas (or ranks) with different compute times, ten buckets.
// Goals: 64 replicas of TP8 5 ms, 2,048 150 ms; 16,384 ranks without TP 1 s and 300 MB.
#include <cstdint>
#include <stdexcept>
#include <string>

#include "sim/collectives.hpp"
#include "tests/bench/fork_timer.hpp"

namespace rollcast {
namespace {

constexpr int kBuckets = 10;

ClusterSpec cluster_of(int nodes) {
  ClusterSpec c;
  c.nodes = nodes;
  c.node.gpus = 8;
  c.node.nics = 8;
  c.node.gpu.nvlink = GB_per_s(450);
  c.node.gpu.pcie = GB_per_s(64);
  c.node.nic = Gb_per_s(400);
  c.node.host_memory_bandwidth = GB_per_s(300);
  c.fabric.nic = Gb_per_s(400);
  return c;
}

Profile profile_of_one() {
  Profile p;
  p.nvlink.value = p.network.value = p.pcie.value = 1;
  return p;
}

// Compute time of a member: 1 s to 1.2 s, all different.
Seconds compute_time(int member) {
  return seconds(1 + 0.2 * static_cast<double>(std::uint32_t(member) * 2654435761u) / 4294967296.0);
}

void all_reduce_step(int members, int ranks, std::vector<Crossings> copies, Cluster const& cluster) {
  Engine engine;
  auto const parts = build_platform(engine, cluster, {{"gradients", std::move(copies)}});
  Collectives collectives(engine);
  CommunicatorId const group = collectives.add_communicator({"gradients", members, parts[0]});
  double const n = ranks;
  CollectivePrice const price{us(20), MiB(160) * (2 * (n - 1) / n), Gb_per_s(400)};
  for (int m = 0; m < members; ++m) {
    engine.spawn("member " + std::to_string(m), [&, m] {
      std::vector<Arrival> arrivals;
      for (int b = 0; b < kBuckets; ++b)
        arrivals.push_back({engine.now() + compute_time(m) * ((b + 1.0) / kBuckets), price});
      std::int64_t const first = collectives.post(group, m, arrivals);
      collectives.join(group, first + kBuckets - 1);
    });
  }
  RunResult const r = engine.run();
  if (!r.leftovers.empty() || collectives.records().size() != kBuckets)
    throw std::logic_error("the step did not end");
}

// A replica is a node: its eight ranks have the same times, and one class stands for them. Their eight
// data-parallel groups have the same members and times, each on a rail of its own: copies of one traffic.
void AllReduceTP8(benchmark::State& state) {
  auto const replicas = static_cast<int>(state.range(0));
  time_in_children(state, [replicas] {
    Cluster const cluster = build_cluster(cluster_of(replicas), profile_of_one());
    std::vector<Crossings> copies;
    for (int t = 0; t < 8; ++t) {
      std::vector<int> gpus;
      for (int r = 0; r < replicas; ++r) gpus.push_back(8 * r + t);
      copies.push_back(ring_crossings(cluster, gpus));
    }
    all_reduce_step(replicas, replicas, std::move(copies), cluster);
  });
}
BENCHMARK(AllReduceTP8)
    ->Name("AllReduce/TP8_replicas")
    ->Arg(64)
    ->Arg(2048)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

// Every rank is a class of its own.
void AllReduceRanks(benchmark::State& state) {
  auto const ranks = static_cast<int>(state.range(0));
  time_in_children(state, [ranks] {
    Cluster const cluster = build_cluster(cluster_of(ranks / 8), profile_of_one());
    std::vector<int> gpus;
    for (int r = 0; r < ranks; ++r) gpus.push_back(r);
    all_reduce_step(ranks, ranks, {ring_crossings(cluster, gpus)}, cluster);
  });
}
BENCHMARK(AllReduceRanks)
    ->Name("AllReduce/ranks")
    ->Arg(16384)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace rollcast
