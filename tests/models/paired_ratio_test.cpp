#include "models/paired_ratio.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <utility>

#include "models/student_t.hpp"

namespace rollcast {
namespace {

// Two-sided 95 % points of the usual tables (NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2), and
// in closed form: one degree is Cauchy, tan(0.95 pi / 2); two degrees p = t / sqrt(2 + t^2), t^2 = 2 p^2 / (1
// - p^2).
TEST(StudentT, HasTheTabulatedQuantiles) {
  for (auto const& [degrees, t] : {std::pair{1, 12.706},
                                   {2, 4.303},
                                   {3, 3.182},
                                   {4, 2.776},
                                   {5, 2.571},
                                   {9, 2.262},
                                   {19, 2.093},
                                   {30, 2.042},
                                   {100, 1.984}})
    EXPECT_NEAR(t_within(0.95, degrees), t, 0.0005) << degrees;
  EXPECT_NEAR(t_within(0.95, 1), std::tan(0.95 * M_PI / 2), 1e-9);
  EXPECT_NEAR(t_within(0.95, 2), std::sqrt(2 * 0.9025 / 0.0975), 1e-9);
  EXPECT_NEAR(t_within(0.9, 4), 2.132, 0.0005);
}

TEST(StudentT, RefusesWhatIsNoDistribution) {
  EXPECT_THROW(t_within(0.95, 0), std::logic_error);
  EXPECT_THROW(t_within(1, 3), std::logic_error);
}

// Ratios 1, 2 and 4: logs 0, ln 2, 2 ln 2 with mean ln 2 and deviation ln 2; half = 4.303 ln 2 / sqrt(3) =
// 1.72188, exp(0.693147 -+ 1.72188) = 0.3575 and 11.190.
TEST(PairedRatio, IsByHand) {
  PairedRatio const r = paired_ratio({3, 8, 20}, {3, 4, 5});
  EXPECT_NEAR(r.ratio, 2, 1e-12);
  ASSERT_TRUE(r.low && r.high);
  EXPECT_NEAR(*r.low, 0.3574, 0.0002);
  EXPECT_NEAR(*r.high, 11.191, 0.005);
  EXPECT_FALSE(r.above_one());
}

// The scatter that both share drops out.
TEST(PairedRatio, SharedScatterDoesNotCount) {
  PairedRatio const r = paired_ratio({2, 20, 200}, {1, 10, 100});
  EXPECT_NEAR(r.low.value(), 2, 1e-9);
  EXPECT_NEAR(r.high.value(), 2, 1e-9);
  EXPECT_TRUE(r.above_one());
}

TEST(PairedRatio, OfTheSameIsOne) {
  PairedRatio const r = paired_ratio({1.1, 1.3}, {1.1, 1.3});
  EXPECT_EQ(r.ratio, 1);
  EXPECT_EQ(r.low, 1);
  EXPECT_FALSE(r.above_one());
}

TEST(PairedRatio, OfOnePairHasNoInterval) {
  PairedRatio const r = paired_ratio({3}, {2});
  EXPECT_FALSE(r.low || r.high);
  EXPECT_DOUBLE_EQ(r.ratio, 1.5);
  EXPECT_TRUE(r.above_one());
}

TEST(PairedRatio, RefusesWhatHasNoRatio) {
  EXPECT_THROW(paired_ratio({}, {}), std::logic_error);
  EXPECT_THROW(paired_ratio({1}, {1, 2}), std::logic_error);
  EXPECT_THROW(paired_ratio({1}, {0}), std::logic_error);
}

}  // namespace
}  // namespace rollcast
