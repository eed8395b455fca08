#include "models/random.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace rollcast {
namespace {

// Known answers of philox4x32 with 10 rounds, from the file kat_vectors of Random123 (Salmon et al.).
TEST(Philox, MatchesThePublishedKnownAnswers) {
  using Block = std::array<std::uint32_t, 4>;
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomKey, EveryFieldChangesTheDraw) {
  RandomKey const key{7, Purpose::response_length, 3, 11};
  std::uint64_t const bits = random_bits(key);
  EXPECT_EQ(bits, random_bits(key));
  EXPECT_NE(bits, random_bits({8, Purpose::response_length, 3, 11}));
  EXPECT_NE(bits, random_bits({7, Purpose::prompt_length, 3, 11}));
  EXPECT_NE(bits, random_bits({7, Purpose::response_length, 4, 11}));
  EXPECT_NE(bits, random_bits({7, Purpose::response_length, 3, 12}));
  EXPECT_NE(bits, random_bits({7 + (1ULL << 32), Purpose::response_length, 3, 11}));
  EXPECT_NE(bits, random_bits({7, Purpose::response_length, 3, 11 + (1ULL << 32)}));
  EXPECT_NE(bits, random_words(key)[1]);
}

TEST(Uniform, NeverReachesZeroOrOne) {
  // Bits all 0: (0 + 1/2) 2^-52 = 2^-53. Bits all 1: (2^52 - 1/2) 2^-52 = 1 - 2^-53.
  EXPECT_DOUBLE_EQ(unit_interval(0), 0x1p-53);
  EXPECT_LT(unit_interval(~std::uint64_t{0}), 1.0);
  EXPECT_DOUBLE_EQ(1.0 - unit_interval(~std::uint64_t{0}), 0x1p-53);
}

TEST(Uniform, MomentsOfManyDraws) {
  // n = 200,000: the mean of a uniform has standard deviation sqrt(1/12/n) = 6.5e-4; five of them are
  // allowed.
  int const n = 200'000;
  double sum = 0;
  double normal_sum = 0;
  double normal_squares = 0;
  for (int i = 0; i < n; ++i) {
    RandomKey const key{1, Purpose::jitter, 0, static_cast<std::uint64_t>(i)};
    sum += uniform(key);
    double const z = standard_normal(key);
    normal_sum += z;
    normal_squares += z * z;
  }
  EXPECT_NEAR(sum / n, 0.5, 5 * 6.5e-4);
  EXPECT_NEAR(normal_sum / n, 0.0, 5 * std::sqrt(1.0 / n));
  EXPECT_NEAR(normal_squares / n, 1.0, 5 * std::sqrt(2.0 / n));
}

TEST(PortableExp, AgreesWithTheStandardLibrary) {
  for (double x = -700.0; x <= 700.0; x += 0.377) EXPECT_NEAR(portable_exp(x) / std::exp(x), 1.0, 1e-15) << x;
  EXPECT_DOUBLE_EQ(portable_exp(0.0), 1.0);
  EXPECT_DOUBLE_EQ(portable_exp(-800.0), 0.0);
  EXPECT_TRUE(std::isinf(portable_exp(800.0)));
  EXPECT_TRUE(std::isnan(portable_exp(std::numeric_limits<double>::quiet_NaN())));
}

TEST(PortableLog, AgreesWithTheStandardLibrary) {
  for (double x = 1e-300; x < 1e300; x *= 1.37)
    EXPECT_NEAR(portable_log(x), std::log(x), 1e-15 * std::fabs(std::log(x))) << x;
  for (double x = 0.5; x < 2.0; x += 0.0013)
    EXPECT_NEAR(portable_log(x), std::log(x), 1e-15 * std::fabs(std::log(x))) << x;
  EXPECT_DOUBLE_EQ(portable_log(1.0), 0.0);
  EXPECT_TRUE(std::isnan(portable_log(0.0)));
  EXPECT_TRUE(std::isnan(portable_log(-1.0)));
}

TEST(InverseNormal, MatchesTheTestValuesOfAS241) {
  // Wichura (1988) gives these to 16 digits for PPND16.
  EXPECT_NEAR(inverse_normal_cdf(0.25), -0.6744897501960817, 1e-15);
  EXPECT_NEAR(inverse_normal_cdf(0.001), -3.090232306167814, 4e-15);
  EXPECT_NEAR(inverse_normal_cdf(1e-20), -9.262340089798408, 1e-14);
  EXPECT_TRUE(std::isnan(inverse_normal_cdf(0.0)));
  EXPECT_TRUE(std::isnan(inverse_normal_cdf(1.0)));
}

TEST(NormalCdf, AgreesWithErfcAndInvertsTheInverse) {
  for (double x = -35.0; x <= 8.0; x += 0.0137) {
    EXPECT_NEAR(normal_cdf(x) / (0.5 * std::erfc(-x / std::sqrt(2.0))), 1.0, 1e-12) << x;
  }
  for (double p = 1e-250; p < 0.999; p *= 1.9)
    EXPECT_NEAR(normal_cdf(inverse_normal_cdf(p)) / p, 1.0, 1e-11) << p;
  for (double p = 0.001; p < 1.0; p += 0.001) EXPECT_NEAR(normal_cdf(inverse_normal_cdf(p)), p, 1e-15) << p;
}

}  // namespace
}  // namespace rollcast
