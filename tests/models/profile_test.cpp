#include "models/profile.hpp"

#include <gtest/gtest.h>

namespace rollcast {
namespace {

TEST(PriceNote, IsASentence) {
  EXPECT_EQ(sentence({}), "");
  PriceNote n;
  n.gpu = "h100-sxm";
  EXPECT_EQ(sentence(n), "Prices: h100-sxm, data sheet and cited shares of it.");
  n.basis = PriceBasis::measured;
  n.from = "h100-sxm";
  n.stack = "vllm 0.24.0";
  n.median = 0.034;
  n.p90 = 0.112;
  n.band = "rows held out of the fit";
  EXPECT_EQ(
      sentence(n),
      "Prices: h100-sxm, measured (vllm 0.24.0); error of a kernel 3.4 % median, 11 % at p90 (rows held out "
      "of the fit).");
  n.gpu = "h200-sxm";
  n.basis = PriceBasis::derived;
  n.date = "2026-01-31";
  n.p90 = 0.4;
  n.band = "";
  EXPECT_EQ(
      sentence(n),
      "Prices: h200-sxm, derived from h100-sxm by the ratio of rooflines (vllm 0.24.0, 2026-01-31); error of "
      "a kernel 3.4 % median, 40 % at p90.");
  n.own = {"mine", "h200-sxm", "nccl 2.29.2", "2026-02-01", {"collectives", "pcie"}};
  EXPECT_EQ(
      sentence(n),
      "Prices: h200-sxm, collectives, pcie measured by own profile 'mine' (nccl 2.29.2, 2026-02-01); the "
      "rest "
      "derived from h100-sxm by the ratio of rooflines (vllm 0.24.0, 2026-01-31); error of a kernel 3.4 % "
      "median, 40 % at p90.");
  n.own.from = "h20";
  EXPECT_TRUE(sentence(n).starts_with("Prices: h200-sxm, collectives, pcie derived from h20 by own profile"));
  n.own.operations = {};
  EXPECT_TRUE(sentence(n).starts_with(
      "Prices: h200-sxm, nothing of own profile 'mine' was used; all derived from h100-sxm by"));
}

}  // namespace
}  // namespace rollcast
