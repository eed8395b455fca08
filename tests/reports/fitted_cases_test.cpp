#include "reports/fitted_cases.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "calibrate/profiles.hpp"
#include "models/catalog/catalog.hpp"

namespace rollcast {
namespace {

using testing::HasSubstr;

Profile shipped() { return profile_for(*find_gpu(builtin_catalog(), "h100-sxm")); }

Job with_kernels(KernelStack kernels) {
  Job job;
  job.train.kernels = kernels;
  return job;
}

Job quantized(KernelStack kernels) {
  Job job = with_kernels(kernels);
  job.algorithm.adapter.emplace();
  job.algorithm.adapter->kind = AdapterKind::qlora;
  return job;
}

// The list and what the profile says of its own numbers.
TEST(FittedCases, OfTheEnginesAreThoseThatTheProfileNames) {
  Job const job = with_kernels(KernelStack::fused);
  for (char const* name : {"I02-relax-vl-4b-h200", "I06-vime", "I07-vime"})
    EXPECT_TRUE(is_fitted(name, job)) << name;
  for (char const* name : {"R31-nemo-rl-8b", "R01-nemo-rl", "I01-relax"})
    EXPECT_FALSE(is_fitted(name, job)) << name;
  Profile const p = shipped();
  EngineOverhead const* const vllm = find_overhead(p.engines, EngineKind::vllm);
  ASSERT_NE(vllm, nullptr);
  EXPECT_THAT(vllm->source, HasSubstr("I06, I07 (vLLM) and I02 (SGLang)"));
  EXPECT_THAT(vllm->source, HasSubstr("R31 and R01 are left out"));
}

TEST(FittedCases, OfGenerateAreSixOfOneSource) {
  Job const job = with_kernels(KernelStack::fused);
  EXPECT_TRUE(is_fitted("R22-openrlhf-7b", job));
  EXPECT_FALSE(is_fitted("R22-openrlhf-ray-vllm-7b", job));
}

// S11 and S04 hold eager steps with and without a quantized base, S02 a compiled one with.
TEST(FittedCases, OfAdaptersByWhatTheJobAsksFor) {
  EXPECT_TRUE(is_fitted("S04-litgpt", with_kernels(KernelStack::eager)));
  EXPECT_TRUE(is_fitted("S11-qwen", with_kernels(KernelStack::eager)));
  EXPECT_FALSE(is_fitted("S11-qwen", with_kernels(KernelStack::compiled)));
  EXPECT_TRUE(is_fitted("S02-torchtune", quantized(KernelStack::compiled)));
  EXPECT_FALSE(is_fitted("S02-torchtune", with_kernels(KernelStack::eager)));
  EXPECT_FALSE(is_fitted("S12-automodel", quantized(KernelStack::eager)));
}

TEST(FittedCases, LeavingOneOutChangesTheTwoEnginesAlone) {
  Profile const p = shipped();
  Profile const without = with_case_left_out(p, "I07-vime", with_kernels(KernelStack::fused));
  ASSERT_EQ(without.engines.size(), p.engines.size());
  for (std::size_t i = 0; i < p.engines.size(); ++i) {
    bool const trtllm = p.engines[i].engine == EngineKind::trtllm;
    bool const same = without.engines[i].source == p.engines[i].source;
    EXPECT_EQ(same, trtllm);
    if (trtllm) {
      EXPECT_EQ(without.engines[i].step.value, p.engines[i].step.value);
      EXPECT_EQ(without.engines[i].launch.value, p.engines[i].launch.value);
    } else {
      EXPECT_THAT(without.engines[i].source, HasSubstr("without I07"));
    }
  }
  EXPECT_EQ(without.eager_launches.source, p.eager_launches.source);
}

TEST(FittedCases, LeavingOneOutGivesGenerateItsOwnWork) {
  Profile const without =
      with_case_left_out(shipped(), "R22-deepspeed-chat-7b", with_kernels(KernelStack::fused));
  EngineOverhead const* const hf = find_overhead(without.engines, EngineKind::hf);
  ASSERT_NE(hf, nullptr);
  EXPECT_THAT(hf->source, HasSubstr("without R22-deepspeed-chat-7b"));
}

TEST(FittedCases, LeavingASourceOutMovesBothNumbersOfAdapters) {
  Profile const p = shipped();
  Profile const without = with_case_left_out(p, "S04-litgpt", with_kernels(KernelStack::eager));
  EXPECT_THAT(without.eager_launches.source, HasSubstr("without S04"));
  EXPECT_THAT(without.dequantization.source, HasSubstr("without S04"));
  // S04 has the slower hosts.
  EXPECT_LT(without.eager_launches.value, p.eager_launches.value);
}

TEST(FittedCases, ACaseThatNothingIsFittedOnCannotBeLeftOut) {
  EXPECT_THROW(with_case_left_out(shipped(), "R31-nemo-rl", with_kernels(KernelStack::fused)),
               std::logic_error);
}

}  // namespace
}  // namespace rollcast
