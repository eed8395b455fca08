#include "models/step_prices.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "models/random.hpp"
#include "models/step_table.hpp"

namespace rollcast {
namespace {

TEST(Curve, IsLinearBetweenKnotsAndBeyondThem) {
  Curve const c{{10, 20, 40}, {1, 3, 4}};
  EXPECT_DOUBLE_EQ(c.at(10), 1);
  EXPECT_DOUBLE_EQ(c.at(15), 2);
  EXPECT_DOUBLE_EQ(c.at(20), 3);
  EXPECT_DOUBLE_EQ(c.at(30), 3.5);
  EXPECT_DOUBLE_EQ(c.at(60), 5);  // slope 1/20 goes on
  EXPECT_DOUBLE_EQ(c.at(0), -1);  // slope 2/10 goes back
  EXPECT_DOUBLE_EQ((Curve{{7}, {2}}).at(100), 2);
  EXPECT_DOUBLE_EQ(Curve{}.at(3), 0);
}

// Attention b x c at batch knots 2 and 4 and context knots 0 and 100, and 20 more per sequence at context
// 200: y(2, .) = 0, 200, 440; y(4, .) = 0, 400, 880.
StepPrices bilinear() {
  StepPrices p;
  p.fixed = seconds(3);
  p.per_sequence = seconds(0.5);
  p.dense = {{0, 100, 200}, {1, 2, 4}};
  p.batch_knots = {2, 4};
  p.context_knots = {0, 100, 200};
  p.decode_attention = {{0, 200, 440}, {0, 400, 880}};
  p.prefill = {{0, 1}, {0, 0.25}};
  return p;
}

TEST(DecodeCurve, IsLinearInTheBatchAndZeroAtZero) {
  StepPrices const p = bilinear();
  EXPECT_EQ(decode_curve(p, 3).y, (std::vector<double>{0, 300, 660}));
  EXPECT_EQ(decode_curve(p, 1).y, (std::vector<double>{0, 100, 220}));
  EXPECT_EQ(decode_curve(p, 0).y, (std::vector<double>{0, 0, 0}));
  EXPECT_EQ(decode_curve(p, 8).y, (std::vector<double>{0, 800, 1760}));
  EXPECT_EQ(decode_curve(p, 8).x, p.context_knots);
}

TEST(SumOverContexts, IsTheArithmeticSeriesOfEachSegment) {
  Curve const c = decode_curve(bilinear(), 1);  // 0, 100 at 100, 220 at 200: slopes 1 and 1.2
  // 98 + 99 + 100 + 101.2 + 102.4 + 103.6
  EXPECT_DOUBLE_EQ(sum_over_contexts(c, 98, 6), 604.2);
  // From 98.5: 98.5 + 99.5 + 100.6 + 101.8
  EXPECT_DOUBLE_EQ(sum_over_contexts(c, 98.5, 4), 400.4);
  // Beyond the last knot: 220 + 1.2 x (i + 50), i = 0 .. 9: 2200 + 1.2 x (500 + 45)
  EXPECT_DOUBLE_EQ(sum_over_contexts(c, 250, 10), 2854);
  EXPECT_DOUBLE_EQ(sum_over_contexts(c, 5, 0), 0);
  EXPECT_DOUBLE_EQ(sum_over_contexts({{1}, {7}}, 5, 3), 21);
}

TEST(StepTable, ReadsTheSameAsTheCurves) {
  StepTable t(bilinear());
  EXPECT_DOUBLE_EQ(t.base(4, 150), 3 + 0.5 * 4 + 3);
  EXPECT_DOUBLE_EQ(t.base(1, 50), 3 + 0.5 + 1.5);
  EXPECT_DOUBLE_EQ(t.prefill(0, 8), 9);   // 36 pairs
  EXPECT_DOUBLE_EQ(t.prefill(10, 3), 9);  // 13 x 14 / 2 - 10 x 11 / 2 = 36 pairs
  EXPECT_DOUBLE_EQ(t.attention(0, 0, 5), 0);
  EXPECT_DOUBLE_EQ(t.attention(1, 98, 6), 604.2);
  // Two sequences with mean context 98.5: twice as much as one.
  EXPECT_DOUBLE_EQ(t.attention(2, 197, 4), 800.8);
  EXPECT_DOUBLE_EQ(t.attention(1, 250, 10), 2854);
}

TEST(StepTable, AgreesWithStepByStepSumsOnRandomTables) {
  for (std::uint64_t k = 0; k < 500; ++k) {
    std::uint64_t drawn = 0;
    auto const u = [&] { return uniform({k, Purpose::jitter, 0, drawn++}); };
    auto const knots = [&](double at_most, double first) {
      std::vector<double> x{first * u()};
      for (int n = static_cast<int>(u() * at_most); n > 0; --n) x.push_back(x.back() + 0.1 + 30 * u() * u());
      return x;
    };
    StepPrices p;
    p.batch_knots = knots(5, 10);
    p.context_knots = knots(8, 20);
    for (std::size_t i = 0; i < p.batch_knots.size(); ++i) {
      p.decode_attention.emplace_back();
      for (std::size_t j = 0; j < p.context_knots.size(); ++j)
        p.decode_attention.back().push_back(u() * 5 + 1);
    }
    StepTable t(p);
    for (int trial = 0; trial < 20; ++trial) {
      auto const batch = static_cast<std::int64_t>(1 + u() * 60);
      auto const context = static_cast<std::int64_t>(static_cast<double>(batch) * u() * 200);
      auto const steps = static_cast<std::int64_t>(1 + u() * 100);
      double const mean = static_cast<double>(context) / static_cast<double>(batch);
      Curve const row = decode_curve(p, static_cast<double>(batch));
      double sum = 0;
      double size = 0;
      for (std::int64_t i = 0; i < steps; ++i) {
        sum += row.at(mean + static_cast<double>(i));
        size += std::abs(row.at(mean + static_cast<double>(i)));
      }
      EXPECT_NEAR(t.attention(batch, context, steps), sum, 1e-11 * size);
      EXPECT_NEAR(sum_over_contexts(row, mean, steps), sum, 1e-11 * size);
    }
  }
}

TEST(StepTable, CountsItsReads) {
  StepTable t(bilinear());
  t.base(1, 1);
  EXPECT_EQ(t.reads(), 1);
  t.attention(1, 98, 6);  // two segments
  EXPECT_EQ(t.reads(), 3);
  t.attention(0, 0, 6);  // nothing to read
  EXPECT_EQ(t.reads(), 3);
}

TEST(StepPrices, ATableOfTheWrongShapeIsRefused) {
  EXPECT_NO_THROW(check(bilinear()));
  EXPECT_NO_THROW(check(StepPrices{}));
  StepPrices p = bilinear();
  p.decode_attention[1].pop_back();
  EXPECT_THROW(check(p), std::logic_error);
  p = bilinear();
  p.batch_knots = {4, 2};
  EXPECT_THROW(check(p), std::logic_error);
  p = bilinear();
  p.dense.y.pop_back();
  EXPECT_THROW(check(p), std::logic_error);
  p = bilinear();
  p.batch_knots = {0};
  p.decode_attention.pop_back();
  EXPECT_THROW(check(p), std::logic_error);
}

}  // namespace
}  // namespace rollcast
