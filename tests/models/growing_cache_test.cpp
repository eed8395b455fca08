#include "models/growing_cache.hpp"

#include <gtest/gtest.h>

#include "tests/models/ledger_jobs.hpp"

namespace rollcast {
namespace {

// 19 sequences of Llama-3-70B: 327,680 B a token, 80 layers, 64 query heads on 8 KV heads.
Job surge() {
  Job job = test::plain_job(test::model("llama-3-70b"), AlgorithmKind::grpo, 8);
  job.rollout.kind = EngineKind::hf;
  return job;
}

// 19 x 6,144 x 327,680 B = 38.25 GB; one layer's K or V a 160th of it, a layer's K and V for eight times the
// heads a tenth.
TEST(GrowingCache, HoldsWhatOneBatchHasAndWhatAForwardCopies) {
  double const cache = 19.0 * 6144 * 327'680;
  EXPECT_DOUBLE_EQ(static_cache(surge(), 19, 6144).value, cache);
  EXPECT_DOUBLE_EQ(concatenation(surge(), 19, 6144).value, cache / 160);
  EXPECT_DOUBLE_EQ(attention_copies(surge(), 19, 6144).value, cache / 10);
  Job flash = surge();
  flash.train.flash_attention_2 = true;
  EXPECT_DOUBLE_EQ(attention_copies(flash, 19, 6144).value, cache / 80);
  Job old = surge();
  old.rollout.version = "4.38.0";
  EXPECT_DOUBLE_EQ(concatenation(old, 19, 6144).value, cache);
}

// A token of the batch is 6,225,920 x (1 + 1 / 160 + 1 / 10) = 6,887,424 B: 1,000 of them fit into 6.9e9 B,
// and one more into 6,894,311,424.
TEST(GrowingCache, TheFirstLengthBeyondIsExact) {
  Job const job = surge();
  EXPECT_EQ(first_length_beyond(job, 19, bytes(6'887'424'000.0 + 1)), 1001);
  EXPECT_EQ(first_length_beyond(job, 19, bytes(6'894'311'423.0)), 1001);
  EXPECT_EQ(first_length_beyond(job, 19, bytes(6'894'311'425.0)), 1002);
  EXPECT_EQ(first_length_beyond(job, 19, Bytes(-5)), 1);
}

}  // namespace
}  // namespace rollcast
