// How wrong each kind of price of a profile may be: the sigmas of models/price_draw.hpp.
//
// What a profile states is the error of single rows that its fits did not see; sigma_of its p90 is that of a
// row. How much of it is common to all rows of a kind, so that it does not average out over the kernels of a
// step, was looked up in the signed medians of `rollcast calibrate check` (2026-11-30):
//   the same machine   held-out rows are off by -1 to +1 % in the middle, a tenth of a row's sigma
//   other machines     layers' products by +0.6, +4.3 and -10.8 % (root mean square 6.7 %), collectives of
//                      one node by -13 to +1 % (7.9 %), as much as a row's sigma or more
//   another card       (A100's profile against H100's tables) products 8.9 %, decode 18 %, prompts 13 %,
//                      experts 2 %, passes 19 %, collectives 25 %: 0.05 to 0.96 of a row's sigma, mean 0.56
// Assumed of it: on a measured card the whole sigma of a row is common to its kind, which stands in for the
// differences between machines that no held-out row of one machine shows, and at least what other machines
// showed; on a derived card 0.56 of a row's sigma is.
//
// Where no row was held out:
//   attention backward   p90 26 % (A100, 6 rows: all that were ever held out)
//   network collectives  p90 15 % (all-reduce of two nodes, another cluster of the same kind)
//   engine overhead      0.25: at 64 sequences a step the fits without I06, I07 and I02 give 1.23, 0.72 and
//                        0.85 of it
//   launches             0.30: without S04 and S11 0.90 and 1.5 of it
//   dequantization       0.30: without S04 and S11 1.38 and 0.75 of it
//   host copies          0.10: assumed
#pragma once

#include <vector>

#include "calibrate/measured_profile.hpp"
#include "models/job.hpp"
#include "models/price_draw.hpp"

namespace rollcast {

// Of texts that complete one another: of a kind the first text that states an error of it counts, each of its
// operations with the weight of its held-out rows.
PriceErrors price_errors(ProfileTexts const& texts, Gpu const& gpu);

// Of the built-in prices of each of the job's pools, in their order.
std::vector<PriceErrors> price_errors_for(Job const& job);

// Each pool's profile with the prices of one draw: the same scores, each by its own errors.
std::vector<Profile> perturbed(std::vector<Profile> const& of_pools, std::vector<PriceErrors> const& errors,
                               PriceScores const& z);

}  // namespace rollcast
