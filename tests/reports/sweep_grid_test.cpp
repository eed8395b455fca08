#include "reports/sweep_grid.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rollcast {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> values_of(std::string const& text) {
  auto const k = varied_key(text);
  EXPECT_EQ(k.error, "");
  return k.value ? k.value->values : std::vector<std::string>{};
}

std::string error_of(std::string const& text) { return varied_key(text).error; }

TEST(VariedKey, ValuesAreInOrderOfSizeThenOfTheirBytes) {
  EXPECT_EQ(varied_key("train.parallel.tp=4,1,2").value->key, "train.parallel.tp");
  EXPECT_THAT(values_of("a=10, 9,1e1,b,-2.5,A"), ElementsAre("-2.5", "9", "10", "1e1", "A", "b"));
  EXPECT_THAT(values_of("a=nan,1,inf"), ElementsAre("1", "inf", "nan"));
}

TEST(VariedKey, CommasInBracketsAndQuotesStay) {
  EXPECT_THAT(values_of("schedule={async: {max_staleness: 1, sync_every: 2}},synchronous"),
              ElementsAre("synchronous", "{async: {max_staleness: 1, sync_every: 2}}"));
  EXPECT_THAT(values_of("a=[1, [2, 3]],[4]"), ElementsAre("[1, [2, 3]]", "[4]"));
  EXPECT_THAT(values_of(R"(a="x, \" y",'b, c',don't)"), ElementsAre(R"("x, \" y")", "'b, c'", "don't"));
  EXPECT_THAT(values_of("a=b=c"), ElementsAre("b=c"));
}

TEST(VariedKey, SeedsMayBeRanges) {
  EXPECT_THAT(values_of("seed=7,1..3"), ElementsAre("1", "2", "3", "7"));
  EXPECT_THAT(values_of("seed=18446744073709551615"), ElementsAre("18446744073709551615"));
  EXPECT_THAT(values_of("a=1..3"), ElementsAre("1..3"));
  for (char const* bad : {"seed=x", "seed=-1", "seed=3..1", "seed=1..", "seed=1.5"})
    EXPECT_THAT(error_of(bad), HasSubstr("is no seed")) << bad;
  EXPECT_THAT(error_of("seed=0..18446744073709551615"), HasSubstr("more than"));
}

TEST(VariedKey, WhatIsWrongIsToldInOneSentence) {
  EXPECT_THAT(error_of("a"), HasSubstr("write a key and its values"));
  EXPECT_THAT(error_of("=1"), HasSubstr("write a key and its values"));
  EXPECT_EQ(error_of("a=1,,2"), "--vary a=1,,2: a value is empty");
  EXPECT_EQ(error_of("a=1,2,1"), "--vary a=1,2,1: 1 is there twice; leave one out");
  EXPECT_EQ(error_of("seed=1..3,2"), "--vary seed=1..3,2: 2 is there twice; leave one out");
  EXPECT_EQ(error_of("a=[1,2"), "--vary a=[1,2: a ] is missing");
  EXPECT_EQ(error_of("a=\"x"), "--vary a=\"x: a \" is not closed");
}

TEST(Grid, TheLastKeyRunsFastest) {
  auto const grid = grid_of({"a=1,2", "b=x,y,z"});
  ASSERT_TRUE(grid.value);
  ASSERT_EQ(points_of(*grid.value), 6u);
  EXPECT_THAT(values_at(*grid.value, 0), ElementsAre("1", "x"));
  EXPECT_THAT(values_at(*grid.value, 1), ElementsAre("1", "y"));
  EXPECT_THAT(values_at(*grid.value, 5), ElementsAre("2", "z"));
}

TEST(Grid, IsRefusedWithAKeyTwiceAndWithTooManyPoints) {
  EXPECT_EQ(grid_of({"a=1", "a=2"}).error, "--vary a is given twice; write all its values in one");
  EXPECT_TRUE(grid_of({"seed=1..1000", "a=1,2,3,4"}).value);
  EXPECT_THAT(grid_of({"seed=1..1000000", "a=1,2"}).error, HasSubstr("more than 1000000 points"));
}

}  // namespace
}  // namespace rollcast
