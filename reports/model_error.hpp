// How far forecasts lie from measured runs beyond what errors of prices and lengths explain: physics that is
// missing, and configurations that were not published whole. Pure.
//
// A residual is ln(measured / forecast) of one measured quantity, beside the log widths of its band of draws,
// down = ln(p50 / p10) and up = ln(p90 / p50). The model's own term m widens a band to
//   p50 x exp(-sqrt(down^2 + m^2)) ... p50 x exp(+sqrt(up^2 + m^2)),
// and m is the least that brings 80 % of the measured runs into theirs, every source with the same weight:
// a source with many rows tells no more of the next source than one with few.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rollcast {

inline constexpr double kNominalCoverage = 0.8;

struct Residual {
  std::string source;
  double log_error = 0;  // of measured over p50
  double down = 0;
  double up = 0;
};

// Whether the measured value lies in the band that the term has widened (0: in that of the draws).
bool is_inside(Residual const& r, double term);

// sqrt(max(0, q)), q: the least of log_error^2 - (down or up)^2 that residuals of at least 80 % of the weight
// do not exceed. nullopt without residuals.
std::optional<double> model_term(std::vector<Residual> const& residuals);

struct Covered {
  int cases = 0;
  int sources = 0;
  double share = 0;            // of the cases
  double share_by_source = 0;  // mean over the sources of the share of their cases
};
Covered covered(std::vector<Residual> const& residuals, double term);
// With the term of each source taken from all others; nothing is covered where there are none.
Covered covered_left_out(std::vector<Residual> const& residuals);

// The terms that reports use, by kind of quantity ("step", "phases", "throughput", "memory"): model_term of
// the runs of grade A and A-. nullopt: none is kept of that kind.
std::optional<double> kept_model_term(std::string_view kind);
inline constexpr std::string_view kModelTermSource =
    "rollcast validate scenarios/published --draws 16, 2026-11-30, grades A and A-";

}  // namespace rollcast
