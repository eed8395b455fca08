#include "reports/validation_report.hpp"

#include <fmt/format.h>

#include <iterator>
#include <nlohmann/json.hpp>

#include "reports/coverage.hpp"
#include "reports/json_values.hpp"
#include "reports/text_layout.hpp"
#include "reports/uncertainty.hpp"

namespace rollcast {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kSchema = 1;

std::string signed_percent(std::optional<double> v) {
  return v ? fmt::format("{:+.1f} %", 100 * *v) : std::string();
}

std::string size_percent(double v) { return fmt::format("{:.1f} %", 100 * v); }

std::string grade_text(std::string const& grade) {
  return grade.empty() ? "" : fmt::format(" ({})", printable(grade));
}

std::string left_out_text(ValidationCase const& c, MeasuredQuantity const& q) {
  if (!q.predicted || !c.fitted) return q.predicted ? "-" : "";
  return q.left_out ? signed_percent(error_of(q.left_out, q.measured)) : "fitted";
}

std::string expected_text(ValidationCase const& c) {
  std::string out =
      fmt::format("  expected {}: {}\n", printable(c.expected), c.unmet.empty() ? "holds" : "does not hold");
  for (std::string const& u : c.unmet) out += fmt::format("    {}\n", printable(u));
  return out;
}

std::string expectations_text(Validation const& v) {
  int holds = 0, all = 0;
  for (ValidationCase const& c : v.cases) {
    if (c.expected.empty()) continue;
    ++all;
    holds += c.unmet.empty() ? 1 : 0;
  }
  return all == 0 ? "" : fmt::format("\n{} of {} expected outcomes hold\n", holds, all);
}

std::string case_text(ValidationCase const& c) {
  if (!c.unread.empty()) return fmt::format("{}\n  not read: {}\n", printable(c.name), printable(c.unread));
  std::string out = fmt::format("{}{}: {}\n", printable(c.name), grade_text(c.grade), printable(c.source));
  for (MeasuredQuantity const& q : c.quantities) {
    std::string const predicted = q.predicted ? fmt::format("{:.4g}", *q.predicted) : "none";
    std::string const line =
        fmt::format("  {:<36}{:>11}{:>10.4g}{:>11}{:>11}", q.name, predicted, q.measured,
                    signed_percent(error_of(q.predicted, q.measured)), left_out_text(c, q));
    out += table_line(line + (q.why.empty() ? "" : "  " + printable(q.why)));
  }
  if (!c.expected.empty()) out += expected_text(c);
  return out;
}

std::string summaries_text(Validation const& v) {
  if (v.summaries.empty()) return {};
  std::string out = fmt::format("\n{:<38}{:>11}{:>10}{:>10}{:>9}{:>11}{:>10}\n", "Size of the error",
                                "forecasts", "median", "left out", "sources", "by source", "worst");
  for (ErrorSummary const& s : v.summaries) {
    std::string line =
        fmt::format("  {:<14}{:<22}{:>11}", s.grade_a ? "grade A, A-" : "other grades", s.kind, s.forecasts);
    if (s.median)
      line += fmt::format("{:>10}{:>10}{:>9}{:>11}{:>10}  {}", size_percent(*s.median),
                          s.median_left_out ? size_percent(*s.median_left_out) : "", s.sources,
                          size_percent(*s.median_by_source), size_percent(*s.worst), printable(s.worst_case));
    if (s.missing > 0) line += fmt::format("  ({} not forecast)", s.missing);
    out += line + "\n";
  }
  return out +
         "left out: a case that a number was fitted on counts with its error when left out; by source: the "
         "median "
         "over the sources of the median of each\n";
}

std::string pair_text(ValidationPair const& p) {
  bool const a_slower = p.measured_ratio > 1;
  auto const speed = [&](double ratio) { return a_slower ? ratio : 1 / ratio; };
  std::string out = fmt::format("  {} is {:.2f} times as fast as {}; ", printable(a_slower ? p.b : p.a),
                                speed(p.measured_ratio), printable(a_slower ? p.a : p.b));
  if (!p.predicted_ratio) return out + "no forecast\n";
  return out + fmt::format("forecast {:.2f}: {}\n", speed(*p.predicted_ratio),
                           *p.agrees() ? "agrees" : "the other one is faster");
}

std::string pairs_text(Validation const& v, PairsShown shown) {
  if (v.pairs.empty())
    return "\nNo two cases of one source and the same work have steps more than 10 % apart.\n";
  int agree = 0, disagree = 0;
  std::string pairs;
  for (ValidationPair const& p : v.pairs) {
    agree += p.agrees() == true ? 1 : 0;
    disagree += p.agrees() == false ? 1 : 0;
    if (shown == PairsShown::all || p.agrees() == false) pairs += pair_text(p);
  }
  std::string out = "\nWhich layout is faster (one source, the same work, steps more than 10 % apart)\n";
  out += fmt::format("  {} of {} forecasts name the faster one", agree, agree + disagree);
  if (int const missing = static_cast<int>(v.pairs.size()) - agree - disagree; missing > 0)
    out += fmt::format("; {} pair{} without a forecast", missing, missing == 1 ? "" : "s");
  return out + "\n" + pairs;
}

Json quantity_json(ValidationCase const& c, MeasuredQuantity const& q) {
  Json out = {{"case", c.name},
              {"source", c.source},
              {"grade", c.grade},
              {"quantity", q.name},
              {"predicted", number(q.predicted)},
              {"measured", nine_digits(q.measured)},
              {"error", number(error_of(q.predicted, q.measured))},
              {"fitted", c.fitted},
              {"left_out_error", number(error_of(q.left_out, q.measured))},
              {"reason", or_null(q.why)}};
  if (q.draws.empty()) return out;
  Band const b = band_of(q.draws);
  out["draws"] = {{"p10", nine_digits(b.p10)}, {"p50", nine_digits(b.p50)}, {"p90", nine_digits(b.p90)}};
  return out;
}

Json covered_json(Covered const& c) {
  return {{"share", nine_digits(c.share)}, {"share_by_source", nine_digits(c.share_by_source)}};
}

Json coverage_json(std::vector<CoverageRow> const& rows) {
  Json out = Json::array();
  for (CoverageRow const& r : rows)
    out.push_back({{"grades", r.grade_a ? "A, A-" : "other"},
                   {"kind", r.kind},
                   {"values", r.draws.cases},
                   {"sources", r.draws.sources},
                   {"width", nine_digits(r.width)},
                   {"draws", covered_json(r.draws)},
                   {"model_term", nine_digits(r.term)},
                   {"with_model", covered_json(r.with_model)}});
  return out;
}

Json unread_json(ValidationCase const& c) {
  return {{"case", c.name},      {"source", nullptr},    {"grade", nullptr},
          {"quantity", nullptr}, {"predicted", nullptr}, {"measured", nullptr},
          {"error", nullptr},    {"fitted", false},      {"left_out_error", nullptr},
          {"reason", c.unread}};
}

}  // namespace

