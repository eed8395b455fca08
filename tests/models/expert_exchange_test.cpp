#include "models/expert_exchange.hpp"

#include <gtest/gtest.h>

#include "models/catalog/catalog.hpp"

namespace rollcast {
namespace {

ClusterSpec h100(int nodes) {
  return {*find_node(builtin_catalog(), "hgx-h100"), nodes, *find_fabric(builtin_catalog(), "ib-400g")};
}

TEST(ExpertExchange, BytesOfLowLatency) {
  // 128 tokens, hidden 7168, top 8: fp8 and scales 7168 + 4 x 56 = 7392 B a copy, 8 copies, half of them to
  // the other of two nodes; combined: bf16, 14336 B.
  ExpertExchange e{ExchangeMode::low_latency, ExchangeDirection::dispatch, {16, 2, 1}, 128, 7168, 8};
  EXPECT_NEAR(exchanged_bytes(e).value, 128.0 * 8 * 7392 / 2, 1e-6);
  e.direction = ExchangeDirection::combine;
  EXPECT_NEAR(exchanged_bytes(e).value, 128.0 * 8 * 14336 / 2, 1e-6);
  e.group = {8, 1, 1};
  EXPECT_NEAR(exchanged_bytes(e).value, 128.0 * 8 * 14336 * 7 / 8, 1e-6);
}

TEST(ExpertExchange, TrainingDispatchesWhatItCombines) {
  ExpertExchange e{ExchangeMode::normal, ExchangeDirection::combine, {8, 1, 1}, 128, 7168, 8};
  double const combined = exchanged_bytes(e).value;
  e.direction = ExchangeDirection::dispatch;
  EXPECT_NEAR(exchanged_bytes(e).value, combined * 7392 / 14336, 1e-6);  // as above
  e.fp8 = false;
  EXPECT_DOUBLE_EQ(exchanged_bytes(e).value, combined);
}

TEST(ExpertExchange, NormalSendsOneCopyPerPlace) {
  // Top 2 of two nodes: the other node is reached unless both experts are here: 1 - 1/4.
  ExpertExchange e{ExchangeMode::normal, ExchangeDirection::combine, {16, 2, 1}, 1, 1, 2};
  EXPECT_NEAR(exchanged_bytes(e).value, 0.75 * 2, 1e-12);
  // Four GPUs of one node, top 1: three of four tokens leave.
  e.group = {4, 1, 1};
  e.top_k = 1;
  EXPECT_NEAR(exchanged_bytes(e).value, 0.75 * 2, 1e-12);
}

ExchangeCalibration one_fit() {
  return {
      {{"h100-sxm", ExchangeMode::low_latency, ExchangeDirection::dispatch, true, us(20), 0.9, "a table"}}};
}

TEST(ExpertExchange, PriceIsAlphaAndBytesOverTheNic) {
  ExpertExchange const e{ExchangeMode::low_latency, ExchangeDirection::dispatch, {16, 2, 1}, 128, 7168, 8};
  auto const p = exchange_price(one_fit(), h100(2), e);
  ASSERT_TRUE(p);
  // 3,784,704 B over 0.9 x 50 GB/s = 84.1 us.
  EXPECT_NEAR(p->total().value * 1e6, 20 + 3784704 / 45e3, 1e-6);
}

TEST(ExpertExchange, NothingKnownIsNoPrice) {
  ExpertExchange e{ExchangeMode::normal, ExchangeDirection::dispatch, {16, 2, 1}, 128, 7168, 8};
  EXPECT_FALSE(exchange_price(one_fit(), h100(2), e));
  e.group = {1, 1, 1};
  auto const alone = exchange_price(one_fit(), h100(1), e);
  ASSERT_TRUE(alone);
  EXPECT_LE(alone->total().value, 0);
}

TEST(ExpertExchange, TimeGrowsWithTokensAndNodes) {
  double before = 0;
  for (int const nodes : {2, 4, 8, 32}) {
    ExpertExchange e{
        ExchangeMode::low_latency, ExchangeDirection::dispatch, {8 * nodes, nodes, 1}, 128, 7168, 8};
    double const t = exchange_price(one_fit(), h100(nodes), e)->total().value;
    EXPECT_GT(t, before);
    before = t;
    e.tokens = 129;
    EXPECT_GT(exchange_price(one_fit(), h100(nodes), e)->total().value, t);
  }
}

TEST(ExpertExchange, Text) {
  std::string const text = to_text(one_fit());
  EXPECT_EQ(text, "exchange h100-sxm low_latency dispatch network 20.0 0.900 # a table\n");
  auto const read = exchange_calibration_from_text("nccl of others\n" + text);
  ASSERT_TRUE(read.value) << read.error;
  EXPECT_EQ(to_text(*read.value), text);
  EXPECT_EQ(exchange_calibration_from_text("exchange h100-sxm fast dispatch node 1 1").error,
            "line 1: the mode is normal or low_latency");
  EXPECT_EQ(exchange_calibration_from_text("exchange h100-sxm normal dispatch node -1 1").error,
            "line 1: alpha (us, not negative) and share (above 0) are numbers");
}

}  // namespace
}  // namespace rollcast
