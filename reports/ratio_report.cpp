#include "reports/ratio_report.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace rollcast {
namespace {

PoolHeadline const& pool_named(Headline const& h, std::string const& name) {
  for (PoolHeadline const& p : h.pools) {
    if (p.name == name) return p;
  }
  throw std::logic_error("a forecast without the pool " + name);
}

bool is_switch(Phase p) { return p == Phase::sleep || p == Phase::wake || p == Phase::weight_sync; }

// Of one run on one pool, whose phases take turns.
void add_phases(RatioPoint& p, Headline const& h) {
  for (PhaseHeadline const& phase : h.phases) {
    Seconds& part = phase.phase == Phase::generate ? p.generate : is_switch(phase.phase) ? p.sync : p.train;
    part += phase.mean;
  }
}

void add(RatioPoint& p, RatioPools const& pools, Headline const& h) {
  PoolHeadline const& rollout = pool_named(h, pools.rollout);
  PoolHeadline const& train = pool_named(h, pools.train);
  p.gpus = h.gpus;
  p.steps.push_back(h.step);
  p.step += h.step;
  if (pools.rollout == pools.train) {
    add_phases(p, h);
  } else {
    p.generate += rollout.work;
    p.train += train.work;
    p.sync += h.sync;
  }
  p.samples_per_second += h.samples_per_second;
  p.tokens_per_second_per_gpu += h.tokens_per_second_per_gpu;
  p.gpu_hours_per_step += h.gpu_hours_per_step;
  p.busy_rollout += rollout.busy_fraction;
  p.busy_train += train.busy_fraction;
  p.mean_response_tokens += h.mean_response_tokens;
}

// Over all; nothing where one lacks it.
template <class Value>
std::optional<double> mean_of(std::vector<Headline> const& headlines, Value const& value) {
  double sum = 0;
  for (Headline const& h : headlines) {
    std::optional<double> const v = value(h);
    if (!v) return std::nullopt;
    sum += *v;
  }
  return sum / static_cast<double>(headlines.size());
}

double log_work(RatioPoint const& p) { return std::log(p.generate / p.train); }
double log_size(RatioPoint const& p) {
  return std::log(static_cast<double>(p.size.rollout_gpus) / p.size.train_gpus);
}

double cost_per_sample(RatioPoint const& p, bool dollars) {
  double const per_step = dollars ? *p.dollars_per_step : p.gpu_hours_per_step;
  return per_step / (p.samples_per_second * p.step.value);
}

bool trainer_waits(RatioPoint const& p) { return p.train < p.step * (1 - kTrainerWaits); }

RatioSide with_more_work(RatioPoint const& p) {
  return p.train < p.generate ? RatioSide::rollout : RatioSide::train;
}

double gain(RatioPoint const& from, RatioPoint const& to) {
  return std::log(from.step / to.step) /
         std::log(static_cast<double>(to.size.rollout_gpus) / from.size.rollout_gpus);
}

}  // namespace

RatioPoint ratio_point(RatioSize const& size, RatioPools const& pools,
                       std::vector<Headline> const& headlines) {
  if (headlines.empty()) throw std::logic_error("a point without a forecast");
  RatioPoint p;
  p.size = size;
  for (Headline const& h : headlines) {
    if (h.steps == 0) throw std::logic_error("a point of a forecast without a step");
    add(p, pools, h);
  }
  double const n = static_cast<double>(headlines.size());
  for (Seconds* s : {&p.step, &p.generate, &p.train, &p.sync}) *s = *s / n;
  for (double* v : {&p.samples_per_second, &p.tokens_per_second_per_gpu, &p.gpu_hours_per_step,
                    &p.busy_rollout, &p.busy_train, &p.mean_response_tokens})
    *v /= n;
  p.dollars_per_step = mean_of(headlines, [](Headline const& h) { return h.dollars_per_step; });
  p.mean_staleness = mean_of(headlines, [](Headline const& h) { return h.mean_staleness; });
  return p;
}

RatioChange step_change(RatioPoint const& a, RatioPoint const& b) {
  if (a.steps.size() != b.steps.size() || a.steps.empty())
    throw std::logic_error("points of other seeds are not compared");
  RatioChange c;
  c.mean = b.step / a.step - 1;
  for (std::size_t i = 0; i < a.steps.size(); ++i) {
    double const one = b.steps[i] / a.steps[i] - 1;
    c.low = i == 0 ? one : std::min(c.low, one);
    c.high = i == 0 ? one : std::max(c.high, one);
  }
  c.sure = a.steps.size() > 1 && (c.low > 0 || c.high < 0);
  return c;
}

