#include "reports/uncertainty.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "reports/model_error.hpp"

namespace rollcast {
namespace {

constexpr double kLeastEffect = 0.0005;

double quantile(std::vector<double> const& sorted, double share) {
  double const last = static_cast<double>(sorted.size() - 1);
  double const place = std::clamp(share * static_cast<double>(sorted.size() + 1) - 1, 0.0, last);
  auto const low = static_cast<std::size_t>(place);
  std::size_t const high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (sorted[high] - sorted[low]) * (place - static_cast<double>(low));
}

bool is_same(RunFigure const& a, RunFigure const& b) {
  return a.name == b.name && a.pool == b.pool && a.phase == b.phase;
}

FigureBand banded(RunFigure const& forecast, std::vector<std::vector<RunFigure>> const& draws) {
  FigureBand b{forecast, {forecast.value, forecast.value, forecast.value}, std::nullopt};
  std::vector<double> values;
  for (auto const& figures : draws) {
    auto const found = std::find_if(figures.begin(), figures.end(),
                                    [&](RunFigure const& f) { return is_same(f, forecast); });
    if (found != figures.end()) values.push_back(found->value);
  }
  if (!values.empty()) b.draws = band_of(std::move(values));
  if (auto const term = kept_model_term(forecast.kind)) b.with_model = with_model_error(b.draws, *term);
  return b;
}

// How far forecasts of serving are off besides was never measured.
std::vector<RunFigure> figures_of(ServingHeadline const& s) {
  using C = ServingColumn;
  std::vector<RunFigure> f;
  for (C const c : {C::requests_per_second, C::goodput, C::output_tokens_per_second,
                    C::total_tokens_per_second, C::ttft_mean, C::ttft_p50, C::ttft_p99, C::tpot_mean,
                    C::tpot_p50, C::tpot_p99, C::latency_mean, C::latency_p50, C::latency_p99}) {
    if (s[c]) f.push_back({std::string(name_of(c)), "", "", "", *s[c]});
  }
  return f;
}

std::vector<RunFigure> figures_of_steps(Headline const& h) {
  std::vector<RunFigure> f = {
      {"step_seconds", "", "", "step", h.step.value},
      {"tokens_per_second_per_gpu", "", "", "throughput", h.tokens_per_second_per_gpu},
      {"samples_per_second", "", "", "throughput", h.samples_per_second},
      {"gpu_hours_per_step", "", "", "step", h.gpu_hours_per_step}};
  if (h.dollars_per_step) f.push_back({"dollars_per_step", "", "", "step", *h.dollars_per_step});
  if (h.sync > Seconds(0)) f.push_back({"weight_sync_seconds", "", "", "phases", h.sync.value});
  for (PhaseHeadline const& p : h.phases)
    f.push_back({"mean_seconds", h.pools.at(static_cast<std::size_t>(p.pool)).name,
                 std::string(name_of(p.phase)), "phases", p.mean.value});
  return f;
}

}  // namespace

Band band_of(std::vector<double> values) {
  if (values.empty()) throw std::logic_error("a band of no values");
  std::sort(values.begin(), values.end());
  return {quantile(values, 0.1), quantile(values, 0.5), quantile(values, 0.9)};
}

Band with_model_error(Band b, double term) {
  if (!(b.p10 > 0)) return b;
  double const down = std::log(b.p50 / b.p10), up = std::log(b.p90 / b.p50);
  return {b.p50 * std::exp(-std::hypot(down, term)), b.p50, b.p50 * std::exp(std::hypot(up, term))};
}

std::vector<RunFigure> figures_of(Headline const& h) {
  if (h.steps == 0) return {};
  std::vector<RunFigure> f = h.serving ? figures_of(*h.serving) : figures_of_steps(h);
  for (PoolHeadline const& p : h.pools) f.push_back({"busy_fraction", p.name, "", "", p.busy_fraction});
  for (PoolHeadline const& p : h.pools) {
    if (p.peak.value > 0) f.push_back({"peak_bytes", p.name, "", "memory", p.peak.value});
  }
  return f;
}

Uncertainty uncertainty_of(Headline const& forecast, std::vector<Headline> const& draws,
                           std::vector<PriceEffect> effects) {
  Uncertainty u;
  u.draws = static_cast<int>(draws.size());
  std::vector<std::vector<RunFigure>> drawn;
  for (Headline const& h : draws) {
    if (is_complete(h)) drawn.push_back(figures_of(h));
  }
  u.completed = static_cast<int>(drawn.size());
  for (RunFigure const& f : figures_of(forecast)) u.figures.push_back(banded(f, drawn));
  std::erase_if(effects, [](PriceEffect const& e) { return std::fabs(e.step_change) < kLeastEffect; });
  std::stable_sort(effects.begin(), effects.end(), [](PriceEffect const& a, PriceEffect const& b) {
    return std::fabs(a.step_change) > std::fabs(b.step_change);
  });
  u.effects = std::move(effects);
  return u;
}

std::vector<double> ratios(std::vector<Headline> const& a, std::vector<Headline> const& b,
                           std::function<double(Headline const&)> const& figure) {
  if (a.size() != b.size()) throw std::logic_error("paired draws are as many of one as of the other");
  std::vector<double> out;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (is_complete(a[i]) && is_complete(b[i]) && figure(b[i]) > 0)
      out.push_back(figure(a[i]) / figure(b[i]));
  }
  return out;
}

bool tells_a_difference(Band const& ratio) { return ratio.p10 > 1 || ratio.p90 < 1; }

}  // namespace rollcast
