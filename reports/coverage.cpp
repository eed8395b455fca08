#include "reports/coverage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "models/quantile.hpp"
#include "reports/uncertainty.hpp"

namespace rollcast {
namespace {

constexpr std::array<std::string_view, 4> kKinds = {"step", "phases", "throughput", "memory"};

std::optional<Residual> residual_of(ValidationCase const& c, MeasuredQuantity const& q) {
  if (q.draws.empty() || !q.predicted || !(*q.predicted > 0) || !(q.measured > 0)) return std::nullopt;
  if (c.fitted && !q.left_out) return std::nullopt;
  double const moved = c.fitted ? *q.left_out / *q.predicted : 1;
  Band const b = band_of(q.draws);
  if (!(b.p10 > 0) || !(moved > 0)) return std::nullopt;
  return Residual{c.source, std::log(q.measured / (b.p50 * moved)), std::log(b.p50 / b.p10),
                  std::log(b.p90 / b.p50)};
}

double median_width(std::vector<Residual> const& residuals) {
  std::vector<double> widths;
  for (Residual const& r : residuals) widths.push_back((r.up + r.down) / 2);
  std::sort(widths.begin(), widths.end());
  return interpolated_quantile(widths, 0.5);
}

std::string percent_of(double share) { return fmt::format("{:.0f} %", 100 * share); }

// exp(w) - 1: how far above the middle a band of this log width goes.
std::string width_text(double w) { return fmt::format("{:.1f} %", 100 * std::expm1(w)); }

}  // namespace

std::vector<Residual> residuals_of(std::vector<ValidationCase> const& cases, std::string_view kind,
                                   bool grade_a) {
  std::vector<Residual> residuals;
  for (ValidationCase const& c : cases) {
    if (is_grade_a(c) != grade_a) continue;
    for (MeasuredQuantity const& q : c.quantities) {
      if (kind_of(q.name) != kind) continue;
      if (auto r = residual_of(c, q)) residuals.push_back(std::move(*r));
    }
  }
  return residuals;
}

std::vector<CoverageRow> coverage(std::vector<ValidationCase> const& cases) {
  std::vector<CoverageRow> rows;
  for (bool const grade_a : {true, false}) {
    for (std::string_view const kind : kKinds) {
      auto const residuals = residuals_of(cases, kind, grade_a);
      if (residuals.empty()) continue;
      rows.push_back({std::string(kind), grade_a, covered(residuals, 0), median_width(residuals),
                      *model_term(residuals), covered_left_out(residuals)});
    }
  }
  return rows;
}

std::string coverage_text(std::vector<CoverageRow> const& rows) {
  if (rows.empty()) return {};
  std::string out = fmt::format("\n{:<36}{:>8}{:>9}{:>9}{:>9}{:>11}{:>10}{:>9}{:>11}\n",
                                "Measured within p10 to p90 (80 %?)", "values", "sources", "band", "inside",
                                "by source", "model", "inside", "by source");
  for (CoverageRow const& r : rows)
    out += fmt::format("  {:<14}{:<20}{:>8}{:>9}{:>9}{:>9}{:>11}{:>10}{:>9}{:>11}\n",
                       r.grade_a ? "grade A, A-" : "other grades", r.kind, r.draws.cases, r.draws.sources,
                       width_text(r.width), percent_of(r.draws.share), percent_of(r.draws.share_by_source),
                       width_text(r.term), percent_of(r.with_model.share),
                       percent_of(r.with_model.share_by_source));
  return out +
         "band: draws of prices and lengths alone, the median of how far they go from the middle. Where "
         "fewer than "
         "80 % lie\n"
         "inside, forecasts are wrong by more than their prices. model: by how much more, so that 80 % lie "
         "inside; "
         "the last two\n"
         "columns: what does then, each source with the model's error of the others\n";
}

}  // namespace rollcast
