// The overhead of vLLM and SGLang again from the published generation phases, each case left out in turn.
#include "calibrate/generation_phases.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <iostream>

#include "calibrate/datasheet.hpp"
#include "models/catalog/catalog.hpp"

namespace rollcast {
namespace {

std::vector<GenerationPhase> const& phases() {
  static std::vector<GenerationPhase> const all = [] {
    std::vector<GenerationPhase> list;
    for (GenerationCase const& c : generation_cases()) list.emplace_back(c);
    return list;
  }();
  return all;
}

double error_of(GenerationPhase const& p, EngineOverhead const& o) {
  return p.forecast(o) / p.of().measured - 1;
}

TEST(GenerationPhases, KernelsAloneAreTooShortEverywhere) {
  for (GenerationPhase const& p : phases()) EXPECT_LT(error_of(p, {}), -0.1) << p.of().id;
}

// A step more of a millisecond costs a millisecond a step: 192 steps of 16 equal responses in one engine.
TEST(GenerationPhases, AStepOfOverheadIsPaidInEveryStep) {
  GenerationPhase const* sixteen = nullptr;
  for (GenerationPhase const& p : phases()) {
    if (p.of().samples == 16) sixteen = &p;
  }
  ASSERT_NE(sixteen, nullptr);
  EngineOverhead o;
  o.step = ms(1);
  EXPECT_NEAR((sixteen->forecast(o) - sixteen->forecast({})).value, 192 * 1e-3, 1e-9);
  o.step = Seconds(0);
  o.per_sequence = us(10);
  EXPECT_NEAR((sixteen->forecast(o) - sixteen->forecast({})).value, 192 * 16 * 10e-6, 1e-9);
}

// What the profile ships is the fit without R31, and every case that is left out is forecast within 25 %.
TEST(GenerationPhases, CasesLeftOutAreForeseen) {
  for (std::string const out : {"R31", "I06", "I07", "I02"}) {
    std::vector<std::string> left_out = {"R31"};
    if (out != "R31") left_out.push_back(out);
    EngineOverhead const o = fit_generation(phases(), left_out);
    std::string line = fmt::format("without {:<3} {} {:.2f} ms {:.0f} us:", out, out == "R31" ? "   " : "R31",
                                   o.step.value * 1e3, o.per_sequence.value * 1e6);
    for (GenerationPhase const& p : phases()) {
      line += fmt::format(" {} {:+.1f} %", p.of().id, 100 * error_of(p, o));
      if (p.of().id == out) {
        EXPECT_LT(std::fabs(error_of(p, o)), 0.25) << out;
      }
    }
    std::cout << line << '\n';
  }
}

TEST(GenerationPhases, TheProfileShipsTheFitWithoutR31) {
  EngineOverhead const o = fit_generation(phases(), {"R31"});
  Profile const p = datasheet_profile(*find_gpu(builtin_catalog(), "h100-sxm"));
  for (EngineKind const engine : {EngineKind::vllm, EngineKind::sglang}) {
    EngineOverhead const* const shipped = find_overhead(p.engines, engine);
    ASSERT_NE(shipped, nullptr);
    EXPECT_NE(shipped->source.find("R31 and R01 are left out"), std::string::npos);
    EXPECT_NEAR(shipped->step.value, o.step.value, 0.8e-3);
    EXPECT_NEAR(shipped->per_sequence.value, o.per_sequence.value, 11e-6);
  }
}

}  // namespace
}  // namespace rollcast
