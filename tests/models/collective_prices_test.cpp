#include "models/collective_prices.hpp"

#include <gtest/gtest.h>

#include "models/catalog/catalog.hpp"

namespace rollcast {
namespace {

using enum CollectiveKind;

ClusterSpec cluster(std::string_view node, std::string_view fabric, int nodes) {
  return {*find_node(builtin_catalog(), node), nodes, *find_fabric(builtin_catalog(), fabric)};
}

Profile profile() {
  Profile p;
  p.gpu = *find_gpu(builtin_catalog(), "h100-sxm");
  p.nvlink.value = 0.72;
  p.network.value = 0.92;
  p.pcie.value = 0.8;
  p.engine_all_reduce_alpha.value = 5e-6;
  p.collective_alpha_node.value = 15e-6;
  p.collective_alpha_network.value = 10e-6;
  return p;
}

// All-reduces of 8 H100 at twice NCCL's own price, vLLM's of 8 at 10 us in a graph and 40 without, DeepEP's
// low-latency dispatch on two nodes at 20 us and the whole link.
CollectiveCalibration calibration() {
  CollectiveCalibration c;
  c.nccl.corrections.push_back(
      {"h100-sxm", "", all_reduce, 8, 1, GB_per_s(360), {{3, 0.6931471805599453}}, "nccl table"});
  c.custom.series.push_back({"h100-sxm", "vllm_graph", 8, GB_per_s(450), {{10, 10}, {12, 10}}, "graphs"});
  c.custom.series.push_back({"h100-sxm", "vllm_eager", 8, GB_per_s(450), {{10, 40}, {12, 40}}, "launches"});
  c.exchange.fits.push_back(
      {"h100-sxm", ExchangeMode::low_latency, ExchangeDirection::dispatch, true, us(20), 1, "exchange"});
  return c;
}

double micros(CollectivePrice const& p) { return p.total().value * 1e6; }

TEST(CollectivePrices, EqualsTheCurvesItKeeps) {
  CollectiveCalibration const c = calibration();
  Profile const p = profile();
  ClusterSpec const two = cluster("hgx-h100", "ib-400g", 2);
  CollectivePrices prices(c, p, two);
  for (int round = 0; round < 2; ++round) {
    for (CollectiveKind const kind : {all_reduce, all_gather, all_to_all, send_recv, broadcast}) {
      for (Group const g : {Group{8, 1, 1}, {16, 2, 1}, {2, 2, 8}, {4, 1, 1}}) {
        for (double const b : {8.0, 5000.0, 1e6, 3e9}) {
          auto const kept = prices.at(kind, g, bytes(b)), fresh = nccl_price(c.nccl, two, kind, g, bytes(b));
          EXPECT_DOUBLE_EQ(micros(kept), micros(fresh));
          EXPECT_DOUBLE_EQ(kept.bytes_per_link.value, fresh.bytes_per_link.value);
        }
      }
    }
  }
  EXPECT_EQ(prices.answered().size(), 20U);
  EXPECT_LE(prices.at(all_reduce, {1, 1, 1}, GB(1)).total().value, 0);
  EXPECT_EQ(prices.answered().size(), 20U);
}

TEST(CollectivePrices, EngineAllReduceInsideANode) {
  CollectiveCalibration const c = calibration();
  Profile const p = profile();
  CollectivePrices prices(c, p, cluster("hgx-h100", "ib-400g", 2));
  EXPECT_NEAR(micros(prices.engine_all_reduce(EngineKind::vllm, 8, bytes(2048), true)), 10, 1e-9);
  EXPECT_NEAR(micros(prices.engine_all_reduce(EngineKind::vllm, 8, bytes(2048), false)), 40, 1e-9);
  EXPECT_NEAR(micros(prices.engine_all_reduce(EngineKind::sglang, 8, bytes(2048), true)), 10, 1e-9);
  // Plain NCCL: ring LL 15 us and 2 KiB over 141 x 8 / 14 GB/s, doubled.
  EXPECT_NEAR(micros(prices.engine_all_reduce(EngineKind::hf, 8, bytes(2048), true)),
              2 * (15 + 2048 / (141e3 * 8 / 14)), 1e-6);
  EXPECT_DOUBLE_EQ(micros(prices.engine_all_reduce(EngineKind::vllm, 16, bytes(2048), true)),
                   micros(prices.at(all_reduce, {16, 2, 1}, bytes(2048))));
  EXPECT_LE(prices.engine_all_reduce(EngineKind::vllm, 1, bytes(2048), true).total().value, 0);
}

TEST(CollectivePrices, EnginesUseNcclOverPcie) {
  CollectiveCalibration const c = calibration();
  Profile const p = profile();
  CollectivePrices prices(c, p, cluster("pcie-l40s", "roce-400g", 1));
  EXPECT_DOUBLE_EQ(micros(prices.engine_all_reduce(EngineKind::vllm, 4, bytes(2048), true)),
                   micros(prices.at(all_reduce, {4, 1, 1}, bytes(2048))));
}

TEST(CollectivePrices, WithoutACalibrationTheProfilesShares) {
  CollectiveCalibration const none;
  Profile const p = profile();
  ClusterSpec const two = cluster("hgx-h100", "ib-400g", 2);
  CollectivePrices prices(none, p, two);
  for (Group const g : {Group{8, 1, 1}, {16, 2, 1}})
    EXPECT_DOUBLE_EQ(micros(prices.at(all_gather, g, MB(3))),
                     micros(collective_price(p, two, all_gather, g, MB(3))));
  CollectivePrice expected = collective_price(p, two, all_reduce, {8, 1, 1}, bytes(2048));
  expected.alpha = us(5);
  EXPECT_DOUBLE_EQ(micros(prices.engine_all_reduce(EngineKind::vllm, 8, bytes(2048), true)),
                   micros(expected));
  // 128 tokens x 8 experts x 7168 x 2 B.
  ExpertExchange const e{ExchangeMode::normal, ExchangeDirection::dispatch, {16, 2, 1}, 128, 7168, 8};
  EXPECT_DOUBLE_EQ(micros(prices.expert_exchange(e)),
                   micros(collective_price(p, two, all_to_all, {16, 2, 1}, bytes(128.0 * 8 * 7168 * 2))));
  for (PricedGroup const& g : prices.answered()) {
    EXPECT_EQ(g.evidence, Evidence::unmeasured);
    EXPECT_EQ(g.source, "shares of the profile");
  }
}

TEST(CollectivePrices, SaysHowWellEachGroupIsKnown) {
  CollectiveCalibration const c = calibration();
  Profile const p = profile();
  CollectivePrices prices(c, p, cluster("hgx-h100", "ib-400g", 4));
  ExpertExchange e{ExchangeMode::low_latency, ExchangeDirection::dispatch, {16, 2, 1}, 128, 7168, 8};
  EXPECT_NEAR(micros(prices.expert_exchange(e)), 20 + 128 * 4 * 7168 * (1 + 4 / 128.0) / 50e3, 1e-6);
  e.group = {32, 4, 1};
  prices.expert_exchange(e);
  prices.at(broadcast, {8, 1, 1}, MB(1));
  prices.at(all_reduce, {8, 1, 1}, MB(1));
  prices.at(all_reduce, {4, 1, 1}, MB(1));
  prices.at(all_reduce, {4, 1, 1}, MB(2));
  prices.at(all_reduce, {32, 4, 1}, MB(1));
  prices.engine_all_reduce(EngineKind::vllm, 8, MB(1), true);
  prices.engine_all_reduce(EngineKind::trtllm, 4, MB(1), true);
  std::vector<std::string> lines;
  for (PricedGroup const& g : prices.answered())
    lines.push_back(g.operation + " " + std::to_string(g.group.ranks) + "x" + std::to_string(g.group.nodes) +
                    " " + std::string(name_of(g.evidence)) + ", " + g.source);
  EXPECT_EQ(lines, (std::vector<std::string>{
                       "all_reduce 4x1 derived, nccl table", "all_reduce 8x1 measured, nccl table",
                       "all_reduce 32x4 unmeasured, NCCL's own model", "broadcast 8x1 unmeasured, nccl table",
                       "engine all_reduce 8x1 measured, graphs", "engine all_reduce 4x1 derived, graphs",
                       "ep_dispatch 16x2 measured, exchange", "ep_dispatch 32x4 unmeasured, exchange"}));
}

TEST(CollectiveCalibration, CompletedByWhatItLacks) {
  CollectiveCalibration own;
  own.nccl.corrections.push_back({"h100-sxm", "", all_reduce, 8, 1, GB_per_s(360), {{3, 0}}, "own"});
  own.custom.series.push_back({"h100-sxm", "vllm_graph", 8, GB_per_s(450), {{10, 5}}, "own"});
  CollectiveCalibration other = calibration();
  other.nccl.corrections.push_back({"h100-sxm", "", all_reduce, 4, 1, GB_per_s(360), {{3, 0}}, "other"});
  CollectiveCalibration const both = completed(own, other);
  ASSERT_EQ(both.nccl.corrections.size(), 2U);
  EXPECT_EQ(both.nccl.corrections[0].source, "own");
  EXPECT_EQ(both.nccl.corrections[1].source, "other");
  ASSERT_EQ(both.custom.series.size(), 2U);
  EXPECT_EQ(both.custom.series[0].source, "own");
  EXPECT_EQ(both.custom.series[1].backend, "vllm_eager");
  EXPECT_EQ(both.exchange.fits.size(), 1U);
}

TEST(CollectiveCurve, EveryPointIsItsOwn) {
  // 8 B, 11.3 B, ... 64 GiB; the time of point i is i us: half way in bytes between 16 B and 16 sqrt 2 B
  // (points 2 and 3) 2.5 us; 32 B point 4; below 8 B point 0; above linear in bytes.
  CollectiveCurve c;
  c.volume = 1;
  for (std::size_t i = 0; i < kCurvePoints; ++i) c.time[i] = us(static_cast<double>(i));
  EXPECT_NEAR(curve_point(kCurvePoints - 1).value, 68719476736.0, 1e-3);
  EXPECT_NEAR(micros(price(c, curve_point(2) * 0.5 + curve_point(3) * 0.5)), 2.5, 1e-9);
  EXPECT_NEAR(micros(price(c, bytes(32))), 4, 1e-9);
  EXPECT_NEAR(micros(price(c, bytes(3))), 0, 1e-9);
  for (std::size_t i = 0; i < kCurvePoints; ++i)
    EXPECT_NEAR(micros(price(c, curve_point(i))), static_cast<double>(i), 1e-9);
  EXPECT_NEAR(micros(price(c, curve_point(66) * 2 - curve_point(65))), 67, 1e-9);
}

}  // namespace
}  // namespace rollcast
