// Forecasts beside what real runs showed: errors, their medians, and which of two measured layouts is faster.
// Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/scenario.hpp"

namespace rollcast {

// One measured quantity of a case. error = predicted / measured - 1; absent without a forecast, and where 0
// was measured.
struct MeasuredQuantity {
  std::string name;  // step_seconds, phase.<phase>, tokens_per_second_per_gpu, ...
  double measured = 0;
  std::optional<double> predicted;
  // Of a case that a number of the forecast was fitted on: the forecast with that case taken out of the fit.
  std::optional<double> left_out;
  std::string why;  // no forecast: the reason
  // The forecasts of draws of prices and lengths (models/price_draw.hpp); empty: none were made.
  std::vector<double> draws = {};
};

std::optional<double> error_of(std::optional<double> const& predicted, double measured);

// "step", "phases", "throughput", "memory" or "other".
std::string_view kind_of(std::string_view quantity);

struct ValidationCase {
  std::string name;  // of the scenario
  std::string source;
  std::string grade;
  std::string work;     // cases with the same text did the same work
  bool fitted = false;  // a number of the forecast was fitted on this case
  std::vector<MeasuredQuantity> quantities;
  std::string
      unread;  // the first problem of a file that is no good scenario; all else but name is empty then
  std::string expected = {};            // what the scenario expects; empty: nothing
  std::vector<std::string> unmet = {};  // what came otherwise
};

// Of grade A or A-.
bool is_grade_a(ValidationCase const& c);

// The case of a scenario that has a `measured:` or an `expected:` block, without any forecast. Same work: the
// same model, algorithm and adapter, as many samples a step, and the same lengths of prompts and responses.
ValidationCase case_of(Scenario const& s);

// "R31-nemo-rl-8b" -> "R31": what cases are called where numbers are fitted.
std::string id_of(std::string const& case_name);

// "generate_seconds" of a `measured:` block -> "phase.generate"; names that are no phase stay.
std::string quantity_name(std::string const& measured_name);

// Two cases of one source and the same work whose measured steps differ by more than 10 %. A ratio is the
// step of a over the step of b; the forecast's is absent where one of them has no forecast.
struct ValidationPair {
  std::string a;  // a comes before b in the list of cases
  std::string b;
  double measured_ratio = 0;
  std::optional<double> predicted_ratio;

  // Whether the forecast names the faster one; absent without a forecast.
  std::optional<bool> agrees() const;
};

// |error| over the quantities of one kind ("step", "phases", "throughput", "memory", "other"), of the cases
// of grade A and A- or of all others.
struct ErrorSummary {
  std::string kind;
  bool grade_a = false;
  int forecasts = 0;
  int missing = 0;               // measured, not forecast
  int sources = 0;               // of the forecasts
  std::optional<double> median;  // of an even number the mean of the middle two
  // The median over sources of each source's median: a source with many cases counts like one with few.
  std::optional<double> median_by_source;
  // The median in which a fitted case counts with its error when left out.
  std::optional<double> median_left_out;
  std::optional<double> worst;
  std::string worst_case;
};

struct Validation {
  std::vector<ValidationCase> cases;
  std::vector<ValidationPair> pairs;      // in order of a, then b
  std::vector<ErrorSummary> summaries;    // by grade (A first), then kind; kinds without rows are left out
  std::vector<std::string> not_measured;  // scenarios without measured values
};

// Cases stay in the order given.
Validation validate(std::vector<ValidationCase> cases, std::vector<std::string> not_measured);

}  // namespace rollcast
