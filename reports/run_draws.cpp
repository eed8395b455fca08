#include "reports/run_draws.hpp"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "models/rent.hpp"
#include "reports/analysis.hpp"
#include "reports/forecast.hpp"

namespace rollcast {
namespace {

using Json = nlohmann::json;

// One simulation: the scores of its prices, and the seed of its lengths.
struct Drawn {
  PriceScores z;
  std::uint64_t seed = 0;
};

std::string to_text(Drawn const& d) { return Json({d.z.values, d.seed}).dump(); }

Drawn drawn_from_text(std::string const& text) {
  Json const j = Json::parse(text);
  Drawn d;
  d.z.values = j.at(0).get<decltype(d.z.values)>();
  d.seed = j.at(1).get<std::uint64_t>();
  return d;
}

Headline simulated(DrawnRun const& run, Drawn const& d) {
  RunOptions options = run.options;
  options.seed = d.seed;
  options.record_allocations = false;
  Headline h =
      headline_of(analyse(simulate(run.scenario, perturbed(run.profiles, run.errors, d.z), options)));
  add_rent(h, dollars_per_hour(run.scenario.job));
  return h;
}

double largest_sigma(std::vector<PriceErrors> const& errors, PriceKind k) {
  double sigma = 0;
  for (PriceErrors const& e : errors) sigma = std::max(sigma, e[k]);
  return sigma;
}

// What dearer prices make longer.
std::optional<double> time_of(Headline const& h) {
  if (h.serving) return (*h.serving)[ServingColumn::latency_mean];
  return h.steps > 0 ? std::optional(h.step.value) : std::nullopt;
}

}  // namespace

Uncertainty drawn_uncertainty(DrawnRun const& run, int draws, int workers) {
  ForkPool pool(workers,
                [&run](std::string const& text) { return to_text(simulated(run, drawn_from_text(text))); });
  std::uint64_t const seed = run.options.seed;
  std::vector<std::string> tasks = {to_text(Drawn{{}, seed})};
  for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(draws); ++i)
    tasks.push_back(to_text(Drawn{price_scores(seed, i), seed_of_draw(seed, i)}));
  std::vector<PriceEffect> effects;
  for (std::size_t k = 0; k < kPriceKinds; ++k) {
    auto const kind = static_cast<PriceKind>(k);
    double const sigma = largest_sigma(run.errors, kind);
    if (!(sigma > 0)) continue;
    effects.push_back({kind, sigma, 0});
    tasks.push_back(to_text(Drawn{one_sigma_up(kind), seed}));
  }
  std::vector<Headline> all;
  for (ApartResult const& r : run_all(pool, tasks)) all.push_back(headline_of(r));
  Headline const forecast = all.front();
  auto const first_effect = all.begin() + 1 + draws;
  for (std::size_t i = 0; i < effects.size(); ++i) {
    auto const dearer = time_of(*(first_effect + static_cast<std::ptrdiff_t>(i)));
    auto const before = time_of(forecast);
    if (before && dearer) effects[i].step_change = *dearer / *before - 1;
  }
  return uncertainty_of(forecast, {all.begin() + 1, first_effect}, std::move(effects));
}

}  // namespace rollcast
