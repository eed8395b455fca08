#include "models/staleness.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>

namespace rollcast {
namespace {

TEST(Staleness, CountsVersionsBetweenSamplingAndTraining) {
  StalenessCounts c;
  EXPECT_DOUBLE_EQ(mean(c), 0);
  EXPECT_EQ(most(c), 0);
  add(c, 3, 3);
  add(c, 2, 4, 3);
  EXPECT_EQ(c.samples, (std::vector<std::int64_t>{1, 0, 3}));
  EXPECT_DOUBLE_EQ(mean(c), 6.0 / 4);
  EXPECT_EQ(most(c), 2);
  StalenessCounts more;
  add(more, 0, 4);
  add(c, more);
  EXPECT_EQ(total(c), 5);
  EXPECT_DOUBLE_EQ(mean(c), 2);
  EXPECT_THROW(add(c, 2, 1), std::logic_error);
}

TEST(Staleness, AVersionHoldsFromItsUpdateOn) {
  std::vector<Seconds> const updates{seconds(2), seconds(5)};
  EXPECT_EQ(version_at(updates, seconds(1.9)), 0);
  EXPECT_EQ(version_at(updates, seconds(2)), 1);
  EXPECT_EQ(version_at(updates, seconds(9)), 2);
}

// By hand, n = 2, S = 4, B = 2: samples start at 0, 2, 4 ...; batch k starts at 4 k and 4 k + 2 and is
// complete at 4 k + 6, so version v is there at 4 v + 2 + D.
//   D = 0: at 4 k it is version k - 1, at 4 k + 2 version k: 1 and 0 old.
//   D = 1: k - 1 at both. D = 4, the most: k - 2 and k - 1.
TEST(Staleness, OfTheFixedServiceToy) {
  auto const toy = [](std::int64_t n, std::int64_t b, double s, double d) {
    return mean_staleness({n, b, seconds(s), seconds(d)});
  };
  EXPECT_DOUBLE_EQ(toy(2, 2, 4, 0), 0.5);
  EXPECT_DOUBLE_EQ(toy(2, 2, 4, 1), 1);
  EXPECT_DOUBLE_EQ(toy(2, 2, 4, 4), 1.5);
  EXPECT_THROW(toy(2, 2, 4, 4.1), std::logic_error);
  EXPECT_THROW(toy(0, 2, 4, 1), std::logic_error);
  EXPECT_DOUBLE_EQ(toy(1, 1, 1, 0), 0);  // one at a time, trained before the next starts
}

}  // namespace
}  // namespace rollcast
