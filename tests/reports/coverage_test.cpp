// The model's own error and the coverage of bands, worked out by hand.
#include "reports/coverage.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "reports/validation_report.hpp"

namespace rollcast {
namespace {

TEST(ModelError, ABandHoldsWhatIsWithinBothInSquares) {
  EXPECT_TRUE(is_inside({"s", 0.3, 0.1, 0.3}, 0));
  EXPECT_FALSE(is_inside({"s", -0.3, 0.1, 0.3}, 0));  // the band goes 0.1 down
  EXPECT_TRUE(is_inside({"s", 0.5, 0, 0.3}, 0.4));
  EXPECT_FALSE(is_inside({"s", 0.51, 0, 0.3}, 0.4));
}

// Bands without width. Source a: 0.1 and 0.2 with weight 1/4 each, b: 0.4 with 1/2. At 80 % of the weight 0.4
// is among them; with b at 0.15 the order is 0.1, 0.15, 0.2 and 0.75 of the weight is not enough either.
TEST(ModelError, EverySourceHasTheSameWeight) {
  EXPECT_DOUBLE_EQ(*model_term({{"a", 0.1, 0, 0}, {"a", -0.2, 0, 0}, {"b", 0.4, 0, 0}}), 0.4);
  EXPECT_DOUBLE_EQ(*model_term({{"a", 0.1, 0, 0}, {"a", -0.2, 0, 0}, {"b", 0.15, 0, 0}}), 0.2);
  EXPECT_FALSE(model_term({}));
}

// 0.5 with a half width of 0.3 asks for 0.4; what lies in its band asks for nothing.
TEST(ModelError, IsWhatPricesDoNotExplain) {
  EXPECT_DOUBLE_EQ(*model_term({{"a", 0.5, 0, 0.3}}), 0.4);
  EXPECT_EQ(*model_term({{"a", 0.1, 0, 0.3}}), 0);
}

// Sources at 0.1, 0.2 and 0.6. Left out, 0.1 and 0.2 are covered by 0.6 of the others, 0.6 is not by 0.2.
TEST(ModelError, ASourceIsJudgedByTheOthers) {
  std::vector<Residual> const three = {
      {"a", 0.1, 0, 0}, {"b", 0.2, 0, 0}, {"c", 0.6, 0, 0}, {"c", -0.15, 0, 0}};
  Covered const c = covered_left_out(three);
  EXPECT_EQ(c.cases, 4);
  EXPECT_EQ(c.sources, 3);
  EXPECT_DOUBLE_EQ(c.share, 0.75);  // of c one of two
  EXPECT_DOUBLE_EQ(c.share_by_source, (1 + 1 + 0.5) / 3);
  EXPECT_EQ(covered(three, 0).share, 0);
  EXPECT_EQ(covered(three, 0.2).share, 0.75);
  EXPECT_EQ(covered_left_out({{"a", 0, 0, 0}}).share, 0);  // nobody else
}

TEST(ModelError, IsKeptOfEveryKindThatWasMeasured) {
  for (char const* kind : {"step", "phases", "throughput", "memory"}) {
    ASSERT_TRUE(kept_model_term(kind)) << kind;
    EXPECT_GT(*kept_model_term(kind), 0) << kind;
  }
  EXPECT_FALSE(kept_model_term("other"));
  EXPECT_FALSE(kept_model_term(""));
}

std::vector<double> draws_around(double middle) {
  std::vector<double> v;
  for (int i = -4; i <= 4; ++i) v.push_back(middle * std::exp(0.025 * i));  // p10 and p90 at -0.1 and 0.1
  return v;
}

ValidationCase case_with(std::string source, double measured, bool fitted = false) {
  MeasuredQuantity q{"step_seconds", measured, 100, std::nullopt, "", draws_around(100)};
  if (fitted) q.left_out = 80;
  return {"c", std::move(source), "A", "work", fitted, {q}, ""};
}

// 105 lies inside, 120 (ln 1.2 = 0.18) outside; of the fitted case the band lies around 80.
TEST(Coverage, CountsWhatTheDrawsHold) {
  std::vector<ValidationCase> cases = {case_with("a", 105), case_with("b", 120), case_with("c", 80, true)};
  cases.push_back(case_with("d", 100));
  cases.back().quantities[0].draws.clear();  // not drawn
  auto const rows = coverage(cases);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].kind, "step");
  EXPECT_EQ(rows[0].draws.cases, 3);
  EXPECT_DOUBLE_EQ(rows[0].draws.share, 2.0 / 3);
  EXPECT_NEAR(rows[0].width, 0.1, 1e-12);
  double const excess = std::log(1.2) * std::log(1.2) - 0.01;
  EXPECT_NEAR(rows[0].term, std::sqrt(excess), 1e-12);  // each has a third of the weight
  EXPECT_DOUBLE_EQ(rows[0].with_model.share, 2.0 / 3);  // 120 by the others, who need no term
  std::string const text = validation_text(validate(cases, {}), PairsShown::all);
  EXPECT_NE(text.find("Measured within p10 to p90"), std::string::npos);
  EXPECT_EQ(validation_text(validate({cases.back()}, {}), PairsShown::all).find("Measured within"),
            std::string::npos);
}

}  // namespace
}  // namespace rollcast