std::optional<double> balance(std::vector<RatioPoint> const& points) {
  for (std::size_t i = 0; i + 1 < points.size(); ++i) {
    double const here = log_work(points[i]);
    double const next = log_work(points[i + 1]);
    if (!(here >= 0 && next <= 0) || !(here > next)) continue;
    double const share = here / (here - next);
    return std::exp(log_size(points[i]) + share * (log_size(points[i + 1]) - log_size(points[i])));
  }
  return std::nullopt;
}

std::optional<int> knee(std::vector<RatioPoint> const& growth) {
  for (std::size_t i = 0; i + 1 < growth.size(); ++i) {
    if (gain(growth[i], growth[i + 1]) < kLeastGain) return growth[i].size.rollout_gpus;
  }
  return std::nullopt;
}

RatioBottleneck bottleneck(RatioPoint const& p, RatioPoint const* more, ScheduleKind schedule) {
  if (schedule == ScheduleKind::synchronous || more == nullptr || !trainer_waits(*more))
    return {with_more_work(p), RatioLimit::gpus};
  if (gain(p, *more) >= kLeastGain) return {RatioSide::rollout, RatioLimit::gpus};
  return {RatioSide::train, RatioLimit::bound};
}

std::optional<std::size_t> fastest(std::vector<RatioPoint> const& points) {
  if (points.empty()) return std::nullopt;
  Seconds least = points.front().step;
  for (RatioPoint const& p : points) least = min(least, p.step);
  std::size_t i = 0;
  while (least * (1 + kAsFast) < points[i].step) ++i;
  return i;
}

std::optional<std::size_t> cheapest(std::vector<RatioPoint> const& points) {
  bool const dollars = std::all_of(points.begin(), points.end(),
                                   [](RatioPoint const& p) { return p.dollars_per_step.has_value(); });
  auto const best =
      std::min_element(points.begin(), points.end(), [&](RatioPoint const& a, RatioPoint const& b) {
        return cost_per_sample(a, dollars) < cost_per_sample(b, dollars);
      });
  if (best == points.end()) return std::nullopt;
  return static_cast<std::size_t>(best - points.begin());
}

std::optional<RatioBalance> report_balance(RatioReport const& r) {
  if (auto const q = balance(r.split)) {
    double const rollout = r.total * *q / (1 + *q);
    return RatioBalance{*q, rollout, r.total - rollout, true};
  }
  auto const q = balance(r.rollout);
  if (!q) return std::nullopt;
  int const train = r.base->size.train_gpus;
  return RatioBalance{*q, train * *q, static_cast<double>(train), false};
}

std::optional<double> balance_of(RatioReport const& r, RatioLengths const& l) {
  auto const own = balance(l.split);
  auto const q = own ? own : balance(l.rollout);
  if (!q) return std::nullopt;
  auto const all = report_balance(r);
  return all && !all->of_split ? all->train_gpus * *q : r.total * *q / (1 + *q);
}

std::optional<BalanceBand> balance_band(RatioReport const& r) {
  std::optional<BalanceBand> band;
  for (RatioLengths const& l : r.lengths) {
    auto const at = balance_of(r, l);
    if (!at) continue;
    if (!band) band = BalanceBand{*at, *at, 0};
    *band = {std::min(band->low, *at), std::max(band->high, *at), band->lengths + 1};
  }
  return band;
}

std::optional<RatioSide> longer_side(std::vector<RatioPoint> const& split) {
  if (split.empty()) return std::nullopt;
  RatioSide const first = with_more_work(split.front());
  bool const always = std::all_of(split.begin(), split.end(),
                                  [&](RatioPoint const& p) { return with_more_work(p) == first; });
  return always ? std::optional(first) : std::nullopt;
}

RatioSize nearest_size(std::vector<RatioPoint> const& points, double rollout_gpus) {
  if (points.empty()) throw std::logic_error("no point to be near to");
  auto const distance = [&](RatioPoint const& p) {
    return std::abs(std::log(p.size.rollout_gpus / rollout_gpus));
  };
  return std::min_element(points.begin(), points.end(),
                          [&](RatioPoint const& a, RatioPoint const& b) { return distance(a) < distance(b); })
      ->size;
}

std::string_view name_of(RatioSide s) { return s == RatioSide::rollout ? "rollout" : "train"; }
std::string_view name_of(RatioLimit l) { return l == RatioLimit::gpus ? "gpus" : "bound"; }
std::string_view name_of(RatioBase b) { return b == RatioBase::file ? "file" : "fastest"; }

std::string_view name_of(RatioKnob k) {
  switch (k) {
    case RatioKnob::rollout_gpus:
      return "rollout_gpus";
    case RatioKnob::train_gpus:
      return "train_gpus";
    case RatioKnob::max_concurrent:
      return "max_concurrent";
    case RatioKnob::max_staleness:
      return "max_staleness";
  }
  return "";
}

}  // namespace rollcast
