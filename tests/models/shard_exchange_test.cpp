#include "models/shard_exchange.hpp"

#include <gtest/gtest.h>

#include "price_fixtures.hpp"

namespace rollcast {
namespace {

// A layer of Llama-3.1-8B: 218,103,808 weights of products and two norms of 4,096.
constexpr double kLayer = 218103808 + 2 * 4096;

TEST(ShardExchange, OfALayerByHand) {
  Job job = llama_job(1);
  Profile const profile = round_profile();
  CollectivePrices prices(profile, job.cluster);
  EXPECT_LE(shard_exchange(prices, job, 0).gather, Seconds(0));  // Megatron shards no parameters
  job.train.kind = TrainerKind::fsdp2;
  job.train.gradients = DType::fp32;
  ShardExchange const e = shard_exchange(prices, job, 0);
  // 8 ranks, 7 steps of latency: 15 us x (6.6 + 0.6 x 7) / 15 = 10.8 us; 7/8 of 2 and 4 B a weight at 0.75 x
  // 450 GB/s.
  EXPECT_NEAR(e.gather.value, 10.8e-6 + 0.875 * 2 * kLayer / 337.5e9, 1e-9);
  EXPECT_NEAR(e.scatter.value, 10.8e-6 + 0.875 * 4 * kLayer / 337.5e9, 1e-9);
  job.train.shard_ranks = 2;  // one step of latency, half of the bytes
  EXPECT_NEAR(shard_exchange(prices, job, 0).gather.value, 7.2e-6 + 0.5 * 2 * kLayer / 337.5e9, 1e-9);
  job.train.shard_ranks = 1;
  EXPECT_LE(shard_exchange(prices, job, 0).gather, Seconds(0));
}

TEST(ShardExchange, WhatAStepOfComputingDoesNotHideIsWaitedFor) {
  ShardExchange const e{Seconds(3), Seconds(5)};
  EXPECT_DOUBLE_EQ(exposed_forward(e, Seconds(1)).value, 2);
  EXPECT_DOUBLE_EQ(exposed_forward(e, Seconds(4)).value, 0);
  EXPECT_DOUBLE_EQ(exposed_backward(e, Seconds(6)).value, 2);
  EXPECT_DOUBLE_EQ(exposed_backward(e, Seconds(9)).value, 0);
}

TEST(ShardExchange, DeepSpeedShardsParametersInStageThreeOnly) {
  TrainerOptions t;
  t.kind = TrainerKind::deepspeed;
  t.zero_stage = 2;
  EXPECT_FALSE(is_fully_sharded(t));
  t.zero_stage = 3;
  EXPECT_TRUE(is_fully_sharded(t));
}

}  // namespace
}  // namespace rollcast
