// What errors of prices and other lengths of the responses make of a run's figures: bands over draws
// (models/price_draw.hpp), pure functions of headlines.
//
// Draw k of two layouts has the same errors and the same lengths, so that their ratio, draw by draw, has them
// out as far as both feel them alike.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/price_draw.hpp"
#include "reports/headline.hpp"

namespace rollcast {

inline constexpr int kFewestDraws = 9;  // with fewer p10 and p90 lie outside what was drawn
inline constexpr int kMostDraws = 10'000;

struct Band {
  double p10 = 0;
  double p50 = 0;
  double p90 = 0;
};

// Values of n draws cut the line into n + 1 parts of equal chance: a further draw lies below the quantile of
// share q with chance q. Linear between order statistics at place q (n + 1) from 1, the ends from 9 draws on;
// with fewer the least and the largest. std::logic_error for no values.
Band band_of(std::vector<double> values);

// Widened by the model's own error (model_error.hpp). The band as it is where p10 is not above 0.
Band with_model_error(Band b, double term);

// One figure of a headline. kind: of the model error that is its own ("step", "phases", "throughput",
// "memory"); empty: none was ever measured.
struct RunFigure {
  std::string name;  // as in the JSON of a run: "step_seconds", "busy_fraction", ...
  std::string pool;  // "": of the run
  std::string phase;
  std::string_view kind;
  double value = 0;
};
// Step time, throughput, GPU-hours, dollars (where they are known), weight sync, phases, busy share and
// memory of each pool, in this order; of a run that serves, rates and latencies (reports/serving_columns.hpp)
// in the place of what is of steps. Empty without a step.
std::vector<RunFigure> figures_of(Headline const& h);

struct FigureBand {
  RunFigure forecast;
  Band draws;
  std::optional<Band> with_model;
};

// What a kind of price does to the step time, of serving to the mean latency, when it is one sigma dearer.
struct PriceEffect {
  PriceKind kind = PriceKind::products;
  double sigma = 0;
  double step_change = 0;  // step / step of the forecast - 1
};

struct Uncertainty {
  int draws = 0;
  int completed = 0;  // the others say nothing of times
  std::vector<FigureBand> figures;
  std::vector<PriceEffect> effects;  // largest change first; without those below 0.05 %
};

// A figure's band is over the completed draws that have it.
Uncertainty uncertainty_of(Headline const& forecast, std::vector<Headline> const& draws,
                           std::vector<PriceEffect> effects);

// Figure of a over that of b, draw by draw, where both completed and b's is above 0: give its band_of to
// somebody who asks which is better. std::logic_error if there are not as many of one as of the other.
std::vector<double> ratios(std::vector<Headline> const& a, std::vector<Headline> const& b,
                           std::function<double(Headline const&)> const& figure);

// Whether the band says that there is a difference: 1 lies outside p10 ... p90.
bool tells_a_difference(Band const& ratio);

}  // namespace rollcast
