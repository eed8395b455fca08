#include "models/pipeline.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>
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

// m chunks + p - 1 slots of a chunk's forward and backward: over the work m chunks of a rank the bubble is
// (p - 1) / (chunks m).
TEST(InterleavedPipeline, EqualTimesHaveTheKnownBubble) {
  for (int p = 1; p <= 6; ++p) {
    for (int v = 1; v <= 4; ++v) {
      for (int m = p; m <= 5 * p; m += p) {
        for (double const backward : {1.0, 2.0, 3.0}) {
          Times const times = equal_times(m, p * v, 1, backward);
          auto const s = interleaved_one_forward_one_backward(times, {p, v}, Seconds(0));
          double const work = m * v * (1 + backward);
          EXPECT_DOUBLE_EQ(s.makespan.value, work * (1 + static_cast<double>(p - 1) / (v * m)))
              << m << " micro-batches, " << p << " ranks, " << v << " chunks";
          auto const f = interleaved_forward_pipeline(times, {p, v}, Seconds(0));
          EXPECT_DOUBLE_EQ(f.makespan.value, m * v + p - 1.0);
        }
      }
    }
  }
}

TEST(InterleavedPipeline, OneChunkIsPlain) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    int const p = 1 + static_cast<int>(seed % 5);
    int const m = 1 + static_cast<int>(seed % 11);
    Times const times = random_times(m, p, seed);
    Seconds const transfer(0.05);
    for (bool const forward_only : {false, true}) {
      auto const plain =
          forward_only ? forward_pipeline(times, transfer) : one_forward_one_backward(times, transfer);
      auto const s = forward_only ? interleaved_forward_pipeline(times, {p, 1}, transfer)
                                  : interleaved_one_forward_one_backward(times, {p, 1}, transfer);
      ASSERT_EQ(s.ops.size(), plain.ops.size());
      for (std::size_t i = 0; i < s.ops.size(); ++i) {
        EXPECT_EQ(s.ops[i].stage, plain.ops[i].stage);
        EXPECT_EQ(s.ops[i].micro_batch, plain.ops[i].micro_batch);
        EXPECT_EQ(s.ops[i].backward, plain.ops[i].backward);
        EXPECT_EQ(s.ops[i].start.value, plain.ops[i].start.value);
        EXPECT_EQ(s.ops[i].end.value, plain.ops[i].end.value);
      }
      EXPECT_EQ(s.makespan.value, plain.makespan.value);
    }
  }
}

// "F0.2": forward of micro-batch 0 on virtual stage 2.
std::vector<std::string> order_of(PipelineSchedule const& s, int rank, int ranks) {
  std::vector<std::string> names;
  for (PipelineOp const& op : s.ops) {
    if (op.stage % ranks != rank) continue;
    names.push_back((op.backward ? "B" : "F") + std::to_string(op.micro_batch) + "." +
                    std::to_string(op.stage));
  }
  return names;
}

// Two ranks, two chunks, four micro-batches. Rank 0 holds stages 0 and 2; its forwards go 0 and 1 through
// stage 0, 0 and 1 through stage 2, then 2 and 3; its backwards begin with stage 2. Warm-up: 2 x 1 + 1 x 2 =
// 4 on rank 0, 2 on rank 1.
TEST(InterleavedPipeline, OrderByHand) {
  auto const s = interleaved_one_forward_one_backward(equal_times(4, 4, 1, 2), {2, 2}, Seconds(0));
  using Names = std::vector<std::string>;
  EXPECT_EQ(order_of(s, 0, 2), (Names{"F0.0", "F1.0", "F0.2", "F1.2", "F2.0", "B0.2", "F3.0", "B1.2", "F2.2",
                                      "B0.0", "F3.2", "B1.0", "B2.2", "B3.2", "B2.0", "B3.0"}));
  EXPECT_EQ(order_of(s, 1, 2), (Names{"F0.1", "F1.1", "F0.3", "B0.3", "F1.3", "B1.3", "F2.1", "B0.1", "F3.1",
                                      "B1.1", "F2.3", "B2.3", "F3.3", "B3.3", "B2.1", "B3.1"}));
}

// One micro-batch would wait at each of the three hand-overs there and back; with two, f = 1, b = 2 and a
// transfer of 0.5. Rank 0: F0.0 0-1, F1.0 1-2. Rank 1: F0.1 1.5-2.5, F1.1 2.5-3.5. Rank 0: F0.2 3-4, F1.2
// 4-5. Rank 1: F0.3 4.5-5.5, B0.3 5.5-7.5, F1.3 7.5-8.5, B1.3 8.5-10.5. Rank 0: B0.2 8-10, B1.2 11-13. Rank
// 1: B0.1 10.5-12.5, B1.1 13.5-15.5. Rank 0: B0.0 13-15, B1.0 16-18.
TEST(InterleavedPipeline, TransfersByHand) {
  auto const s = interleaved_one_forward_one_backward(equal_times(2, 4, 1, 2), {2, 2}, Seconds(0.5));
  EXPECT_DOUBLE_EQ(s.makespan.value, 18);
  ASSERT_EQ(s.stage_end.size(), 2U);
  EXPECT_DOUBLE_EQ(s.stage_end[0].value, 18);
  EXPECT_DOUBLE_EQ(s.stage_end[1].value, 15.5);
}

