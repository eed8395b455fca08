#include "models/logit_copies.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/models/ledger_jobs.hpp"

namespace rollcast {
namespace {

double entropy_bytes(TrainerOptions const& t, double tokens) {
  EntropyCopies const e = entropy_copies(test::model("qwen3-1.7b"), t, {}, Role::actor, false);
  return e.copies * std::min(tokens, e.rows) * e.per_token.value;
}

// TRL pull request 4013: 80 GB before, 0.23 GB after, about 350 times. 43,904 tokens x 151,936 x 4 B x 3 =
// 80.05 GB; 128 rows 0.233 GB; 343 times.
TEST(EntropyCopies, ChunksOf128RowsAreASmallShare) {
  TrainerOptions t;
  t.entropy = Entropy::whole;
  double const whole = entropy_bytes(t, 43'904);
  t.entropy = Entropy::chunked;
  t.entropy_rows = 128;
  double const chunk = entropy_bytes(t, 43'904);
  EXPECT_DOUBLE_EQ(whole, 3 * 43'904.0 * 151'936 * 4);
  EXPECT_DOUBLE_EQ(chunk, 3 * 128.0 * 151'936 * 4);
  EXPECT_DOUBLE_EQ(whole / chunk, 343);
}

// Of the actor, and in an update only where it is asked for there.
TEST(EntropyCopies, AreTheActors) {
  Architecture const a = test::model("qwen3-1.7b");
  TrainerOptions t;
  t.entropy = Entropy::whole;
  EXPECT_EQ(entropy_copies(a, t, {}, Role::reference, false).copies, 0);
  EXPECT_EQ(entropy_copies(a, t, {}, Role::actor, true).copies, 0);
  t.entropy_in_update = true;
  EXPECT_EQ(entropy_copies(a, t, {}, Role::actor, true).copies, 3);
}

// A base of four bits with all else in fp32: four fp32 copies and nothing in bf16.
TEST(LogitsKept, OfACastHeadOnlyTheCastIsLeft) {
  Architecture const a = test::model("llama-3.1-8b");
  TrainerOptions t;
  t.kind = TrainerKind::ddp;
  Adapter prepared;
  EXPECT_EQ(logits_kept(a, t, prepared, true).copies, 1);
  prepared.unquantized = DType::fp32;
  EXPECT_EQ(logits_kept(a, t, prepared, true).copies, 0);
  EXPECT_EQ(logits_kept(a, t, prepared, true).fp32_copies, 4);
}

// slime issue 2253: logits are those of all tokens, prompts and tool results too. 11,600 x 248,320 x 4 B =
// 10.73 GiB for each fp32 copy, whatever share of the tokens is a response.
TEST(LogitsKept, CountAllTokens) {
  Job job = test::plain_job(test::model("qwen3.5-9b"), AlgorithmKind::grpo, 8);
  job.train.kind = TrainerKind::megatron;
  auto const fp32_logits = [&](int prompt) {
    job.workload.prompt_tokens.shape = FixedLength{prompt};
    job.workload.response_tokens.shape = FixedLength{11'600 - prompt};
    return test::find_line(memory_ledger(job).front(), Role::actor, "fp32 logits", MemoryCategory::logits)
        ->bytes.value;
  };
  EXPECT_DOUBLE_EQ(fp32_logits(9'600), 2 * 11'600.0 * 248'320 * 4);
  EXPECT_DOUBLE_EQ(fp32_logits(100), fp32_logits(9'600));
}

}  // namespace
}  // namespace rollcast
