// How often measured values lie within p10 to p90 of their forecast: of draws of prices and lengths alone,
// and with the model's own error (model_error.hpp). Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/model_error.hpp"
#include "reports/validation.hpp"

namespace rollcast {

// The residuals of the quantities of this kind that have draws and are measured above 0, of cases of grade A
// and A- or of all others. Of a case that a number was fitted on the draws are moved by left_out / predicted:
// its residual is that of the forecast without it.
std::vector<Residual> residuals_of(std::vector<ValidationCase> const& cases, std::string_view kind,
                                   bool grade_a);

struct CoverageRow {
  std::string kind;
  bool grade_a = false;
  Covered draws;
  double width = 0;    // median of the half width of the draws' bands, (up + down) / 2
  double term = 0;     // model_term of these residuals
  Covered with_model;  // each source by the term of the others
};

// By grade (A first), then kind; without those that have no draws.
std::vector<CoverageRow> coverage(std::vector<ValidationCase> const& cases);

// A table with what it says; empty for no rows.
std::string coverage_text(std::vector<CoverageRow> const& rows);

}  // namespace rollcast
