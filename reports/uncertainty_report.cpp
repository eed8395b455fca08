#include "reports/uncertainty_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "reports/json_values.hpp"
#include "reports/model_error.hpp"
#include "reports/text_layout.hpp"

namespace rollcast {
namespace {

using Json = nlohmann::ordered_json;

std::string value_text(RunFigure const& f, double v) {
  auto const is_time = [&](std::string_view start) { return f.name.starts_with(start); };
  if (f.name.ends_with("_seconds") || is_time("ttft_") || is_time("tpot_") || is_time("latency_"))
    return format(Seconds(v));
  if (f.name == "peak_bytes") return format(Bytes(v));
  if (f.name == "busy_fraction") return percent(v);
  if (f.name == "dollars_per_step") return fmt::format("{:.3g} $", v);
  return fmt::format("{:.4g}", v);
}

std::string label_of(RunFigure const& f, bool pools) {
  std::string name = f.name;
  if (!f.phase.empty()) name = f.phase;
  if (f.name == "busy_fraction") name = "busy";
  if (f.name == "peak_bytes") name = "memory peak";
  if (f.name == "weight_sync_seconds") name = "weight sync, all pools";
  if (f.name == "step_seconds") name = "step";
  if (f.name == "tokens_per_second_per_gpu") name = "tokens/s/GPU";
  if (f.name == "samples_per_second") name = "samples/s";
  if (f.name == "gpu_hours_per_step") name = "GPU-hours a step";
  if (f.name == "dollars_per_step") name = "dollars a step";
  return pools && !f.pool.empty() ? fmt::format("{} ({})", name, printable(f.pool)) : name;
}

std::string figure_line(FigureBand const& b, bool pools) {
  auto const text = [&](double v) { return value_text(b.forecast, v); };
  std::string line =
      fmt::format("  {:<26.26}{:>10}{:>12}{:>10}{:>10}", label_of(b.forecast, pools), text(b.forecast.value),
                  text(b.draws.p10), text(b.draws.p50), text(b.draws.p90));
  if (b.with_model) line += fmt::format("{:>13}{:>10}", text(b.with_model->p10), text(b.with_model->p90));
  return line + "\n";
}

bool has_pools(Uncertainty const& u) {
  std::string first;
  for (FigureBand const& b : u.figures) {
    if (b.forecast.pool.empty()) continue;
    if (first.empty()) first = b.forecast.pool;
    if (b.forecast.pool != first) return true;
  }
  return false;
}

Json band_json(Band const& b) {
  return {{"p10", nine_digits(b.p10)}, {"p50", nine_digits(b.p50)}, {"p90", nine_digits(b.p90)}};
}

}  // namespace

std::string uncertainty_text(Uncertainty const& u, int width) {
  std::string out = fmt::format("\nHow sure that is ({} draws of prices and lengths)\n", u.draws);
  if (u.completed < u.draws)
    out += fmt::format("  {} of the draws completed; times are those of them\n", u.completed);
  out += fmt::format("  {:<26}{:>10}{:>12}{:>10}{:>10}{:>13}{:>10}\n", "", "forecast", "p10", "p50", "p90",
                     "model p10", "p90");
  bool const pools = has_pools(u);
  for (FigureBand const& b : u.figures) {
    if (b.draws.p90 > 0) out += figure_line(b, pools);
  }
  out += "  " +
         wrapped(words_of(fmt::format(
                     "p10 to p90: errors of prices and other lengths alone, which is too narrow; model: with "
                     "what forecasts of measured runs were wrong by besides ({}).",
                     kModelTermSource)),
                 " ", 2, width);
  std::vector<std::string> effects;
  for (PriceEffect const& e : u.effects)
    effects.push_back(fmt::format("{} {:+.0f} % -> {:+.1f} %", name_of(e.kind), 100 * std::expm1(e.sigma),
                                  100 * e.step_change));
  bool const serving = std::any_of(u.figures.begin(), u.figures.end(), [](FigureBand const& b) {
    return b.forecast.name == name_of(ServingColumn::latency_mean);
  });
  if (!effects.empty())
    out += std::string(serving ? "  The mean latency" : "  The step") +
           " when one kind of price is a sigma dearer:\n    " + wrapped(effects, ", ", 4, width);
  return out;
}

Json uncertainty_json(Uncertainty const& u) {
  Json figures = Json::array(), effects = Json::array();
  for (FigureBand const& b : u.figures)
    figures.push_back({{"name", b.forecast.name},
                       {"pool", or_null(b.forecast.pool)},
                       {"phase", or_null(b.forecast.phase)},
                       {"forecast", nine_digits(b.forecast.value)},
                       {"draws", band_json(b.draws)},
                       {"with_model", b.with_model ? band_json(*b.with_model) : Json()}});
  for (PriceEffect const& e : u.effects)
    effects.push_back({{"kind", name_of(e.kind)},
                       {"sigma", nine_digits(e.sigma)},
                       {"step_change", nine_digits(e.step_change)}});
  return {{"draws", u.draws},
          {"completed", u.completed},
          {"figures", figures},
          {"model_error", kModelTermSource},
          {"price_effects", effects}};
}

}  // namespace rollcast