std::string validation_text(Validation const& v, PairsShown pairs) {
  std::string out =
      fmt::format("{:<38}{:>11}{:>10}{:>11}{:>11}\n", "case", "predicted", "measured", "error", "left out");
  for (ValidationCase const& c : v.cases) out += case_text(c);
  out += "left out: the error with the case taken out of the fits that used it; -: none did\n";
  out += summaries_text(v) + coverage_text(coverage(v.cases)) + pairs_text(v, pairs) + expectations_text(v);
  if (!v.not_measured.empty()) {
    out += "\nWithout measured values: ";
    for (std::size_t i = 0; i < v.not_measured.size(); ++i)
      out += (i == 0 ? "" : ", ") + printable(v.not_measured[i]);
    out += "\n";
  }
  return out;
}

std::string validation_json(Validation const& v) {
  Json cases = Json::array(), pairs = Json::array(), summaries = Json::array(), expected = Json::array();
  for (ValidationCase const& c : v.cases) {
    if (!c.unread.empty()) cases.push_back(unread_json(c));
    for (MeasuredQuantity const& q : c.quantities) cases.push_back(quantity_json(c, q));
    if (!c.expected.empty())
      expected.push_back({{"case", c.name},
                          {"source", c.source},
                          {"expected", c.expected},
                          {"holds", c.unmet.empty()},
                          {"unmet", c.unmet}});
  }
  for (ValidationPair const& p : v.pairs)
    pairs.push_back({{"a", p.a},
                     {"b", p.b},
                     {"measured_ratio", nine_digits(p.measured_ratio)},
                     {"predicted_ratio", number(p.predicted_ratio)},
                     {"agrees", p.agrees() ? Json(*p.agrees()) : Json()}});
  for (ErrorSummary const& s : v.summaries)
    summaries.push_back({{"grades", s.grade_a ? "A, A-" : "other"},
                         {"kind", s.kind},
                         {"forecasts", s.forecasts},
                         {"missing", s.missing},
                         {"sources", s.sources},
                         {"median", number(s.median)},
                         {"median_by_source", number(s.median_by_source)},
                         {"median_left_out", number(s.median_left_out)},
                         {"worst", number(s.worst)},
                         {"worst_case", s.worst ? Json(s.worst_case) : Json(nullptr)}});
  Json all = {{"schema", kSchema},
              {"cases", std::move(cases)},
              {"pairs", std::move(pairs)},
              {"summaries", std::move(summaries)},
              {"expected", std::move(expected)},
              {"not_measured", v.not_measured}};
  if (auto const rows = coverage(v.cases); !rows.empty()) all["coverage"] = coverage_json(rows);
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace rollcast
