#include "reports/contest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <stdexcept>

#include "reports/contest_serving.hpp"
#include "reports/contest_words.hpp"

namespace rollcast {
namespace {

using Rate = std::function<double(ContenderRun const&)>;

std::vector<double> rates_of(Contender const& c, Rate const& rate) {
  std::vector<double> out;
  for (ContenderRun const& r : c.runs) out.push_back(rate(r));
  return out;
}

Standing standing_of(Contest const& c, Rate const& rate) {
  struct Ranked {
    std::size_t contender;
    std::vector<double> rates;
    double mean_log;
  };
  std::vector<Ranked> ranked;
  for (std::size_t i = 0; i < c.contenders.size(); ++i) {
    if (!is_ranked(c, i)) continue;
    Ranked r{i, rates_of(c.contenders[i], rate), 0};
    for (double const v : r.rates) {
      if (!(v > 0)) return {};
      r.mean_log += std::log(v) / static_cast<double>(r.rates.size());
    }
    ranked.push_back(std::move(r));
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](Ranked const& a, Ranked const& b) { return b.mean_log < a.mean_log; });
  Standing s;
  if (ranked.empty()) return s;
  s.best = ranked[0].contender;
  if (ranked.size() < 2) return s;
  s.next = ranked[1].contender;
  s.against = paired_ratio(ranked[0].rates, ranked[1].rates);
  return s;
}

void add_warnings(Contest& c) {
  std::set<std::string> works;
  for (Contender const& k : c.contenders) {
    if (!k.work.empty()) works.insert(k.work);
  }
  if (works.size() < 2) return;
  c.unit = WorkUnit::token;
  c.warnings.push_back(
      "The contenders do not do the same work (model, algorithm, samples a step, or lengths differ), so they "
      "are compared by the tokens of prompts and responses that they train on.");
  for (Contender const& k : c.contenders) c.warnings.push_back(fmt::format("{}: {}", k.name, k.work));
}

// "By the GPU-hour, A does 1.2 times as many samples as B (1.1 to 1.3 with 95 % confidence ...)."
std::string cost_text(Contest const& c, Standing const& s, std::string_view what) {
  if (!s.next) return {};
  std::string const& best = c.contenders[*s.best].name;
  std::string const& next = c.contenders[*s.next].name;
  if (!s.decided())
    return fmt::format("By the {}, {} and {} cannot be told apart ({}).", what, best, next,
                       interval_text(*s.against, c.seeds.size()));
  return fmt::format("By the {}, {} does {:.3g} times as many {} as {} ({}).", what, best, s.against->ratio,
                     plural_name_of(c.unit), next, interval_text(*s.against, c.seeds.size()));
}

}  // namespace

std::string_view name_of(WorkUnit u) {
  switch (u) {
    case WorkUnit::sample:
      return "sample";
    case WorkUnit::token:
      return "token";
    case WorkUnit::request:
      return "request";
    case WorkUnit::request_in_time:
      return "request in time";
  }
  throw std::logic_error("no such WorkUnit");
}

std::string_view plural_name_of(WorkUnit u) {
  switch (u) {
    case WorkUnit::sample:
      return "samples";
    case WorkUnit::token:
      return "tokens";
    case WorkUnit::request:
      return "requests";
    case WorkUnit::request_in_time:
      return "requests in time";
  }
  throw std::logic_error("no such WorkUnit");
}

double per_second(Headline const& h, WorkUnit u) {
  auto const served = [&](ServingColumn c) { return h.serving ? (*h.serving)[c].value_or(0) : 0; };
  switch (u) {
    case WorkUnit::sample:
      return h.samples_per_second;
    case WorkUnit::token:
      return h.tokens_per_second_per_gpu * static_cast<double>(h.gpus);
    case WorkUnit::request:
      return served(ServingColumn::requests_per_second);
    case WorkUnit::request_in_time:
      return served(ServingColumn::goodput);
  }
  throw std::logic_error("no such WorkUnit");
}

bool is_ranked(Contest const& c, std::size_t contender) {
  if (!c.figures[contender].can_win(c.seeds.size())) return false;
  auto const& runs = c.contenders[contender].runs;
  return c.unit != WorkUnit::request_in_time || std::all_of(runs.begin(), runs.end(), [&](auto const& r) {
           return per_second(r.headline, c.unit) > 0;
         });
}

