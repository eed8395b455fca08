#include "models/pipeline.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <tuple>

namespace rollcast {
namespace {

using Times = std::vector<std::vector<StageTimes>>;

StageTimes stage(double forward, double backward) {
  StageTimes t;
  t.forward = Seconds(forward);
  t.backward = Seconds(backward);
  return t;
}

Times equal_times(int micro_batches, int stages, double forward, double backward) {
  return Times(static_cast<std::size_t>(micro_batches),
               std::vector<StageTimes>(static_cast<std::size_t>(stages), stage(forward, backward)));
}

Times random_times(int micro_batches, int stages, std::uint64_t seed) {
  Times times = equal_times(micro_batches, stages, 0, 0);
  std::uint64_t state = seed;
  auto const draw = [&] {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return 0.1 + static_cast<double>(state >> 40) / static_cast<double>(1U << 24);
  };
  for (auto& row : times) {
    for (auto& t : row) t = stage(draw(), 2 * draw());
  }
  return times;
}

TEST(Pipeline, EqualTimesHaveTheKnownMakespan) {
  for (int m = 1; m <= 9; ++m) {
    for (int p = 1; p <= 6; ++p) {
      // (m + p - 1)(f + b), f = 1, b = 2; forward only (m + p - 1) f.
      auto const s = one_forward_one_backward(equal_times(m, p, 1, 2), Seconds(0));
      EXPECT_DOUBLE_EQ(s.makespan.value, 3.0 * (m + p - 1)) << m << " micro-batches, " << p << " stages";
      auto const f = forward_pipeline(equal_times(m, p, 1, 2), Seconds(0));
      EXPECT_DOUBLE_EQ(f.makespan.value, 1.0 * (m + p - 1));
    }
  }
}

TEST(Pipeline, TwoStagesByHand) {
  // One micro-batch, transfer 0.5: F0 0-1, F1 1.5-2.5, B1 2.5-4.5, B0 5-7.
  auto const s = one_forward_one_backward(equal_times(1, 2, 1, 2), Seconds(0.5));
  ASSERT_EQ(s.ops.size(), 4U);
  EXPECT_DOUBLE_EQ(s.ops[2].start.value, 1.5);
  EXPECT_DOUBLE_EQ(s.ops[1].start.value, 5.0);
  EXPECT_DOUBLE_EQ(s.makespan.value, 7.0);
  EXPECT_DOUBLE_EQ(s.stage_end[1].value, 4.5);
}

TEST(Pipeline, UnequalMicroBatchesByHand) {
  // Two stages, f = (1, 3), b = (2, 2) on both. Stage 0: F0 0-1, F1 1-4, B0 after B0' of stage 1.
  // Stage 1: F0 1-2, B0 2-4, F1 4-7, B1 7-9. Stage 0: B0 4-6, B1 9-11.
  Times times = equal_times(2, 2, 1, 2);
  times[1] = {stage(3, 2), stage(3, 2)};
  auto const s = one_forward_one_backward(times, Seconds(0));
  EXPECT_DOUBLE_EQ(s.makespan.value, 11);
  EXPECT_DOUBLE_EQ(s.stage_end[1].value, 9);
}

TEST(Pipeline, EveryOperationWaitsForItsInputsAndTheStageIsNeverTwice) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    int const p = 1 + static_cast<int>(seed % 5);
    int const m = 1 + static_cast<int>(seed % 11);
    Seconds const transfer(seed % 3 == 0 ? 0.0 : 0.07);
    Times const times = random_times(m, p, seed);
    for (bool const forward_only : {false, true}) {
      auto const s =
          forward_only ? forward_pipeline(times, transfer) : one_forward_one_backward(times, transfer);
      ASSERT_EQ(s.ops.size(), static_cast<std::size_t>(m * p * (forward_only ? 1 : 2)));
      std::map<std::tuple<int, int, bool>, PipelineOp> at;
      for (PipelineOp const& op : s.ops) at[{op.stage, op.micro_batch, op.backward}] = op;
      ASSERT_EQ(at.size(), s.ops.size());
      for (std::size_t i = 1; i < s.ops.size(); ++i) {
        if (s.ops[i].stage == s.ops[i - 1].stage) {
          EXPECT_GE(s.ops[i].start, s.ops[i - 1].end);
        }
      }
      std::vector<double> busy(static_cast<std::size_t>(p), 0.0);
      for (PipelineOp const& op : s.ops) {
        busy[static_cast<std::size_t>(op.stage)] += op.end.value - op.start.value;
        if (!op.backward && op.stage > 0) {
          EXPECT_GE(op.start, at[std::make_tuple(op.stage - 1, op.micro_batch, false)].end + transfer);
        }
        if (op.backward && op.stage < p - 1) {
          EXPECT_GE(op.start, at[std::make_tuple(op.stage + 1, op.micro_batch, true)].end + transfer);
        }
        if (op.backward) {
          EXPECT_GE(op.start, at[std::make_tuple(op.stage, op.micro_batch, false)].end);
        }
      }
      // Bounds: the busiest stage, and each micro-batch's own way through the stages.
      EXPECT_GE(s.makespan.value, *std::max_element(busy.begin(), busy.end()) - 1e-12);
      for (auto const& row : times) {
        double way = transfer.value * (p - 1) * (forward_only ? 1 : 2);
        for (StageTimes const& t : row) way += t.forward.value + (forward_only ? 0 : t.backward.value);
        EXPECT_GE(s.makespan.value, way - 1e-12);
      }
      EXPECT_DOUBLE_EQ(s.makespan.value, std::max_element(s.stage_end.begin(), s.stage_end.end())->value);
    }
  }
}

TEST(Pipeline, NoStageHoldsMoreActivationsThanItsDistanceFromTheEnd) {
  auto const s = one_forward_one_backward(random_times(8, 4, 3), Seconds(0.01));
  std::vector<int> held(4, 0);
  for (PipelineOp const& op : s.ops) {
    int& h = held[static_cast<std::size_t>(op.stage)];
    h += op.backward ? -1 : 1;
    EXPECT_LE(h, 4 - op.stage);
    EXPECT_GE(h, 0);
  }
}

TEST(Pipeline, EmptyAndUneven) {
  EXPECT_TRUE(one_forward_one_backward({}, Seconds(0)).ops.empty());
  EXPECT_LE(forward_pipeline({}, Seconds(0)).makespan, Seconds(0));
  Times uneven = equal_times(2, 2, 1, 1);
  uneven[1].pop_back();
  EXPECT_THROW(one_forward_one_backward(uneven, Seconds(0)), std::logic_error);
}

}  // namespace
}  // namespace rollcast
