#include "models/prices.hpp"

#include <gtest/gtest.h>

#include "models/switching.hpp"
#include "price_fixtures.hpp"

namespace rollcast {
namespace {

double relative(double value) { return 1e-12 * value; }

TEST(Prices, LargeProductIsBoundByTheMatrixRate) {
  // 2 x 8192^3 = 1.099511627776e12 FLOPs over 0.8 x 989e12; bytes would take 3 x 8192^2 x 2 / 2.68e12 = 0.15
  // ms.
  double const expected = 1.099511627776e12 / (0.8 * 989e12);
  EXPECT_NEAR(gemm_time(round_profile(), 8192, 8192, 8192, DType::bf16).value, expected, relative(expected));
}

TEST(Prices, SkinnyProductIsBoundByMemory) {
  // m = 1: x 4096, W 4096 x 4096, y 4096 elements of 2 bytes over 0.8 x 3.35e12.
  double const expected = (4096.0 + 4096.0 * 4096.0 + 4096.0) * 2 / (0.8 * 3.35e12);
  EXPECT_NEAR(gemm_time(round_profile(), 1, 4096, 4096, DType::bf16).value, expected, relative(expected));
}

TEST(Prices, Fp8HalvesBytesAndWithoutItsUnitsKeepsTheBf16Rate) {
  Profile p = round_profile();
  EXPECT_NEAR(gemm_time(p, 1, 4096, 4096, DType::fp8).value,
              gemm_time(p, 1, 4096, 4096, DType::bf16).value / 2, 1e-15);
  double const flops = 1.099511627776e12;
  EXPECT_NEAR(gemm_time(p, 8192, 8192, 8192, DType::fp8).value, flops / (0.5 * 1979e12), 1e-12);
  p.gpu.fp8 = FlopsPerSecond(0);
  EXPECT_NEAR(gemm_time(p, 8192, 8192, 8192, DType::fp8).value, flops / (0.8 * 989e12), 1e-12);
}

TEST(Prices, TimeNeverFallsWhenAProductGrows) {
  Profile const p = round_profile();
  double const sizes[] = {1, 7, 64, 300, 1024, 5000, 16384};
  for (double const m : sizes) {
    for (double const n : sizes) {
      for (double const k : sizes) {
        for (DType const d : {DType::bf16, DType::fp8, DType::fp32}) {
          Seconds const t = gemm_time(p, m, n, k, d);
          EXPECT_LE(t, gemm_time(p, m + 1, n, k, d));
          EXPECT_LE(t, gemm_time(p, m, 2 * n, k, d));
          EXPECT_LE(t, gemm_time(p, m, n, k + 3, d));
          EXPECT_LE(gemm_time(p, m, n / 2, k, d), t);  // cut by tp
        }
      }
    }
  }
}

TEST(Prices, PassesAndCopies) {
  // 1 GB over 0.5 x 3.35 TB/s; over 0.8 x 64 GB/s.
  EXPECT_NEAR(memory_time(round_profile(), GB(1)).value, 1e9 / 1.675e12, 1e-15);
  EXPECT_NEAR(copy_time(round_profile(), GB(1), Direction::host_to_device).value, 1.0 / 51.2, 1e-12);
}

// 1 GB of each of 8 GPUs. Two share a switch: 2 GB over 0.8 x 64 GB/s. A switch of 100 still has only 8. Four
// share a NUMA node: at 50 GB/s its memory takes 4 GB in 80 ms, longer than the switch.
TEST(Prices, StreamsReachNineTenthsOfTheBandwidth) {
  EXPECT_NEAR(stream_time(round_profile(), bytes(0.9 * 3.35e12)).value, 1, 1e-12);
}

TEST(Prices, WithoutATableScalesPerBlockCostWhatScalesPerTensorDo) {
  Profile const p = round_profile();
  EXPECT_DOUBLE_EQ(gemm_time_of_kind(p, 4096, 4096, 4096, GemmKind::fp8_block, 0.9).value,
                   gemm_time(p, 4096, 4096, 4096, DType::fp8, 0.9).value);
}

TEST(Prices, CopiesToTheHostShareSwitchAndMemory) {
  Node node = h100_cluster(1).node;
  auto const time = [&] {
    return shared_copy_time(round_profile(), node, {Direction::device_to_host, GB(1), ""}).value;
  };
  node.gpus_per_pcie_switch = 2;
  EXPECT_NEAR(time(), 2 / 51.2, 1e-12);
  node.host_memory_bandwidth = GB_per_s(50);
  EXPECT_NEAR(time(), 4 / 50.0, 1e-12);
  node.host_memory_bandwidth = GB_per_s(300);
  node.gpus_per_pcie_switch = 100;
  EXPECT_NEAR(time(), 8 / 51.2, 1e-12);
}

TEST(Collectives, AllReduceInANode) {
  // 2 x 7/8 x 1 GB over 0.75 x 450 GB/s; alpha of 8 GPUs is the profile's own.
  auto const price =
      collective_price(round_profile(), h100_cluster(1), CollectiveKind::all_reduce, {8, 1, 1}, GB(1));
  EXPECT_NEAR(price.bytes_per_link.value, 1.75e9, 1);
  EXPECT_NEAR(price.bandwidth.value, 337.5e9, 1);
  EXPECT_NEAR(price.alpha.value, 15e-6, 1e-15);
  EXPECT_NEAR(price.total().value, 15e-6 + 1.75 / 337.5, 1e-12);
}

TEST(Collectives, AlphaFollowsTheSteps) {
  auto const alpha = [](CollectiveKind kind, Group g) {
    return collective_price(round_profile(), h100_cluster(8), kind, g, MB(1)).alpha.value * 1e6;
  };
  // 6.6 + 0.6 x 14 = 15.0, so 15 us scale by 1. All-reduce of 2: 6.6 + 1.2; all-gather of 8: 6.6 + 4.2.
  EXPECT_NEAR(alpha(CollectiveKind::all_reduce, {2, 1, 1}), 7.8, 1e-9);
  EXPECT_NEAR(alpha(CollectiveKind::all_gather, {8, 1, 1}), 10.8, 1e-9);
  // Two doublings from 1 to 4 nodes, the second begun by the third node.
  EXPECT_NEAR(alpha(CollectiveKind::all_reduce, {32, 4, 1}), 15 + 20, 1e-9);
  EXPECT_NEAR(alpha(CollectiveKind::all_reduce, {24, 3, 1}), 15 + 20, 1e-9);
  EXPECT_NEAR(alpha(CollectiveKind::all_reduce, {2, 2, 8}), 6.6 + 10, 1e-9);
}

// The 10 us of the profile hold at 2.7 us a message; a fabric of 58 us adds 55.3 us for each of the two
// messages of an all-reduce, one for the others, per doubling of nodes.
TEST(Collectives, SlowFabricsDelayEveryMessage) {
  ClusterSpec c = h100_cluster(4);
  auto const alpha = [&](CollectiveKind kind, Group g) {
    return collective_price(round_profile(), c, kind, g, MB(1)).alpha.value * 1e6;
  };
  c.fabric.latency = us(58);
  EXPECT_NEAR(alpha(CollectiveKind::all_reduce, {16, 2, 1}), 15 + 10 + 2 * 55.3, 1e-9);
  EXPECT_NEAR(alpha(CollectiveKind::all_reduce, {32, 4, 1}), 15 + 2 * (10 + 2 * 55.3), 1e-9);
  EXPECT_NEAR(alpha(CollectiveKind::send_recv, {2, 2, 8}), 6.6 + 10 + 55.3, 1e-9);
  EXPECT_NEAR(alpha(CollectiveKind::all_reduce, {8, 1, 1}), 15, 1e-9);  // inside a node
  c.fabric.latency = us(1);
  EXPECT_NEAR(alpha(CollectiveKind::all_reduce, {16, 2, 1}), 15 + 10 - 2 * 1.7, 1e-9);
  Profile slow = round_profile();
  slow.fabric_latency.value = 50e-6;  // never less than nothing
  EXPECT_NEAR(collective_price(slow, c, CollectiveKind::all_reduce, {16, 2, 1}, MB(1)).alpha.value * 1e6, 15,
              1e-9);
}

TEST(Collectives, RingOverNodesMovesAtItsSlowestLink) {
  // 8 NICs x 50 GB/s x 0.9 = 360 GB/s against NVLink's 337.5.
  auto price =
      collective_price(round_profile(), h100_cluster(2), CollectiveKind::all_gather, {16, 2, 1}, GB(16));
  EXPECT_NEAR(price.bytes_per_link.value, 15e9, 1);
  EXPECT_NEAR(price.bandwidth.value, 337.5e9, 1);
  // Eight groups of one rank per node share the NICs: 45 GB/s each. So does one group alone: it reaches one
  // NIC.
  price = collective_price(round_profile(), h100_cluster(2), CollectiveKind::all_reduce, {2, 2, 8}, GB(1));
  EXPECT_NEAR(price.bytes_per_link.value, 1e9, 1);
  EXPECT_NEAR(price.bandwidth.value, 45e9, 1);
  price = collective_price(round_profile(), h100_cluster(2), CollectiveKind::all_reduce, {2, 2, 1}, GB(1));
  EXPECT_NEAR(price.bandwidth.value, 45e9, 1);
}

TEST(Collectives, OversubscriptionBeginsBeyondALeaf) {
  ClusterSpec c = h100_cluster(64);
  c.fabric.nodes_per_leaf = 32;
  c.fabric.oversubscription = 2;
  auto const bandwidth = [&](int nodes) {
    return collective_price(round_profile(), c, CollectiveKind::all_reduce, {nodes, nodes, 8}, GB(1))
        .bandwidth.value;
  };
  EXPECT_NEAR(bandwidth(32), 45e9, 1);
  EXPECT_NEAR(bandwidth(33), 22.5e9, 1);
}

TEST(Collectives, AllToAllTellsItsSlowerPart) {
  // 16 ranks, 2 nodes, 1 GB each: inside 7/16 GB over 337.5 GB/s = 1.30 ms; out of a node 8 x 8/16 = 4 GB
  // over 360 GB/s = 11.1 ms.
  auto const price =
      collective_price(round_profile(), h100_cluster(2), CollectiveKind::all_to_all, {16, 2, 1}, GB(1));
  EXPECT_NEAR(price.bytes_per_link.value, 4e9, 1);
  EXPECT_NEAR(price.bandwidth.value, 360e9, 1);
}

TEST(Collectives, WithoutNvlinkThroughPcie) {
  ClusterSpec c = h100_cluster(1);
  c.node.interconnect = Interconnect::pcie;
  auto const bandwidth = [&](int ranks) {
    return collective_price(round_profile(), c, CollectiveKind::all_reduce, {ranks, 1, 1}, GB(1))
        .bandwidth.value;
  };
  EXPECT_NEAR(bandwidth(2), 51.2e9, 1);
  c.node.interconnect = Interconnect::nvlink_pairs;
  EXPECT_NEAR(bandwidth(2), 337.5e9, 1);
  EXPECT_NEAR(bandwidth(4), 51.2e9, 1);
}

TEST(Collectives, OneRankCostsNothingAndMissingNicsAreABrokenInvariant) {
  ClusterSpec c = h100_cluster(2);
  EXPECT_LE(collective_price(round_profile(), c, CollectiveKind::all_reduce, {1, 1, 1}, GB(1)).total(),
            Seconds(0));
  c.node.nics = 0;
  EXPECT_THROW(collective_price(round_profile(), c, CollectiveKind::all_reduce, {16, 2, 1}, GB(1)),
               std::logic_error);
}

TEST(Collectives, MonotoneInBytes) {
  for (CollectiveKind const kind :
       {CollectiveKind::all_reduce, CollectiveKind::all_gather, CollectiveKind::reduce_scatter,
        CollectiveKind::broadcast, CollectiveKind::all_to_all, CollectiveKind::send_recv}) {
    EXPECT_FALSE(name_of(kind).empty());
    for (Group const g : {Group{2, 1, 1}, Group{8, 1, 1}, Group{16, 2, 1}, Group{4, 4, 8}}) {
      Seconds last(0);
      for (double bytes_moved = 8; bytes_moved < 1e11; bytes_moved *= 3) {
        Seconds const t =
            collective_price(round_profile(), h100_cluster(4), kind, g, bytes(bytes_moved)).total();
        EXPECT_GT(t, last);
        last = t;
      }
    }
  }
}

TEST(Collectives, PlacedGroups) {
  ClusterSpec const c = h100_cluster(4);  // 8 GPUs a node
  struct Case {
    int ranks, stride, nodes, sharing;
  };
  for (Case const& k : {Case{8, 1, 1, 1},   // tp 8 fills a node
                        Case{16, 1, 2, 1},  // two whole nodes, alone on them
                        Case{4, 8, 4, 8},   // one rank a node: eight such groups
                        Case{8, 2, 2, 2},   // ranks 0, 2, 4, 6 and the same of the next node
                        Case{2, 4, 1, 1},   // both in one node
                        Case{2, 16, 2, 8}}) {
    Group const g = placed_group(c, k.ranks, k.stride);
    EXPECT_EQ(g.ranks, k.ranks);
    EXPECT_EQ(g.nodes, k.nodes) << k.ranks << " by " << k.stride;
    EXPECT_EQ(g.sharing, k.sharing) << k.ranks << " by " << k.stride;
  }
}

}  // namespace
}  // namespace rollcast
