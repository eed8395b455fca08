#include "reports/commands/variants.hpp"

#include <gtest/gtest.h>

namespace rollcast {
namespace {

using Sets = std::vector<std::string>;

TEST(Variants, AreSeparatedByCommasOutsideOfBrackets) {
  EXPECT_EQ(variant_sets("a=1").sets, Sets{"a=1"});
  EXPECT_EQ(variant_sets("a.b=1,schedule={async: {max_staleness: 1, sync_every: 1}},c=[1, 2]").sets,
            (Sets{"a.b=1", "schedule={async: {max_staleness: 1, sync_every: 1}}", "c=[1, 2]"}));
  EXPECT_EQ(variant_sets("a='x,y',b=\"z,}\"").sets, (Sets{"a='x,y'", "b=\"z,}\""}));
}

TEST(Variants, AnApostropheInAWordIsNoQuote) {
  EXPECT_EQ(variant_sets("a=don't,b=1").sets, (Sets{"a=don't", "b=1"}));
}

TEST(Variants, WhatIsOpenedMustBeClosed) {
  EXPECT_EQ(variant_sets("a={b: 1,c=2").error, "'a={b: 1,c=2': a } is missing");
  EXPECT_EQ(variant_sets("a='x,b=1").error, "'a='x,b=1': a ' is not closed");
}

TEST(Variants, SayWhatIsNoValue) {
  EXPECT_EQ(variant_sets("a=1").error, "");
  EXPECT_EQ(variant_sets("a=1,b").error, "'b' of 'a=1,b' is not KEY=VALUE");
  EXPECT_NE(variant_sets("").error, "");
  EXPECT_NE(variant_sets("=1").error, "");
}

}  // namespace
}  // namespace rollcast
