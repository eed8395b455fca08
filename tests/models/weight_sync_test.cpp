#include "models/weight_sync.hpp"

#include <gtest/gtest.h>

#include "tests/models/price_fixtures.hpp"

namespace rollcast {
namespace {

// Llama-3.1-8B: 32 layers of 9 tensors (q, k, v, o, gate, up, down, two norms), embedding, final norm,
// lm_head: 291. 8,030,261,248 parameters in bf16, written and read once: 4 x 8.03e9 B at half of 3.35 TB/s.
TEST(WeightSync, OneRankCopiesTheModelAndLoadsEachTensor) {
  Job job = llama_job(1);
  job.train.parallel = {};
  job.framework.sync_per_tensor = ms(1);
  WeightSync const s = ipc_weight_sync(round_profile(), job);
  EXPECT_DOUBLE_EQ(s.tensors, 291);
  EXPECT_DOUBLE_EQ(s.weights.value, 2 * 8030261248.0);
  EXPECT_DOUBLE_EQ(s.gather.value, 0);
  EXPECT_NEAR(s.copy.value, 4 * 8030261248.0 / (0.5 * 3.35e12), 1e-9);
  EXPECT_NEAR(s.per_tensor.value, 0.291, 1e-12);
}

// Two pipeline stages: half of the weights come from the other stage; over NVLink on one node, over the
// rank's own NIC of 50 GB/s on two.
TEST(WeightSync, StagesGatherWhatTheyLack) {
  Job near = llama_job(1);
  near.train.parallel = {.tp = 1, .pp = 2};
  Job far = llama_job(2);
  far.train.parallel = {.tp = 1, .pp = 2};
  WeightSync const inside = ipc_weight_sync(round_profile(), near);
  WeightSync const across = ipc_weight_sync(round_profile(), far);
  EXPECT_GT(inside.gather.value, 8.03e9 / 450e9);
  EXPECT_GT(across.gather.value, 8.03e9 / 50e9);
  EXPECT_GT(across.gather.value, inside.gather.value);
}

}  // namespace
}  // namespace rollcast