Contest contest(std::vector<Contender> contenders, std::vector<std::uint64_t> seeds, int steps,
                std::optional<std::int64_t> run_steps) {
  Contest c;
  c.seeds = std::move(seeds);
  c.steps = steps;
  c.run_steps = run_steps;
  c.contenders = std::move(contenders);
  for (Contender const& k : c.contenders) {
    if (k.runs.size() != c.seeds.size()) throw std::logic_error("a contender needs a run for each seed");
    c.figures.push_back(figures_of(k.runs));
  }
  if (auto const unit = request_unit(c)) {
    c.unit = *unit;
    add_serving_warnings(c);
  } else {
    add_warnings(c);
  }
  Rate const speed = [&c](ContenderRun const& r) { return per_second(r.headline, c.unit); };
  c.speed = standing_of(c, speed);
  c.gpu_hours = standing_of(c, [&](ContenderRun const& r) {
    return speed(r) / static_cast<double>(std::max<std::int64_t>(1, r.headline.gpus));
  });
  c.dollars = standing_of(
      c, [&](ContenderRun const& r) { return r.dollars_per_hour ? speed(r) / *r.dollars_per_hour : 0; });
  for (std::size_t i = 0; i < c.contenders.size(); ++i) {
    bool const ranked = c.speed.best && is_ranked(c, i);
    c.speed_of_best.push_back(ranked
                                  ? std::optional(paired_ratio(rates_of(c.contenders[i], speed),
                                                               rates_of(c.contenders[*c.speed.best], speed)))
                                  : std::nullopt);
  }
  if (c.speed.next) {
    ContenderFigures const& best = c.figures[*c.speed.best];
    ContenderFigures const& next = c.figures[*c.speed.next];
    double const scale = c.unit == WorkUnit::sample ? next.samples_per_step / best.samples_per_step
                                                    : next.tokens_per_step / best.tokens_per_step;
    if (serves(c.unit)) {
      c.serving_why = serving_differences(*best.serving, *next.serving);
    } else {
      c.why = path_differences(best, next, scale);
    }
  }
  return c;
}

std::string verdict(Contest const& c) {
  if (serves(c.unit)) return serving_verdict(c);
  if (!c.speed.best) {
    std::string const why = others_text(c);
    return why.empty() ? "None of them trains on anything." : "None of them can run: " + why + ".";
  }
  std::string const& best = c.contenders[*c.speed.best].name;
  if (!c.speed.next) return fmt::format("Only {} can run; {}.", best, others_text(c));
  std::string const& next = c.contenders[*c.speed.next].name;
  std::string const interval = interval_text(*c.speed.against, c.seeds.size());
  if (!c.speed.decided())
    return fmt::format(
        "There is no difference that we can tell between {} and {} in speed per {}: the ratio is {:.3g} "
        "({}).",
        best, next, name_of(c.unit), c.speed.against->ratio, interval);
  std::string out = fmt::format("{} is {:.3g} times as fast per {} as {} ({})", best, c.speed.against->ratio,
                                name_of(c.unit), next, interval);
  std::string const why = because(c.why, hidden_behind(c.figures[*c.speed.best]));
  return out + (why.empty() ? "" : ": per step, " + why) + ".";
}

std::optional<DrawnSpeed> drawn_speed(std::vector<Headline> const& best, std::vector<Headline> const& next,
                                      WorkUnit unit) {
  auto const speed = [unit](Headline const& h) { return per_second(h, unit); };
  std::vector<double> const all = ratios(best, next, speed);
  if (static_cast<int>(all.size()) < kFewestDraws) return std::nullopt;
  DrawnSpeed d;
  d.draws = static_cast<int>(best.size());
  d.completed = static_cast<int>(all.size());
  d.ratio = band_of(all);
  d.faster = static_cast<int>(std::count_if(all.begin(), all.end(), [](double r) { return r > 1; }));
  return d;
}

std::string drawn_verdict(Contest const& c) {
  if (!c.drawn) return {};
  DrawnSpeed const& d = *c.drawn;
  return fmt::format(
      "With prices drawn as well as lengths ({} paired draws) it is {:#.3g} to {:#.3g} times as fast (p10 to "
      "p90), and faster in {} of {}{}.",
      d.draws, d.ratio.p10, d.ratio.p90, d.faster, d.completed,
      tells_a_difference(d.ratio) ? "" : ": errors of prices could turn it round");
}

std::string cost_verdict(Contest const& c) {
  if (!c.speed.next) return {};
  std::set<std::int64_t> gpus;
  std::set<double> rents;
  for (std::size_t i = 0; i < c.contenders.size(); ++i) {
    if (!is_ranked(c, i)) continue;
    gpus.insert(c.figures[i].gpus);
    rents.insert(c.contenders[i].runs.front().dollars_per_hour.value_or(0));
  }
  std::string out;
  if (gpus.size() > 1) out += cost_text(c, c.gpu_hours, "GPU-hour");
  if (rents.size() > 1 && c.dollars.next) out += (out.empty() ? "" : " ") + cost_text(c, c.dollars, "dollar");
  return out;
}

}  // namespace rollcast
