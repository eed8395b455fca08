#include "reports/validation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "models/quantile.hpp"
#include "reports/expectation.hpp"

namespace rollcast {
namespace {

constexpr double kDiffers = 1.1;
constexpr std::string_view kStep = "step_seconds";
constexpr std::string_view kPhase = "phase.";
constexpr std::array<std::string_view, 5> kKinds = {"step", "phases", "throughput", "memory", "other"};

std::string shape_text(FixedLength const& l) { return fmt::format("{} tokens", l.tokens); }
std::string shape_text(LogNormalLength const& l) {
  return fmt::format("log-normal({:.6g}, {:.6g}){} tokens", l.mu, l.sigma,
                     l.max > 0 ? fmt::format(" up to {}", l.max) : "");
}
// Tells lists apart by their number, mean and longest.
std::string shape_text(EmpiricalLength const& l) {
  double sum = 0;
  int longest = 0;
  for (int const t : l.tokens) {
    sum += t;
    longest = std::max(longest, t);
  }
  return fmt::format("{} lengths of {:.6g} tokens, up to {}", l.tokens.size(),
                     sum / static_cast<double>(std::max<std::size_t>(1, l.tokens.size())), longest);
}
std::string shape_text(MixtureLength const& l) {
  std::string out;
  for (std::size_t i = 0; i < l.components.size(); ++i) {
    out += fmt::format("{}{:.6g} x ", i == 0 ? "" : " + ", l.weights.at(i));
    out += std::visit([](auto const& c) { return shape_text(c); }, l.components[i]);
  }
  return out;
}

// The same text: the same lengths.
std::string lengths_text(Lengths const& l) {
  std::string out = std::visit([](auto const& shape) { return shape_text(shape); }, l.shape);
  if (l.growth_per_step > 0 || l.growth_per_step < 0)
    out += fmt::format(", {:+.6g} a step", l.growth_per_step);
  if (l.max > 0) out += fmt::format(", cut at {}", l.max);
  return out;
}

std::string arrivals_text(ServeOptions const& s) {
  Arrivals const& a = s.arrivals;
  switch (a.kind) {
    case ArrivalKind::poisson:
      return fmt::format("{:.6g} a second at random", a.rate);
    case ArrivalKind::bursts:
      return fmt::format("{:.6g} a second in bursts of {:.6g}", a.rate, a.variation);
    case ArrivalKind::trace:
      return fmt::format("as in {} at {:.6g} times its speed", a.file, a.speed);
    case ArrivalKind::closed:
      return fmt::format("of {} users", a.users);
  }
  throw std::logic_error("no such ArrivalKind");
}

std::string requests_text(Job const& job) {
  ServeOptions const& s = *job.serve;
  std::string out = fmt::format("{}, serving {} requests {}", job.model.name,
                                s.requests > 0 ? fmt::format("{}", s.requests) : "all", arrivals_text(s));
  if (s.arrivals.kind != ArrivalKind::trace)
    out += fmt::format(", prompts of {}, responses of {}", lengths_text(job.workload.prompt_tokens),
                       lengths_text(job.workload.response_tokens));
  return out;
}

std::string work_of(Job const& job) {
  if (job.serve) return requests_text(job);
  Algorithm const& a = job.algorithm;
  return fmt::format("{}, {}, {}, {} samples, prompts of {}, responses of {}", job.model.name,
                     name_of(a.kind), a.adapter ? name_of(a.adapter->kind) : "full",
                     generates(a.kind) ? a.samples() : a.train_batch,
                     lengths_text(job.workload.prompt_tokens), lengths_text(job.workload.response_tokens));
}

MeasuredQuantity const* step_of(ValidationCase const& c) {
  auto const found = std::find_if(c.quantities.begin(), c.quantities.end(),
                                  [](MeasuredQuantity const& q) { return q.name == kStep; });
  return found == c.quantities.end() ? nullptr : &*found;
}

std::optional<ValidationPair> pair_of(ValidationCase const& a, ValidationCase const& b) {
  if (a.source != b.source || a.work != b.work) return std::nullopt;
  MeasuredQuantity const* const step_a = step_of(a);
  MeasuredQuantity const* const step_b = step_of(b);
  if (step_a == nullptr || step_b == nullptr) return std::nullopt;
  auto const [least, most] = std::minmax(step_a->measured, step_b->measured);
  if (most <= kDiffers * least) return std::nullopt;
  ValidationPair pair{a.name, b.name, step_a->measured / step_b->measured, std::nullopt};
  if (step_a->predicted && step_b->predicted) pair.predicted_ratio = *step_a->predicted / *step_b->predicted;
  return pair;
}

std::optional<double> median(std::vector<double> values) {
  if (values.empty()) return std::nullopt;
  std::sort(values.begin(), values.end());
  return interpolated_quantile(values, 0.5);
}

ErrorSummary summary(std::vector<ValidationCase> const& cases, std::string_view kind, bool grade_a) {
  ErrorSummary s;
  s.kind = kind;
  s.grade_a = grade_a;
  std::vector<double> sizes, left_out;
  std::map<std::string, std::vector<double>> of_source;
  for (ValidationCase const& c : cases) {
    if (is_grade_a(c) != grade_a) continue;
    for (MeasuredQuantity const& q : c.quantities) {
      if (kind_of(q.name) != kind) continue;
      auto const error = error_of(q.predicted, q.measured);
      if (!error) {
        ++s.missing;
        continue;
      }
      if (auto const without = c.fitted ? error_of(q.left_out, q.measured) : error)
        left_out.push_back(std::fabs(*without));
      sizes.push_back(std::fabs(*error));
      of_source[c.source].push_back(sizes.back());
      if (!s.worst || *s.worst < sizes.back()) {
        s.worst = sizes.back();
        s.worst_case = c.name;
      }
    }
  }
  s.forecasts = static_cast<int>(sizes.size());
  s.sources = static_cast<int>(of_source.size());
  std::vector<double> medians;
  for (auto const& [source, errors] : of_source) medians.push_back(*median(errors));
  s.median = median(std::move(sizes));
  s.median_left_out = median(std::move(left_out));
  s.median_by_source = median(std::move(medians));
  return s;
}

}  // namespace

std::string_view kind_of(std::string_view quantity) {
  if (quantity == kStep) return kKinds[0];
  if (quantity.starts_with(kPhase)) return kKinds[1];
  if (quantity.find("_per_second") != std::string_view::npos || quantity == "goodput") return kKinds[2];
  if (quantity.starts_with("peak_") || quantity == "max_context_tokens") return kKinds[3];
  return kKinds[4];
}

bool is_grade_a(ValidationCase const& c) { return c.grade == "A" || c.grade == "A-"; }

std::optional<double> error_of(std::optional<double> const& predicted, double measured) {
  if (!predicted || !(measured > 0)) return std::nullopt;
  return *predicted / measured - 1;
}

std::string id_of(std::string const& case_name) { return case_name.substr(0, case_name.find('-')); }

std::string quantity_name(std::string const& measured_name) {
  constexpr std::string_view kSuffix = "_seconds";
  if (measured_name == kStep || !measured_name.ends_with(kSuffix)) return measured_name;
  return std::string(kPhase) + measured_name.substr(0, measured_name.size() - kSuffix.size());
}

ValidationCase case_of(Scenario const& s) {
  ValidationCase c{s.name, "", "", work_of(s.job), false, {}, ""};
  if (s.expected) {
    c.source = s.expected->source;
    c.expected = expectation_text(*s.expected);
  }
  if (!s.measured) return c;
  c.source = s.measured->source;
  c.grade = s.measured->grade;
  for (auto const& [name, value] : s.measured->values)
    c.quantities.push_back({quantity_name(name), value, std::nullopt, std::nullopt, ""});
  return c;
}

std::optional<bool> ValidationPair::agrees() const {
  if (!predicted_ratio) return std::nullopt;
  return measured_ratio > 1 ? *predicted_ratio > 1 : *predicted_ratio < 1;
}

Validation validate(std::vector<ValidationCase> cases, std::vector<std::string> not_measured) {
  Validation v{std::move(cases), {}, {}, std::move(not_measured)};
  for (std::size_t a = 0; a < v.cases.size(); ++a) {
    for (std::size_t b = a + 1; b < v.cases.size(); ++b) {
      if (auto pair = pair_of(v.cases[a], v.cases[b])) v.pairs.push_back(std::move(*pair));
    }
  }
  for (bool const grade_a : {true, false}) {
    for (std::string_view const kind : kKinds) {
      ErrorSummary s = summary(v.cases, kind, grade_a);
      if (s.forecasts + s.missing > 0) v.summaries.push_back(std::move(s));
    }
  }
  return v;
}

}  // namespace rollcast
