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

// The list and what the profile says of its own numbers.
TEST(FittedCases, AreThoseThatTheProfileNames) {
  EXPECT_EQ(fitted_cases(), (std::vector<std::string>{"I02", "I06", "I07"}));
  Profile const p = shipped();
  EngineOverhead const* const vllm = find_overhead(p.engines, EngineKind::vllm);
  ASSERT_NE(vllm, nullptr);
  EXPECT_THAT(vllm->source, HasSubstr("I06, I07 (vLLM) and I02 (SGLang)"));
  EXPECT_THAT(vllm->source, HasSubstr("R31 and R01 are left out"));
}

TEST(FittedCases, LeavingOneOutChangesTheTwoEnginesAlone) {
  Profile const p = shipped();
  Profile const without = with_case_left_out(p, "I07");
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
}

TEST(FittedCases, ACaseThatNothingIsFittedOnCannotBeLeftOut) {
  EXPECT_THROW(with_case_left_out(shipped(), "R31"), std::logic_error);
}

}  // namespace
}  // namespace rollcast
