#include "models/context_limit.hpp"

#include <gtest/gtest.h>

#include "tests/models/ledger_jobs.hpp"

namespace rollcast {
namespace {

Bytes need(Job job, std::int64_t tokens) {
  job.workload.prompt_tokens.shape = FixedLength{static_cast<int>(tokens / 2)};
  job.workload.response_tokens.shape = FixedLength{static_cast<int>(tokens - tokens / 2)};
  return peak(memory_ledger(job).front()).bytes;
}

// The card holds the longest sequence and not one token more; a larger card holds a longer one.
TEST(ContextLimit, OneTokenMoreDoesNotFit) {
  Job job = test::plain_job(test::model("llama-3.1-8b"), AlgorithmKind::sft, 1);
  job.algorithm.adapter = Adapter{};
  job.algorithm.adapter->targets = {"q", "v"};
  job.train.recompute = Recompute::full;
  std::int64_t last = 0;
  for (double gib : {20.0, 24.0, 40.0, 80.0}) {
    job.cluster.node.gpu.visible_memory = GiB(gib);
    std::int64_t const longest = longest_fitting_sequence(job);
    ASSERT_GT(longest, last);
    EXPECT_LE(need(job, longest), GiB(gib));
    EXPECT_GT(need(job, longest + 1), GiB(gib));
    last = longest;
  }
}

TEST(ContextLimit, NothingFitsWhereTheStatesDoNot) {
  Job job = test::plain_job(test::model("llama-3.1-8b"), AlgorithmKind::sft, 1);
  EXPECT_EQ(longest_fitting_sequence(job), 0);  // 16 B x 8.03e9 on 80 GB
}

// Unsloth's README, Hugging Face with FlashAttention-2: adapters of rank 32 on every projection of a base in
// four bits run out of memory with Llama-3.1-8B on a card of 8 GB and with Llama-3.3-70B on one of 48 GB; 8B
// on 24 GB takes 5,789 tokens (scenarios/published/S09-*).
TEST(ContextLimit, PublishedCardsThatAreTooSmall) {
  auto const longest = [](char const* name, double gib) {
    Job job = test::plain_job(test::model(name), AlgorithmKind::sft, 1);
    job.cluster.node.gpu.visible_memory = GiB(gib);
    Adapter a;
    a.kind = AdapterKind::qlora;
    a.rank = 32;
    a.targets = {"q", "k", "v", "o", "gate", "up", "down"};
    a.weights = DType::fp32;
    a.unquantized = DType::fp32;
    a.double_quantization = true;
    job.algorithm.adapter = a;
    job.train.kind = TrainerKind::ddp;
    job.train.kernels = KernelStack::eager;
    job.train.recompute = Recompute::full;
    job.train.master_weights = false;
    job.train.optimizer_states = DType::fp8;
    return static_cast<double>(longest_fitting_sequence(job));
  };
  EXPECT_EQ(longest("llama-3.1-8b", 7.8), 0);
  EXPECT_EQ(longest("llama-3.3-70b", 47.5), 0);
  EXPECT_NEAR(longest("llama-3.1-8b", 23.6), 5789, 0.05 * 5789);
}

TEST(ContextLimit, AtMostTheModelsContext) {
  Job job = test::plain_job(test::model("llama-3.2-1b"), AlgorithmKind::sft, 1);
  job.model.max_context = 4096;
  EXPECT_EQ(longest_fitting_sequence(job), 4096);
}

}  // namespace
}  // namespace rollcast
