#include "models/nccl.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "models/catalog/catalog.hpp"
#include "models/nccl_prices.hpp"

namespace rollcast {
namespace {

ClusterSpec cluster(std::string_view node, std::string_view fabric, int nodes) {
  return {*find_node(builtin_catalog(), node), nodes, *find_fabric(builtin_catalog(), fabric)};
}

NcclChoice choice(NcclTopology const& t, CollectiveKind kind, NcclAlgorithm a, NcclProtocol p) {
  for (NcclChoice const& c : nccl_choices(t, kind)) {
    if (c.algorithm == a && c.protocol == p) return c;
  }
  ADD_FAILURE() << "no " << name_of(a) << " " << name_of(p);
  return {};
}

TEST(Nccl, TreeLatencyOfOneAndTwoH100Nodes) {
  // 6.8 + 2 x 7 x 0.6 = 15.2; + 2 x log2(2) x 5 = 25.2 us. Measured on H100: 15.5 and 25.0.
  auto const one = nccl_topology(cluster("hgx-h100", "ib-400g", 1), {8, 1, 1});
  auto const two = nccl_topology(cluster("hgx-h100", "ib-400g", 2), {16, 2, 1});
  EXPECT_NEAR(
      choice(one, CollectiveKind::all_reduce, NcclAlgorithm::tree, NcclProtocol::ll).latency.value * 1e6,
      15.2, 1e-9);
  EXPECT_NEAR(
      choice(two, CollectiveKind::all_reduce, NcclAlgorithm::tree, NcclProtocol::ll).latency.value * 1e6,
      25.2, 1e-9);
  // The least at 8 bytes: on two nodes that tree.
  EXPECT_EQ(nccl_best(nccl_choices(two, CollectiveKind::all_reduce), bytes(8)).algorithm,
            NcclAlgorithm::tree);
}

TEST(Nccl, RingOfOneNode) {
  // H100: speed 0.8 x 450 = 360 GB/s, 16 channels. All-reduce of 8: steps 14.
  auto const t = nccl_topology(cluster("hgx-h100", "ib-400g", 1), {8, 1, 1});
  EXPECT_EQ(t.channels, 16);
  auto const simple = choice(t, CollectiveKind::all_reduce, NcclAlgorithm::ring, NcclProtocol::simple);
  EXPECT_NEAR(simple.latency.value * 1e6, 8.4 + 14 * 3.4, 1e-9);
  EXPECT_NEAR(simple.rate.value * 1e-9, 360.0 * 8 / 14, 1e-9);
  // LL: min(141, 180) = 141.
  auto const ll = choice(t, CollectiveKind::all_reduce, NcclAlgorithm::ring, NcclProtocol::ll);
  EXPECT_NEAR(ll.rate.value * 1e-9, 141.0 * 8 / 14, 1e-9);
  // LL128: min(0.92 x 360, 16 x 36.7 = 587) = 331.2.
  auto const ll128 = choice(t, CollectiveKind::all_gather, NcclAlgorithm::ring, NcclProtocol::ll128);
  EXPECT_NEAR(ll128.rate.value * 1e-9, 331.2 * 8 / 7, 1e-9);
  EXPECT_NEAR(ll128.latency.value * 1e6, 14 + 7 * 1.9, 1e-9);
}

TEST(Nccl, NvlsOnHopperOnly) {
  // 360 x 0.85 x 15 / 16 = 286.875 GB/s; all-reduce: twice that x 8 / 14 of the buffer, all-gather as it is.
  auto const t = nccl_topology(cluster("hgx-h100", "ib-400g", 1), {8, 1, 1});
  auto const nvls = choice(t, CollectiveKind::all_reduce, NcclAlgorithm::nvls, NcclProtocol::simple);
  EXPECT_NEAR(nvls.rate.value * 1e-9, 286.875 * 8 / 7, 1e-9);
  EXPECT_NEAR(nvls.latency.value * 1e6, 25, 1e-9);
  auto const gather = choice(t, CollectiveKind::all_gather, NcclAlgorithm::nvls, NcclProtocol::simple);
  EXPECT_NEAR(gather.rate.value * 1e-9, 286.875, 1e-9);
  auto const a100 = nccl_topology(cluster("hgx-a100", "ib-200g", 1), {8, 1, 1});
  EXPECT_EQ(a100.channels, 24);
  for (NcclChoice const& c : nccl_choices(a100, CollectiveKind::all_reduce))
    EXPECT_NE(c.algorithm, NcclAlgorithm::nvls);
}

TEST(Nccl, NvlsTreeCountsTheNetworkTwiceOnTwoNodes) {
  // 8 x 25 GB/s = 200: on two nodes min(2 x 286.875, 2 x 200, 16 x 57.7) x 16 / 30, on four min(2 x 286.875,
  // 200, 16 x 45.5) x 32 / 62.
  auto const rate = [](int nodes) {
    auto const t = nccl_topology(cluster("gcp-a3-mega", "tcpxo", nodes), {8 * nodes, nodes, 1});
    return choice(t, CollectiveKind::all_reduce, NcclAlgorithm::nvls_tree, NcclProtocol::simple);
  };
  EXPECT_NEAR(rate(2).rate.value * 1e-9, 400.0 * 16 / 30, 1e-9);
  EXPECT_NEAR(rate(4).rate.value * 1e-9, 200.0 * 32 / 62, 1e-9);
  EXPECT_NEAR(rate(2).latency.value * 1e6, 25 + 2 * 20.9, 1e-9);
  EXPECT_NEAR(rate(4).latency.value * 1e6, 25 + 4 * 20.9, 1e-9);
}

TEST(Nccl, RingOfTwoNodes) {
  // 15 steps, one of them over the network: LL 6.6 + 14 x 1 (the floor of a step, above 0.6) + 2.7; min(45,
  // 360 / 2) x 16 / 15. Simple, all-reduce, 30 steps, two over the network: 8.4 + 28 x 3.4 + 2 x 14.
  auto const t = nccl_topology(cluster("hgx-h100", "ib-400g", 2), {16, 2, 1});
  auto const ll = choice(t, CollectiveKind::all_gather, NcclAlgorithm::ring, NcclProtocol::ll);
  EXPECT_NEAR(ll.latency.value * 1e6, 23.3, 1e-9);
  EXPECT_NEAR(ll.rate.value * 1e-9, 48, 1e-9);
  auto const simple = choice(t, CollectiveKind::all_reduce, NcclAlgorithm::ring, NcclProtocol::simple);
  EXPECT_NEAR(simple.latency.value * 1e6, 131.6, 1e-9);
}

TEST(Nccl, TreeBandwidths) {
  // One node of 8 H100: min(0.92 x 360, 16 x 38.7) = 331.2; LL min(331.2 / 3.8, 141), LL128 7/9 of it;
  // halves.
  auto const one = nccl_topology(cluster("hgx-h100", "ib-400g", 1), {8, 1, 1});
  auto const rate = [](NcclTopology const& t, NcclProtocol p) {
    return choice(t, CollectiveKind::all_reduce, NcclAlgorithm::tree, p).rate.value * 1e-9;
  };
  EXPECT_NEAR(rate(one, NcclProtocol::simple), 165.6, 1e-9);
  EXPECT_NEAR(rate(one, NcclProtocol::ll), 331.2 / 3.8 / 2, 1e-9);
  EXPECT_NEAR(rate(one, NcclProtocol::ll128), 331.2 * 7 / 9 / 2, 1e-9);
  // Four nodes: LL capped at 35; LL128 min(331.2 x 120 / 128, 16 x 29).
  auto const four = nccl_topology(cluster("hgx-h100", "ib-400g", 4), {32, 4, 1});
  EXPECT_NEAR(rate(four, NcclProtocol::ll), 17.5, 1e-9);
  EXPECT_NEAR(rate(four, NcclProtocol::ll128), 331.2 * 120 / 128 / 2, 1e-9);
  // One rank per node: 0.85 of min(0.92 x 50, ...).
  auto const bare = nccl_topology(cluster("hgx-h100", "ib-400g", 4), {4, 4, 8});
  EXPECT_NEAR(rate(bare, NcclProtocol::simple), 0.92 * 50 * 0.85 / 2, 1e-9);
}

TEST(Nccl, OtherGenerations) {
  // B200: 0.8 x 900 = 720 GB/s, 16 channels; LL min(282, 360), NVLS 720 x 0.74 x 15 / 16.
  auto const b200 = nccl_topology(cluster("hgx-b200", "ib-400g", 1), {8, 1, 1});
  EXPECT_NEAR(
      choice(b200, CollectiveKind::all_gather, NcclAlgorithm::ring, NcclProtocol::ll).rate.value * 1e-9,
      282.0 * 8 / 7, 1e-9);
  EXPECT_NEAR(
      choice(b200, CollectiveKind::all_gather, NcclAlgorithm::nvls, NcclProtocol::simple).rate.value * 1e-9,
      499.5, 1e-9);
  // A100 on two nodes: LL capped at 22.5; no NVLSTree. V100 on one: LL at 39.
  auto const a100 = nccl_topology(cluster("hgx-a100", "ib-200g", 2), {16, 2, 1});
  EXPECT_NEAR(
      choice(a100, CollectiveKind::all_gather, NcclAlgorithm::ring, NcclProtocol::ll).rate.value * 1e-9,
      22.5 * 16 / 15, 1e-9);
  for (NcclChoice const& c : nccl_choices(a100, CollectiveKind::all_reduce))
    EXPECT_NE(c.algorithm, NcclAlgorithm::nvls_tree);
  auto const v100 = nccl_topology(cluster("dgx-v100", "ib-100g", 1), {8, 1, 1});
  EXPECT_NEAR(
      choice(v100, CollectiveKind::all_gather, NcclAlgorithm::ring, NcclProtocol::ll).rate.value * 1e-9,
      39.0 * 8 / 7, 1e-9);
}

TEST(Nccl, PatWithOneRankPerNode) {
  // Four nodes, one rank and one NIC (50 GB/s) each: 8 + 2 x 14 / 3.5 + 2.8 x 4 = 27.2 us, 0.75 x 50 x 4 / 3.
  auto const t = nccl_topology(cluster("hgx-h100", "ib-400g", 4), {4, 4, 8});
  auto const pat = choice(t, CollectiveKind::all_gather, NcclAlgorithm::pat, NcclProtocol::simple);
  EXPECT_NEAR(pat.latency.value * 1e6, 27.2, 1e-9);
  EXPECT_NEAR(pat.rate.value * 1e-9, 50, 1e-9);
}

TEST(Nccl, PcieHasNoLl128) {
  auto const t = nccl_topology(cluster("pcie-l40s", "roce-400g", 1), {4, 1, 1});
  EXPECT_FALSE(t.nvlink);
  EXPECT_NEAR(t.intra.value * 1e-9, 24, 1e-9);  // one socket: 0.75 x 32
  for (NcclChoice const& c : nccl_choices(t, CollectiveKind::all_gather))
    EXPECT_NE(c.protocol, NcclProtocol::ll128);
}

TEST(Nccl, AllToAllIsTheSlowerOfNvlinkAndNics) {
  // 16 ranks on two nodes: 7/16 over 360 GB/s, 8 x 8/16 over 400 GB/s: the network, 100 GB/s of the buffer.
  auto const t = nccl_topology(cluster("hgx-h100", "ib-400g", 2), {16, 2, 1});
  auto const c = nccl_best(nccl_choices(t, CollectiveKind::all_to_all), GB(1));
  EXPECT_NEAR(c.rate.value * 1e-9, 100, 1e-9);
  EXPECT_NEAR(link_volume(t, CollectiveKind::all_to_all), 4, 1e-12);
}

NcclCalibration two_series() {
  NcclCalibration c;
  c.corrections.push_back(
      {"h100-sxm", "", CollectiveKind::all_gather, 2, 1, GB_per_s(360), {{10, 0.1}, {20, 0.3}}, "table one"});
  c.corrections.push_back(
      {"h100-sxm", "", CollectiveKind::all_gather, 8, 1, GB_per_s(360), {{11, 0.3}, {21, 0.5}}, "table two"});
  c.corrections.push_back({"h100-sxm",
                           "ib-400g",
                           CollectiveKind::all_reduce,
                           16,
                           2,
                           GB_per_s(400),
                           {{3, 0.0}, {25, 0.4}, {33, 0.1}},
                           "table three"});
  return c;
}

TEST(NcclPrices, CorrectionsMeetBetweenRankCounts) {
  // 4 ranks, 2^15.5 B: sqrt(2) more than 2 ranks' 2^15 (0.2), sqrt(2) less than 8 ranks' 2^16 (0.4): 0.3.
  ClusterSpec const c = cluster("hgx-h100", "ib-400g", 1);
  Bytes const b(std::exp2(15.5));
  double const own =
      nccl_best(nccl_choices(nccl_topology(c, {4, 1, 1}), CollectiveKind::all_gather), b).time(b).value;
  auto const p = nccl_price(two_series(), c, CollectiveKind::all_gather, {4, 1, 1}, b);
  EXPECT_NEAR(p.total().value / own, std::exp(0.3), 1e-6);
  // 8 ranks at their own knot 2^11.
  double const own8 =
      nccl_best(nccl_choices(nccl_topology(c, {8, 1, 1}), CollectiveKind::all_gather), bytes(2048))
          .time(bytes(2048))
          .value;
  auto const p8 = nccl_price(two_series(), c, CollectiveKind::all_gather, {8, 1, 1}, bytes(2048));
  EXPECT_NEAR(p8.total().value / own8, std::exp(0.3), 1e-6);
}

TEST(NcclPrices, EvidenceSaysWhatStandsIn) {
  auto const cal = two_series();
  auto const evidence = [&](std::string_view node, std::string_view fabric, CollectiveKind kind, Group g) {
    return collective_curve(cal, cluster(node, fabric, g.nodes), kind, g).evidence;
  };
  using enum CollectiveKind;
  EXPECT_EQ(evidence("hgx-h100", "ib-400g", all_gather, {8, 1, 1}), Evidence::measured);
  EXPECT_EQ(evidence("hgx-h100", "ib-400g", all_gather, {4, 1, 1}), Evidence::derived);
  EXPECT_EQ(evidence("hgx-h200", "ib-400g", all_gather, {8, 1, 1}), Evidence::derived);
  EXPECT_EQ(evidence("hgx-h100", "ib-400g", broadcast, {8, 1, 1}), Evidence::unmeasured);
  EXPECT_EQ(evidence("hgx-h100", "ib-400g", all_reduce, {16, 2, 1}), Evidence::measured);
  EXPECT_EQ(evidence("hgx-h100", "ib-400g", all_reduce, {32, 4, 1}), Evidence::unmeasured);
  EXPECT_EQ(evidence("hgx-h100", "roce-400g", all_reduce, {16, 2, 1}), Evidence::derived);
  EXPECT_EQ(evidence("gcp-a3-mega", "tcpxo", all_reduce, {16, 2, 1}), Evidence::unmeasured);
  EXPECT_EQ(evidence("pcie-l40s", "roce-400g", all_gather, {8, 1, 1}), Evidence::unmeasured);
}

TEST(NcclPrices, SeveralNodeCounts) {
  // All-reduces of two and of four nodes measured at e^0.1 and e^0.5 of NCCL's own price.
  using enum CollectiveKind;
  NcclCalibration cal;
  for (auto const& [nodes, ratio] : {std::pair{2, 0.1}, {4, 0.5}})
    cal.corrections.push_back({"h100-sxm",
                               "ib-400g",
                               all_reduce,
                               8 * nodes,
                               nodes,
                               GB_per_s(400),
                               {{20, ratio}},
                               "of " + std::to_string(nodes)});
  auto const curve = [&](int nodes) {
    return collective_curve(cal, cluster("hgx-h100", "ib-400g", nodes), all_reduce, {8 * nodes, nodes, 1});
  };
  auto const log_ratio = [&](int nodes) {
    ClusterSpec const c = cluster("hgx-h100", "ib-400g", nodes);
    auto const choices = nccl_choices(nccl_topology(c, {8 * nodes, nodes, 1}), all_reduce);
    return std::log(price(curve(nodes), bytes(1048576)).total() /
                    nccl_best(choices, bytes(1048576)).time(bytes(1048576)));
  };
  EXPECT_NEAR(log_ratio(2), 0.1, 1e-9);
  EXPECT_NEAR(log_ratio(3), 0.1, 1e-9);
  EXPECT_NEAR(log_ratio(4), 0.5, 1e-9);
  EXPECT_NEAR(log_ratio(8), 0.5, 1e-9);
  EXPECT_EQ(curve(4).evidence, Evidence::measured);
  EXPECT_EQ(curve(3).evidence, Evidence::derived);
  EXPECT_EQ(curve(8).evidence, Evidence::unmeasured);
  EXPECT_EQ(curve(8).source, "of 4");
}

TEST(NcclPrices, PcieNodesTakeTheirOwnSeriesOnly) {
  using enum CollectiveKind;
  auto cal = two_series();
  ClusterSpec const c = cluster("pcie-l40s", "roce-400g", 1);
  Bytes const b = MB(1);
  double const own = nccl_price({}, c, all_gather, {4, 1, 1}, b).total().value;
  EXPECT_DOUBLE_EQ(nccl_price(cal, c, all_gather, {4, 1, 1}, b).total().value, own);
  cal.corrections.push_back({"l40s", "", all_gather, 4, 1, GB_per_s(24), {{20, 0.7}}, "a log"});
  EXPECT_NEAR(nccl_price(cal, c, all_gather, {4, 1, 1}, b).total().value, own * std::exp(0.7), 1e-9 * own);
  EXPECT_EQ(collective_curve(cal, c, all_gather, {4, 1, 1}).evidence, Evidence::measured);
}

TEST(NcclPrices, TimeNeverFallsWithBytesOrNodes) {
  using enum CollectiveKind;
  for (NcclCalibration const& cal : {NcclCalibration{}, two_series()}) {
    for (auto const& [node, fabric] : {std::pair{"hgx-h100", "ib-400g"},
                                       {"hgx-a100", "roce-200g"},
                                       {"gcp-a3-mega", "tcpxo"},
                                       {"pcie-l40s", "roce-400g"},
                                       {"gb200-nvl72", "ib-400g"},
                                       {"hgx-h800", "ib-400g"}}) {
      for (CollectiveKind const kind : {all_reduce, all_gather, reduce_scatter, broadcast, all_to_all}) {
        for (int const local : {1, 2, 4}) {
          std::vector<double> fewer;
          for (int const nodes : {1, 2, 3, 4, 6, 8, 16, 33, 64}) {
            if (local * nodes < 2) continue;
            ClusterSpec c = cluster(node, fabric, nodes);
            auto const curve = collective_curve(cal, c, kind, {local * nodes, nodes, 1});
            std::vector<double> times;
            for (double b = 1; b < 1e12; b *= 1.7) {
              CollectivePrice const p = price(curve, bytes(b));
              ASSERT_GT(p.bandwidth.value, 0);
              ASSERT_GE(p.alpha.value, 0);
              if (!times.empty()) {
                ASSERT_GE(p.total().value, times.back() * (1 - 1e-12)) << node << ' ' << b;
              }
              times.push_back(p.total().value);
            }
            for (std::size_t i = 0; i < fewer.size(); ++i)
              ASSERT_GE(times[i], fewer[i] * (1 - 1e-12))
                  << node << ' ' << name_of(kind) << ' ' << local << 'x' << nodes;
            fewer = times;
          }
        }
      }
    }
  }
}

TEST(NcclPrices, GroupOfOneIsFree) {
  auto const p =
      nccl_price({}, cluster("hgx-h100", "ib-400g", 1), CollectiveKind::all_reduce, {1, 1, 1}, GB(1));
  EXPECT_LE(p.total().value, 0);
}

TEST(NcclPrices, BytesPerLinkIsTheRingVolume) {
  // So that a simulated flow on the same links compares: 2 x 7 / 8 of the buffer.
  auto const p = nccl_price(two_series(), cluster("hgx-h100", "ib-400g", 1), CollectiveKind::all_reduce,
                            {8, 1, 1}, GB(1));
  EXPECT_NEAR(p.bytes_per_link.value, 1.75e9, 1);
}

TEST(NcclText, RoundTrip) {
  std::string const text = to_text(two_series());
  EXPECT_EQ(text.substr(0, text.find('\n')),
            "nccl h100-sxm node all_gather 2 1 360 10:0.100 20:0.300 # table one");
  auto const read = nccl_calibration_from_text("# other\n" + text);
  ASSERT_TRUE(read.value) << read.error;
  EXPECT_EQ(to_text(*read.value), text);
  EXPECT_EQ(read.value->corrections.at(2).fabric, "ib-400g");
}

TEST(NcclText, SaysWhatIsWrong) {
  auto const error = [](std::string const& line) { return nccl_calibration_from_text(line).error; };
  EXPECT_EQ(error("nccl h100-sxm node gather 2 1 360 1:1"), "line 1: 'gather' is no collective");
  EXPECT_EQ(error("\nnccl h100-sxm node all_gather 2 2 360 1:1"),
            "line 2: one node has the fabric 'node', several have another");
  EXPECT_EQ(error("nccl h100-sxm node all_gather 2 1 360 2:1 1:1"), "line 1: octaves ascend");
  EXPECT_EQ(error("nccl h100-sxm node all_gather 2 1 360 1-1"),
            "line 1: '1-1' is no knot; write OCTAVE:LOG_RATIO");
  EXPECT_EQ(error("nccl h100-sxm node all_gather 2 1 0 1:1"), "line 1: GB/s is a number above 0");
  EXPECT_EQ(error("nccl h100-sxm"),
            "line 1: a correction has GPU, fabric, collective, ranks, nodes, GB/s and knots");
}

}  // namespace
}  // namespace rollcast