TEST(InterleavedPipeline, EveryOperationOnceAfterItsInputsInMegatronsOrder) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    int const p = 1 + static_cast<int>(seed % 5);
    int const v = 2 + static_cast<int>(seed % 3);
    int const group = p + static_cast<int>(seed % 2);
    int const m = group * (1 + static_cast<int>(seed % 4)) + (seed % 7 == 0 ? p : 0);
    Interleaving const i{p, v, group};
    ASSERT_TRUE(interleaves(i, m));
    Seconds const transfer(p == 1 || seed % 3 == 0 ? 0.0 : 0.07);
    Times const times = random_times(m, p * v, seed);
    auto const s = interleaved_one_forward_one_backward(times, i, transfer);
    ASSERT_EQ(s.ops.size(), static_cast<std::size_t>(2 * m * p * v));
    ASSERT_EQ(s.stage_end.size(), static_cast<std::size_t>(p));
    std::map<std::tuple<int, int, bool>, PipelineOp> at;
    for (PipelineOp const& op : s.ops) at[{op.stage, op.micro_batch, op.backward}] = op;
    ASSERT_EQ(at.size(), s.ops.size());
    std::vector<int> held(static_cast<std::size_t>(p), 0);
    std::vector<int> before_backward(static_cast<std::size_t>(p), -1);
    for (std::size_t k = 0; k < s.ops.size(); ++k) {
      PipelineOp const& op = s.ops[k];
      int const rank = op.stage % p;
      auto const r = static_cast<std::size_t>(rank);
      if (k > 0 && s.ops[k - 1].stage % p == rank) {
        EXPECT_GE(op.start, s.ops[k - 1].end);
      }
      StageTimes const& t =
          times[static_cast<std::size_t>(op.micro_batch)][static_cast<std::size_t>(op.stage)];
      EXPECT_DOUBLE_EQ(op.end.value, op.start.value + (op.backward ? t.backward : t.forward).value);
      if (op.backward && before_backward[r] < 0) before_backward[r] = held[r];
      held[r] += op.backward ? -1 : 1;
      EXPECT_LE(held[r], warm_up_forwards(i, rank, m) + 1);
      if (!op.backward && op.stage > 0) {
        EXPECT_GE(op.start, at[std::make_tuple(op.stage - 1, op.micro_batch, false)].end + transfer);
      }
      if (op.backward) {
        EXPECT_GE(op.start, at[std::make_tuple(op.stage, op.micro_batch, false)].end);
        if (op.stage + 1 < p * v) {
          EXPECT_GE(op.start, at[std::make_tuple(op.stage + 1, op.micro_batch, true)].end + transfer);
        }
      }
    }
    for (int r = 0; r < p; ++r) {
      int const warm_up = std::min(m * v, 2 * (p - 1 - r) + (v - 1) * group);
      EXPECT_EQ(before_backward[static_cast<std::size_t>(r)], std::min(m * v, warm_up + 1));
      EXPECT_EQ(held[static_cast<std::size_t>(r)], 0);
    }
  }
}

// The last stage also has the vocabulary: 1.5 times the work of the others. With fewer layers there, all
// stages are equal again, and the sum of the work is the same: 4 + 4 + 4 + 6 = 4 x 4.5.
TEST(InterleavedPipeline, AnEvenLastStageIsFaster) {
  int const m = 8;
  Times heavy = equal_times(m, 4, 4, 8);
  for (auto& row : heavy) row.back() = stage(6, 12);
  Times const even = equal_times(m, 4, 4.5, 9);
  for (Interleaving const& i : {Interleaving{4, 1}, Interleaving{2, 2}}) {
    auto const uneven = interleaved_one_forward_one_backward(heavy, i, Seconds(0));
    auto const balanced = interleaved_one_forward_one_backward(even, i, Seconds(0));
    EXPECT_LT(balanced.makespan, uneven.makespan);
    // The busiest rank sets a floor: m times 6 + 12, with two chunks 4 + 8 more.
    EXPECT_GE(uneven.makespan.value, i.chunks == 1 ? m * 18.0 : m * 30.0);
  }
}

TEST(InterleavedPipeline, WhatMegatronRefuses) {
  EXPECT_TRUE(interleaves({4, 2}, 8));
  EXPECT_FALSE(interleaves({4, 2}, 2));     // fewer than a group
  EXPECT_FALSE(interleaves({4, 2}, 10));    // a last group of 2 under 4 ranks
  EXPECT_TRUE(interleaves({4, 2, 6}, 10));  // a last group of 4
  EXPECT_FALSE(interleaves({4, 2, 3}, 9));  // a group of 3 under 4 ranks
  EXPECT_TRUE(interleaves({4, 1}, 3));
  EXPECT_FALSE(interleaves({4, 1, -1}, 3));
  EXPECT_THROW(interleaved_one_forward_one_backward(equal_times(10, 8, 1, 2), {4, 2}, Seconds(0)),
               std::logic_error);
  EXPECT_THROW(interleaved_forward_pipeline(equal_times(8, 6, 1, 2), {4, 2}, Seconds(0)), std::logic_error);
  EXPECT_TRUE(interleaved_one_forward_one_backward({}, {4, 2}, Seconds(0)).ops.empty());
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
