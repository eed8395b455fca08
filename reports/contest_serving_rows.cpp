#include <fmt/format.h>

#include <algorithm>

#include "reports/contest_rows.hpp"
#include "reports/serving_difference.hpp"
#include "reports/text_layout.hpp"

namespace rollcast {
namespace {

using Text = std::string (*)(double);

std::string digits_text(double v) { return fmt::format("{:.4g}", v); }
std::string seconds_text(double v) { return format(Seconds(v)); }

ContestRow row_of(std::string label, std::function<std::string(ServingHeadline const&)> const& text) {
  return {std::move(label), [text](ContenderFigures const& f, std::size_t) {
            return f.serving ? text(*f.serving) : std::string();
          }};
}

ContestRow row_of(std::string label, ServingColumn c, Text text) {
  return row_of(std::move(label), [c, text](ServingHeadline const& s) {
    auto const v = s[c];
    return v ? text(*v) : std::string();
  });
}

// "95.0 ms, 412 ms"
ContestRow pair_of(std::string label, ServingColumn a, ServingColumn b) {
  return row_of(std::move(label), [a, b](ServingHeadline const& s) {
    auto const x = s[a], y = s[b];
    return x && y ? seconds_text(*x) + ", " + seconds_text(*y) : std::string();
  });
}

ContestRow part_of(ServingTime part) {
  return row_of(
      std::string("  ") + noun_of(part, AdapterExecution::batched), [part](ServingHeadline const& s) {
        double whole = 0;
        for (std::size_t i = 0; i < kServingTimes; ++i)
          whole += s[column_of(static_cast<ServingTime>(i))].value_or(0);
        double const mine = s[column_of(part)].value_or(0);
        return mine > 0 ? fmt::format("{}, {}", seconds_text(mine), percent(mine / whole)) : std::string();
      });
}

// GPU-hours and dollars of so many requests or tokens a run.
ContestRow cost_of(std::string label, double of, double (*in_a_run)(ContenderFigures const&)) {
  return {std::move(label), [of, in_a_run](ContenderFigures const& f, std::size_t) {
            double const many = f.serving ? in_a_run(f) : 0;
            if (!(many > 0)) return std::string();
            std::string out = fmt::format("{:.3g} h", f.gpu_hours_per_step * of / many);
            if (f.dollars_per_step) out += ", " + money_text(*f.dollars_per_step * of / many);
            return out;
          }};
}

}  // namespace

std::vector<ContestRow> serving_rows(Contest const& c) {
  using C = ServingColumn;
  std::vector<ContestRow> rows;
  rows.push_back(
      {"outcome", [](ContenderFigures const& f, std::size_t) { return std::string(name_of(f.outcome)); }});
  rows.push_back({"GPUs", [](ContenderFigures const& f, std::size_t) {
                    return f.gpus > 0 ? fmt::format("{}", f.gpus) : std::string();
                  }});
  rows.push_back(row_of("adapters", [](ServingHeadline const& s) {
    bool const pooled = s.execution == AdapterExecution::batched || s.execution == AdapterExecution::split;
    return std::string(name_of(s.execution)) + (pooled ? fmt::format(", {} pool", name_of(s.pool)) : "");
  }));
  rows.push_back({plural_name_of(c.unit) == plural_name_of(WorkUnit::request) ? "requests, of the best"
                                                                              : "in time, of the best",
                  [&c](ContenderFigures const&, std::size_t i) { return speed_text(c.speed_of_best[i]); }});
  rows.push_back(row_of("requests/s", C::requests_per_second, digits_text));
  rows.push_back(row_of("  in time", [](ServingHeadline const& s) {
    auto const goodput = s[C::goodput], share = s[C::in_time_share];
    return goodput && share ? fmt::format("{:.4g}, {}", *goodput, percent(*share)) : std::string();
  }));
  rows.push_back(row_of("output tokens/s", C::output_tokens_per_second, digits_text));
  rows.push_back(pair_of("first token, p50 and p99", C::ttft_p50, C::ttft_p99));
  rows.push_back(pair_of("a token after it, p50 and p99", C::tpot_p50, C::tpot_p99));
  rows.push_back(pair_of("whole answer, p50 and p99", C::latency_p50, C::latency_p99));
  rows.push_back(cost_of("cost of 1,000 requests", 1000,
                         [](ContenderFigures const& f) { return (*f.serving)[C::requests].value_or(0); }));
  rows.push_back(
      cost_of("  of 1,000,000 tokens", 1e6, [](ContenderFigures const& f) { return f.tokens_per_step; }));
  rows.push_back({"GPU time of a request",
                  [](ContenderFigures const& f, std::size_t) { return std::string(f.serving ? " " : ""); }});
  for (std::size_t i = 0; i < kServingTimes; ++i) rows.push_back(part_of(static_cast<ServingTime>(i)));
  rows.push_back(row_of("adapters in a step", C::distinct_per_step, digits_text));
  rows.push_back(row_of("loads", [](ServingHeadline const& s) {
    double const loads = s[C::loads].value_or(0);
    if (!(loads > 0)) return std::string();
    auto const hits = s[C::hit_share];
    return hits ? fmt::format("{:.4g}, {} found theirs", loads, percent(*hits)) : digits_text(loads);
  }));
  rows.push_back(row_of("switches", [](ServingHeadline const& s) {
    double const n = s[C::switches].value_or(0);
    return n > 0 ? fmt::format("{:.4g} of {}", n, seconds_text(s[C::switch_seconds].value_or(0) / n))
                 : std::string();
  }));
  rows.push_back(
      row_of("fairness between tenants", C::fairness, [](double v) { return fmt::format("{:.3f}", v); }));
  return rows;
}

}  // namespace rollcast
