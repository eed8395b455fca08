#include "reports/contest_serving.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "reports/contest_words.hpp"

namespace rollcast {
namespace {

constexpr double kLeastRatio = 1.02;  // less is in how the last answers end

bool is_same(ServiceObjective const& a, ServiceObjective const& b) {
  auto const same = [](Seconds x, Seconds y) { return !(x < y) && !(y < x); };
  return same(a.ttft, b.ttft) && same(a.tpot, b.tpot) && same(a.latency, b.latency);
}

std::vector<ContenderFigures const*> that_complete(Contest const& c) {
  std::vector<ContenderFigures const*> out;
  for (ContenderFigures const& f : c.figures) {
    if (f.completed > 0) out.push_back(&f);
  }
  return out;
}

bool all_ask_the_same(std::vector<ContenderFigures const*> const& figures) {
  return std::all_of(figures.begin(), figures.end(), [&](ContenderFigures const* f) {
    return is_same(f->serving->objective, figures.front()->serving->objective);
  });
}

bool any_in_time(Contest const& c) {
  return std::any_of(c.contenders.begin(), c.contenders.end(), [](Contender const& k) {
    return !k.runs.empty() && std::all_of(k.runs.begin(), k.runs.end(), [](ContenderRun const& r) {
      return is_complete(r.headline) && per_second(r.headline, WorkUnit::request_in_time) > 0;
    });
  });
}

std::string first_tokens(ContenderFigures const& best, ContenderFigures const& next) {
  auto const p99 = [](ContenderFigures const& f) {
    return format(Seconds((*f.serving)[ServingColumn::ttft_p99].value_or(0)));
  };
  std::string const out = fmt::format("at p99 the first token comes after {} and {}", p99(best), p99(next));
  return best.gpus == next.gpus ? out : fmt::format("{}, with {} and {} GPUs", out, best.gpus, next.gpus);
}

Seconds gpu_time(ServingHeadline const& s) {
  Seconds sum;
  for (std::size_t i = 0; i < kServingTimes; ++i)
    sum += Seconds(s[column_of(static_cast<ServingTime>(i))].value_or(0));
  return sum;
}

// Of what is won by more GPUs, less GPU time is no reason.
std::string reason(Contest const& c, ContenderFigures const& best, ContenderFigures const& next) {
  if (best.gpus > next.gpus && !(gpu_time(*best.serving) < gpu_time(*next.serving)))
    return fmt::format("it has {} GPUs, the other {}", best.gpus, next.gpus);
  std::string const why = because(c.serving_why, next.serving->execution);
  return why.empty() ? why : "per request, " + why;
}

}  // namespace

bool serves(WorkUnit u) { return u == WorkUnit::request || u == WorkUnit::request_in_time; }

std::optional<WorkUnit> request_unit(Contest const& c) {
  auto const figures = that_complete(c);
  if (figures.empty() || !std::all_of(figures.begin(), figures.end(),
                                      [](ContenderFigures const* f) { return f->serving.has_value(); }))
    return std::nullopt;
  bool const in_time =
      asks(figures.front()->serving->objective) && all_ask_the_same(figures) && any_in_time(c);
  return in_time ? WorkUnit::request_in_time : WorkUnit::request;
}

void add_serving_warnings(Contest& c) {
  std::set<std::string> works;
  for (Contender const& k : c.contenders) {
    if (!k.work.empty()) works.insert(k.work);
  }
  if (works.size() > 1) {
    c.warnings.push_back(
        "The contenders do not serve the same requests (model, number, arrivals or lengths differ), so that "
        "a request of one may be more work than one of another.");
    for (Contender const& k : c.contenders) c.warnings.push_back(fmt::format("{}: {}", k.name, k.work));
  }
  auto const figures = that_complete(c);
  if (!all_ask_the_same(figures)) {
    c.warnings.push_back(
        "The contenders do not ask for the same times (serve.objective), so that all requests are counted, "
        "in time "
        "or not.");
  } else if (asks(figures.front()->serving->objective) && c.unit == WorkUnit::request) {
    c.warnings.push_back("None of them has a request in time with every seed, so that all are counted.");
  }
}

std::string serving_verdict(Contest const& c) {
  bool const in_time = c.unit == WorkUnit::request_in_time;
  if (!c.speed.best) return "None of them can run: " + others_text(c) + ".";
  std::string const& best = c.contenders[*c.speed.best].name;
  if (!c.speed.next)
    return fmt::format("Only {} can {}; {}.", best, in_time ? "serve requests in time" : "run",
                       others_text(c));
  std::string const& next = c.contenders[*c.speed.next].name;
  ContenderFigures const& winner = c.figures[*c.speed.best];
  ContenderFigures const& other = c.figures[*c.speed.next];
  std::string const interval = interval_text(*c.speed.against, c.seeds.size());
  std::string const rate = in_time ? "requests in time" : "requests per second";
  if (!c.speed.decided() || c.speed.against->ratio < kLeastRatio)
    return fmt::format("There is {} between {} and {} in {}: the ratio is {:.3g} ({}); {}.",
                       c.speed.decided() ? "hardly a difference" : "no difference that we can tell", best,
                       next, rate, c.speed.against->ratio, interval, first_tokens(winner, other));
  std::string out = fmt::format("{} serves {:.3g} times as many {} as {} ({})", best, c.speed.against->ratio,
                                rate, next, interval);
  std::string const why = reason(c, winner, other);
  return out + (why.empty() ? "" : ": " + why) + ".";
}

}  // namespace rollcast
