// The profiles of every GPU of the catalog, most of them derived from a measured one.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "calibrate/embedded_profiles.hpp"
#include "calibrate/measured_profile.hpp"
#include "calibrate/profiles.hpp"
#include "models/catalog/catalog.hpp"
#include "models/layer_prices.hpp"

namespace rollcast {
namespace {

Gpu const& gpu_called(std::string const& name) { return *find_gpu(builtin_catalog(), name); }

// Made once: a profile is some hundred thousand numbers.
Profile const& profile_of_gpu(std::string const& name) {
  static std::map<std::string, Profile> made;
  auto it = made.find(name);
  if (it == made.end()) it = made.emplace(name, profile_for(gpu_called(name))).first;
  return it->second;
}

class EveryGpu : public testing::TestWithParam<std::string> {
 protected:
  Profile const& profile() const { return profile_of_gpu(GetParam()); }
  Kernels const& kernels() const { return *profile().kernels; }
};

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (Gpu const& g : builtin_catalog().gpus) all.push_back(g.name);
  return all;
}

INSTANTIATE_TEST_SUITE_P(Catalog, EveryGpu, testing::ValuesIn(names()), [](auto const& one) {
  std::string name = one.param;
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
});

std::vector<double> const kTokens = {1,   2,   4,    8,    16,   32,   48,   64,    96,    128,   192,   256,
                                     384, 512, 1024, 1536, 2048, 4096, 8192, 16384, 32768, 65536, 131072};
// Of models of the catalog and beside the knots of the tables.
std::vector<double> const kWidths = {64,   128,  512,   768,   1024,  2048,  3584,   4096,
                                     5120, 8192, 13824, 18944, 25600, 53248, 128256, 151936};
std::vector<HeadShape> const kHeads = {{32, 8, 128}, {8, 1, 128},  {28, 4, 128},
                                       {64, 8, 128}, {16, 16, 64}, {5, 1, 256}};
std::vector<MoeShape> const kExperts = {{2048, 768, 128, 8, 1, 1},
                                        {4096, 14336, 8, 2, 8, 1},
                                        {7168, 2048, 256, 8, 1, 32},
                                        {5120, 1536, 160, 6, 2, 4}};

void expect_priced(Seconds t, std::string const& what) {
  EXPECT_TRUE(std::isfinite(t.value) && t.value > 1e-7) << what << ": " << t.value;
}

// The last digits of exp(log) aside.
bool falls(Seconds from, Seconds to) { return to.value < from.value * (1 - 1e-9); }

TEST_P(EveryGpu, SaysWhatItsPricesStandOn) {
  PriceNote const& n = profile().note;
  EXPECT_EQ(n.gpu, GetParam());
  bool const measured = GetParam() == "h100-sxm" || GetParam() == "a100-sxm-80gb";
  EXPECT_EQ(n.basis, measured ? PriceBasis::measured : PriceBasis::derived);
  EXPECT_EQ(n.from, profile().gpu.fp8.value > 0 ? "h100-sxm" : "a100-sxm-80gb");
  EXPECT_FALSE(n.stack.empty());
  EXPECT_GT(n.median, 0);
  EXPECT_GT(n.p90, n.median);
  if (measured) return;
  PriceNote const& from = profile_of_gpu(n.from).note;
  EXPECT_GT(n.median, from.median);
  EXPECT_GT(n.p90, from.p90);
}

TEST_P(EveryGpu, ProductsNeverFallWithAlignedSizes) {
  for (GemmKind const kind : {GemmKind::bf16, GemmKind::fp8}) {
    GemmPrices const* const prices = kernels().gemm(kind);
    ASSERT_NE(prices, nullptr);
    for (double const n : kWidths) {
      for (double const k : kWidths) {
        for (std::size_t i = 0; i < kTokens.size(); ++i) {
          std::string const what = fmt::format("{} {} {} {}", name_of(kind), kTokens[i], n, k);
          Seconds const here = prices->at(kTokens[i], n, k);
          expect_priced(here, what);
          if (i > 0) {
            EXPECT_FALSE(falls(prices->at(kTokens[i - 1], n, k), here)) << what;
          }
          EXPECT_FALSE(falls(here, prices->at(kTokens[i], n + 128, k))) << what;
          EXPECT_FALSE(falls(here, prices->at(kTokens[i], n, k + 128))) << what;
        }
      }
    }
  }
}

TEST_P(EveryGpu, BlockScaledProductsHaveAPrice) {
  GemmPrices const* const prices = kernels().gemm(GemmKind::fp8_block);
  ASSERT_NE(prices, nullptr);
  for (double const m : kTokens) {
    for (double const n : kWidths) expect_priced(prices->at(m, n, 4096), fmt::format("{} {}", m, n));
  }
}

TEST_P(EveryGpu, AttentionNeverFallsWithBatchOrLength) {
  for (AttentionKind const kind : {AttentionKind::decode, AttentionKind::prefill}) {
    for (HeadShape const& heads : kHeads) {
      auto const prices = kernels().attention(kind, 2, 0, heads);
      ASSERT_TRUE(prices);
      for (double batch = 1; batch <= 1024; batch *= 2) {
        for (double length = 16; length <= 262144; length *= 2) {
          std::string const what =
              fmt::format("{} {} {} of {} heads", name_of(kind), batch, length, heads.heads);
          Seconds const here = prices->at(batch, length);
          expect_priced(here, what);
          EXPECT_FALSE(falls(here, prices->at(batch + 1, length))) << what;
          EXPECT_FALSE(falls(here, prices->at(batch, length * 1.25))) << what;
        }
      }
    }
  }
}

TEST_P(EveryGpu, ExpertsNeverFallWithTokens) {
  for (GemmKind const kind : {GemmKind::bf16, GemmKind::fp8}) {
    for (MoeShape const& shape : kExperts) {
      auto const prices = kernels().moe(kind, shape);
      ASSERT_TRUE(prices);
      for (std::size_t i = 0; i < kTokens.size(); ++i) {
        expect_priced(prices->at(kTokens[i]), fmt::format("{} tokens", kTokens[i]));
        if (i > 0) {
          EXPECT_FALSE(falls(prices->at(kTokens[i - 1]), prices->at(kTokens[i]))) << kTokens[i];
        }
      }
    }
  }
}

// Both rates at least those of the measured card: no kernel takes longer.
TEST_P(EveryGpu, AFasterCardIsNeverSlower) {
  Gpu const& card = profile().gpu;
  Profile const& from = profile_of_gpu(profile().note.from);
  if (card.bf16 < from.gpu.bf16 || card.fp8 < from.gpu.fp8 ||
      card.memory_bandwidth < from.gpu.memory_bandwidth)
    GTEST_SKIP() << "is not faster in everything";
  for (GemmKind const kind : {GemmKind::bf16, GemmKind::fp8, GemmKind::fp8_block}) {
    for (double const m : {1., 7., 16., 100., 128., 300., 512., 1000., 4096., 32768.}) {
      for (double const n : kWidths) {
        for (double const k : kWidths)
          EXPECT_FALSE(falls(kernels().gemm(kind)->at(m, n, k), from.kernels->gemm(kind)->at(m, n, k)))
              << name_of(kind) << ' ' << m << ' ' << n << ' ' << k;
      }
    }
  }
  for (HeadShape const& heads : kHeads) {
    for (AttentionKind const kind : {AttentionKind::decode, AttentionKind::prefill}) {
      auto const ours = kernels().attention(kind, 2, 0, heads);
      auto const theirs = from.kernels->attention(kind, 2, 0, heads);
      for (double batch = 1; batch <= 512; batch *= 4) {
        for (double length = 64; length <= 65536; length *= 4)
          EXPECT_FALSE(falls(ours->at(batch, length), theirs->at(batch, length))) << batch << ' ' << length;
      }
    }
  }
  for (MoeShape const& shape : kExperts) {
    auto const ours = kernels().moe(GemmKind::bf16, shape);
    auto const theirs = from.kernels->moe(GemmKind::bf16, shape);
    for (double const t : kTokens) EXPECT_FALSE(falls(ours->at(t), theirs->at(t))) << t;
  }
}

// At every border of every built-in table the price outside goes on where the table ends.
constexpr double kJump = 0.02;
constexpr double kStep = 1e-6;

void expect_no_jump(Seconds inside, Seconds outside, std::string const& what) {
  EXPECT_LT(std::fabs(outside / inside - 1), kJump) << what;
}

class EveryTable : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Measured, EveryTable, testing::Values("h100-sxm", "a100-sxm-80gb"),
                         [](auto const& one) { return one.param == "h100-sxm" ? "h100" : "a100"; });

