// Counter-based random numbers: a draw is a pure function of its key, so changing one part of a scenario does
// not reshuffle another. exp, log and the inverse normal are our own, so that the bytes are the same on every
// machine.
#pragma once

#include <cstdint>

namespace rollcast {

enum class Purpose : std::uint32_t { prompt_length, response_length, score_time, jitter, fault };

struct RandomKey {
  std::uint64_t seed = 0;
  Purpose purpose = Purpose::jitter;
  std::uint32_t step = 0;
  std::uint64_t index = 0;  // sample i of step s
};

std::uint64_t random_bits(RandomKey key);
double uniform(RandomKey key);          // in (0, 1), never 0 or 1, 53 bits
double standard_normal(RandomKey key);  // inverse-normal of uniform(key)

double portable_exp(double x);
double portable_log(double x);        // x > 0
double inverse_normal_cdf(double p);  // 0 < p < 1, relative error below 1e-9
double normal_cdf(double x);

}  // namespace rollcast
