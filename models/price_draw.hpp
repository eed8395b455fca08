// How wrong prices may be, by kind of operation, and profiles with their prices drawn accordingly.
//
// In one draw each kind has one factor on all its times, exp(sigma x z) with z standard normal: median 1, and
// independent between kinds. sigma is derived from what a profile states of rows that its fits did not see,
// |price / measured - 1|. Of a single row that error is partly noise, which averages out over the kernels of
// a step, partly common to the kind; how much of it is common is said where the sigmas are
// (calibrate/price_errors.hpp). z depends on the seed, the number of the draw and the kind alone: two layouts
// meet the same errors in the same draw, on whatever card, so that their ratio has them out as far as both
// layouts feel them alike.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "models/profile.hpp"

namespace rollcast {

enum class PriceKind {
  products,
  decode_attention,
  prompt_attention,    // of prompts and of the trainer's forward
  attention_backward,  // over the forward
  experts,
  passes,  // norms, activations, losses, optimizer: bytes over bandwidth
  clock,   // under load
  node_collectives,
  network_collectives,
  host_copies,
  engine,    // work of a rollout engine between its kernels
  launches,  // host time of an operation
  dequantization
};
inline constexpr std::size_t kPriceKinds = 13;
std::string_view name_of(PriceKind k);

template <class Tag>
struct OfKinds {
  std::array<double, kPriceKinds> values{};
  double& operator[](PriceKind k) { return values[static_cast<std::size_t>(k)]; }
  double operator[](PriceKind k) const { return values[static_cast<std::size_t>(k)]; }
};
using PriceErrors = OfKinds<struct PriceErrorsTag>;    // sigma; 0: no error
using PriceScores = OfKinds<struct PriceScoresTag>;    // z of one draw
using PriceFactors = OfKinds<struct PriceFactorsTag>;  // on times; as constructed 0, which is no factor

// The sigma of a log-normal x of median 1 of which a share 0.9 has |x - 1| <= error:
//   Phi(ln(1 + error) / sigma) - Phi(ln(1 - error) / sigma) = 0.9,
// the second term 0 from error = 1 on. Near error / 1.645 for small ones. 0 for 0; std::logic_error below.
double sigma_of(double error_at_p90);

// The lengths of a draw: those of another seed, so that draws differ in them, too.
std::uint64_t seed_of_draw(std::uint64_t seed, std::uint32_t draw);  // seed + 1 + draw

PriceScores price_scores(std::uint64_t seed, std::uint32_t draw);
// One kind a sigma up, the others as they are.
PriceScores one_sigma_up(PriceKind k);

PriceFactors price_factors(PriceErrors const& e, PriceScores const& z);

// p with the times of every kind multiplied: its tables, its numbers (a share of a peak is divided, and stays
// at most 1) and, where it has tables, what stands outside it (OtherPrices). Factors of 1 change no price.
// As they are stay the floors that are physics (no decode faster than its roofline) and times that a scenario
// states. Factors > 0, else std::logic_error.
Profile perturbed(Profile const& p, PriceFactors const& f);

}  // namespace rollcast