std::vector<double> borders(std::vector<double> const& knots) { return {knots.front(), knots.back()}; }

TEST_P(EveryTable, ProductsDoNotJumpAtTheBorder) {
  Gpu const& gpu = gpu_called(GetParam());
  auto const tables = measured_tables_from({*embedded_profile_of(GetParam())});
  for (GemmTable const& t : tables.value->gemm) {
    GemmPrices const prices(t, gpu);
    auto const check = [&](double m, double n, double k, std::size_t axis) {
      auto const at = [&](double factor) {
        return prices.at(axis == 0 ? m * factor : m, axis == 1 ? n * factor : n, axis == 2 ? k * factor : k);
      };
      std::string const what = fmt::format("{} {} {} {}", name_of(t.kind), m, n, k);
      expect_no_jump(at(1), at(1 + kStep), what);
      expect_no_jump(at(1), at(1 - kStep), what);
    };
    for (double const n : t.n) {
      for (double const k : t.k) {
        for (double const m : borders(t.m)) check(m, n, k, 0);
      }
    }
    for (double const m : t.m) {
      for (double const k : t.k) {
        for (double const n : borders(t.n)) check(m, n, k, 1);
      }
      for (double const n : t.n) {
        for (double const k : borders(t.k)) check(m, n, k, 2);
      }
    }
    // The next whole number, whichever grid (aligned or not) prices it.
    for (double const n : t.n) {
      for (double const k : t.k)
        expect_no_jump(prices.at(t.m.back(), n, k), prices.at(t.m.back() + 1, n, k),
                       fmt::format("{} + 1 {} {}", t.m.back(), n, k));
    }
  }
}

