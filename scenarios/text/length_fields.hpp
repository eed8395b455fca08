// Token lengths in a scenario: a number, or a map with one of
//   fixed: N
//   lognormal: {mean, p95}   both hold after the cut at max
//   lognormal: {mu, sigma}
//   empirical: lengths.csv   one length per line, or [lengths]
//   mixture: [{weight: W, one of the above}, ...]
// and an optional cut `max`.
#pragma once

#include <string>
#include <string_view>

#include "models/lengths.hpp"
#include "scenarios/text/fields.hpp"

namespace rollcast {

// Relative paths are resolved against `folder`.
void read_lengths(Fields& f, std::string_view key, Lengths& l, std::string const& folder,
                  std::string_view meaning);

// One line for people: "log-normal, mu 6.7, sigma 0.62, at most 3969".
std::string words_of(Lengths const& l);

}  // namespace rollcast
