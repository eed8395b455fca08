// Counter-based random numbers: a draw is a pure function of its key, so changing one part of a scenario does
// not reshuffle another. exp, log and the inverse normal are our own, so that the bytes are the same on every
// machine; they use only +, -, x, / and sqrt (exact by IEEE 754) and frexp, ldexp (exact).
//
// The bits are Philox-4x32 with 10 rounds (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as
// 1, 2, 3, SC'11), because its 128-bit counter takes the whole key as it is, with nothing to mix: counter =
// {index low, index high, step, purpose}, key = seed. Two different keys never share a counter.
#pragma once

#include <array>
#include <cstdint>

namespace rollcast {

enum class Purpose : std::uint32_t {
  prompt_length,
  response_length,
  score_time,
  jitter,
  fault,
  turns,
  observation_length,
  tool_time,
  reward_signal,
  node_failure,
  issue_order,
  prompt_difficulty,
  price_error,
  arrival,
  adapter_choice
};

struct RandomKey {
  std::uint64_t seed = 0;
  Purpose purpose = Purpose::jitter;
  std::uint32_t step = 0;
  std::uint64_t index = 0;  // sample i of step s
};

// One Philox-4x32-10 block.
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key);

// The two independent 64-bit words of a key's block; random_bits is the first.
std::array<std::uint64_t, 2> random_words(RandomKey key);
std::uint64_t random_bits(RandomKey key);

// The upper 52 bits as an odd multiple of 2^-53: in (0, 1), never 0 or 1, symmetric about 1/2.
double unit_interval(std::uint64_t bits);
double uniform(RandomKey key);          // unit_interval(random_bits(key))
double standard_normal(RandomKey key);  // inverse-normal of uniform(key)

double portable_exp(double x);        // relative error below 1e-15; 0 and infinity beyond the double range
double portable_log(double x);        // x > 0, else NaN; relative error below 1e-15
double inverse_normal_cdf(double p);  // 0 < p < 1, else NaN; Wichura's AS 241, relative error below 1e-15
double normal_cdf(double x);          // relative error below 1e-12 for x > -35

}  // namespace rollcast