TEST_P(EveryTable, AttentionAndExpertsDoNotJumpAtTheBorder) {
  Gpu const& gpu = gpu_called(GetParam());
  auto const tables = measured_tables_from({*embedded_profile_of(GetParam())});
  for (AttentionTable const& t : tables.value->attention) {
    for (HeadShape const& shape : t.shapes) {
      AttentionPrices const prices(t, gpu, shape);
      for (double const b : t.batch) {
        for (double const l : borders(t.length)) {
          expect_no_jump(prices.at(b, l), prices.at(b, l * (1 + kStep)),
                         fmt::format("batch {} length {}", b, l));
          expect_no_jump(prices.at(b, l), prices.at(b, l * (1 - kStep)),
                         fmt::format("batch {} length {}", b, l));
        }
      }
      for (double const l : t.length) {
        for (double const b : borders(t.batch)) {
          expect_no_jump(prices.at(b, l), prices.at(b * (1 + kStep), l),
                         fmt::format("batch {} length {}", b, l));
          expect_no_jump(prices.at(b, l), prices.at(b * (1 - kStep), l),
                         fmt::format("batch {} length {}", b, l));
        }
      }
    }
  }
  for (MoeTable const& t : tables.value->moe) {
    for (MoeShape const& shape : t.shapes) {
      MoePrices const prices(t, gpu, shape);
      for (double const tokens : borders(t.tokens)) {
        expect_no_jump(prices.at(tokens), prices.at(tokens * (1 + kStep)), fmt::format("{} tokens", tokens));
        expect_no_jump(prices.at(tokens), prices.at(tokens * (1 - kStep)), fmt::format("{} tokens", tokens));
      }
    }
  }
}

TEST(DerivedProfile, ACardWithOtherRatesIsNotTheMeasuredOne) {
  Gpu gpu = gpu_called("h100-sxm");
  EXPECT_EQ(price_note(gpu).basis, PriceBasis::measured);
  gpu.memory_bandwidth = gpu.memory_bandwidth * 1.1;
  PriceNote const n = price_note(gpu);
  EXPECT_EQ(n.basis, PriceBasis::derived);
  EXPECT_EQ(n.from, "h100-sxm");
}

// The same rates: the same kernels, though nobody measured this one.
TEST(DerivedProfile, TheSameChipHasTheSamePrices) {
  Kernels const& h100 = *profile_of_gpu("h100-sxm").kernels;
  Kernels const& h800 = *profile_of_gpu("h800-sxm").kernels;
  for (double const m : kTokens)
    EXPECT_EQ(h800.gemm(GemmKind::bf16)->at(m, 4096, 4096).value,
              h100.gemm(GemmKind::bf16)->at(m, 4096, 4096).value);
}

// H100 from A100 has fp8 and windows, by the tables of bf16 and full attention.
TEST(DerivedProfile, WhatTheMeasuredCardLacksHasAStandIn) {
  auto const p = profile_for(*embedded_profile_of("a100-sxm-80gb"), gpu_called("h100-sxm"));
  ASSERT_TRUE(p.value) << p.error;
  Kernels const& k = *p.value->kernels;
  // Large products follow the peaks.
  double const bf16 = k.gemm(GemmKind::bf16)->at(8192, 8192, 8192).value;
  EXPECT_NEAR(bf16 / k.gemm(GemmKind::fp8)->at(8192, 8192, 8192).value, 2, 0.05);
  HeadShape const heads{32, 8, 128};
  double const full = k.attention(AttentionKind::decode, 2, 0, heads)->at(256, 8192).value;
  EXPECT_NEAR(full / k.attention(AttentionKind::decode, 1, 0, heads)->at(256, 8192).value, 2, 0.1);
  EXPECT_LT(k.attention(AttentionKind::decode, 2, 1024, heads)->at(256, 8192).value, full / 4);
  EXPECT_EQ(p.value->note.basis, PriceBasis::derived);
  EXPECT_EQ(p.value->note.from, "a100-sxm-80gb");
}

}  // namespace
}  // namespace rollcast
