// The sigmas of a profile's prices.
#include "calibrate/price_errors.hpp"

#include <gtest/gtest.h>

#include "models/catalog/catalog.hpp"

namespace rollcast {
namespace {

Gpu const& card(char const* name) { return *find_gpu(builtin_catalog(), name); }

// 100 rows of 10 % and 300 of 20 %: 17.5 %. Collectives of 1 % are below what other machines showed.
ProfileText two_operations() {
  ProfileText t;
  t.gpu = "h100-sxm";
  t.operations = {{"attention_decode", "bf16", Basis::measured, "", "", 1, 100, 0.05, 0.1},
                  {"attention_decode window 128", "bf16", Basis::measured, "", "", 1, 300, 0.05, 0.2},
                  {"moe balanced", "bf16", Basis::measured, "", "", 1, 0, 0, 0},
                  {"collectives", "", Basis::fitted, "", "", 1, 10, 0.01, 0.01}};
  return t;
}

TEST(PriceErrors, AreThoseOfTheHeldOutRows) {
  PriceErrors const e = price_errors({two_operations()}, card("h100-sxm"));
  EXPECT_DOUBLE_EQ(e[PriceKind::decode_attention], sigma_of(0.175));
  EXPECT_EQ(e[PriceKind::experts], 0);  // nothing is known of them
  EXPECT_EQ(e[PriceKind::node_collectives], 0.079);
  EXPECT_EQ(e[PriceKind::engine], 0.25);
}

TEST(PriceErrors, AreLargerOnACardThatNobodyMeasured) {
  PriceErrors const e = price_errors({two_operations()}, card("h200-sxm"));
  EXPECT_DOUBLE_EQ(e[PriceKind::decode_attention], 0.56 * sigma_of(0.5));
  Job job;
  job.pools = {{"a", {}, false}, {"b", {}, false}};
  job.pools[0].cluster.node.gpu = card("h100-sxm");
  job.pools[1].cluster.node.gpu = card("h200-sxm");
  auto const both = price_errors_for(job);
  ASSERT_EQ(both.size(), 2U);
  for (std::size_t k = 0; k < kPriceKinds; ++k) {
    EXPECT_GT(both[0].values[k], 0) << name_of(static_cast<PriceKind>(k));
    EXPECT_GE(both[1].values[k], both[0].values[k]) << name_of(static_cast<PriceKind>(k));
  }
}

// A user's own text says how wrong its own tables are, the built-in one the rest.
TEST(PriceErrors, OfACompletedProfileTheFirstTextCounts) {
  ProfileText own = two_operations();
  own.operations = {{"moe balanced", "bf16", Basis::measured, "", "", 1, 100, 0.05, 0.3}};
  PriceErrors const e = price_errors({own, two_operations()}, card("h100-sxm"));
  EXPECT_DOUBLE_EQ(e[PriceKind::experts], sigma_of(0.3));
  EXPECT_DOUBLE_EQ(e[PriceKind::decode_attention], sigma_of(0.175));
}

}  // namespace
}  // namespace rollcast
