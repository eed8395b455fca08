#include "reports/path_difference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>
#include <utility>

namespace rollcast {
namespace {

constexpr std::string_view kWork = "work";
constexpr std::string_view kBetween = "between_phases";
constexpr double kHardly = 0.1;
constexpr double kWorthTelling = 0.01;  // of the other's step
constexpr double kCounterweight = 0.2;  // of the savings

std::string_view cause_of(PathShare const& s) {
  for (Activity a : {Activity::compute, Activity::communication, Activity::copy, Activity::overhead}) {
    if (s.cause == name_of(a)) return kWork;
  }
  return s.cause;
}

using Sums = std::map<std::pair<std::string, std::string>, Seconds>;

Sums sums_of(std::vector<PathShare> const& path) {
  Sums out;
  for (PathShare const& s : path) out[{s.phase, std::string(cause_of(s))}] += s.seconds;
  return out;
}

// Longest over the pools: a phase that two pools have at the same time counts once.
Seconds window_of(ContenderFigures const& f, std::string_view phase) {
  Seconds longest;
  for (PhaseHeadline const& p : f.phases) {
    if (name_of(p.phase) == phase) longest = max(longest, p.mean);
  }
  return longest;
}

Seconds on_path(ContenderFigures const& f, std::string_view phase) {
  Seconds sum;
  for (PathShare const& s : f.critical_path) {
    if (s.phase == phase) sum += s.seconds;
  }
  return sum;
}

PathChange change_of(PathDifference const& d, ContenderFigures const& winner, double scale) {
  if (d.saved().value < 0) return PathChange::more;
  if (d.phase != kBetween && !(window_of(winner, d.phase).value > 0)) return PathChange::absent;
  Seconds const hidden = (window_of(winner, d.phase) - on_path(winner, d.phase)) * scale;
  if (d.cause == kWork && d.saved() * 0.5 <= hidden) return PathChange::hidden;
  bool const hardly = d.winner < d.other * kHardly;
  return d.cause != kWork && hardly ? PathChange::nothing : PathChange::less;
}

std::string_view noun_of(std::string_view phase) {
  constexpr std::pair<Phase, std::string_view> kNouns[] = {{Phase::wake, "waking the engines"},
                                                           {Phase::generate, "generation"},
                                                           {Phase::sleep, "putting the engines to sleep"},
                                                           {Phase::score, "scoring"},
                                                           {Phase::old_logprob, "the old log-probabilities"},
                                                           {Phase::reference, "the reference pass"},
                                                           {Phase::values, "the critic's values"},
                                                           {Phase::advantage, "the advantages"},
                                                           {Phase::update_critic, "the critic's update"},
                                                           {Phase::update_actor, "the actor's update"},
                                                           {Phase::weight_sync, "the weight sync"},
                                                           {Phase::checkpoint, "checkpoints"}};
  for (auto const& [p, noun] : kNouns) {
    if (name_of(p) == phase) return noun;
  }
  return "the time between phases";
}

// What is waited for; empty: it is no wait.
std::string wait_of(PathDifference const& d) {
  std::string const within = fmt::format(" in {}", noun_of(d.phase));
  if (d.cause == name_of(Activity::rollout_tail)) return "for generation's tail";
  if (d.cause == name_of(Activity::pipeline_bubble)) return "for other pipeline stages" + within;
  if (d.cause == name_of(Activity::collective_wait)) return "for slower ranks" + within;
  if (d.cause == name_of(Activity::phase_wait)) return "for other ranks or phases" + within;
  if (d.cause == name_of(Activity::driver)) return "for the driver" + within;
  return {};
}

std::string saving_text(PathDifference const& d, std::string_view seconds) {
  std::string const wait = wait_of(d);
  switch (d.change) {
    case PathChange::absent:
      return fmt::format("does without {} (-{})", noun_of(d.phase), seconds);
    case PathChange::nothing:
      if (!wait.empty()) return fmt::format("does not wait {} (-{})", wait, seconds);
      [[fallthrough]];
    default:
      return wait.empty() ? fmt::format("spends less on {} (-{})", noun_of(d.phase), seconds)
                          : fmt::format("waits less {} (-{})", wait, seconds);
  }
}

std::string cost_text(PathDifference const& d) {
  std::string const wait = wait_of(d);
  std::string const seconds = format(Seconds(0) - d.saved());
  return wait.empty() ? fmt::format("it spends {} more on {}", seconds, noun_of(d.phase))
                      : fmt::format("it waits {} longer {}", seconds, wait);
}

std::string joined(std::vector<std::string> const& parts) {
  std::string out;
  for (std::size_t i = 0; i < parts.size(); ++i)
    out += (i == 0 ? "" : i + 1 < parts.size() ? ", " : " and ") + parts[i];
  return out;
}

}  // namespace

std::string_view name_of(PathChange c) {
  switch (c) {
    case PathChange::absent:
      return "absent";
    case PathChange::hidden:
      return "hidden";
    case PathChange::less:
      return "less";
    case PathChange::nothing:
      return "nothing";
    case PathChange::more:
      return "more";
  }
  throw std::logic_error("no such PathChange");
}

std::vector<PathDifference> path_differences(ContenderFigures const& winner, ContenderFigures const& other,
                                             double scale) {
  Sums mine = sums_of(winner.critical_path);
  Sums const theirs = sums_of(other.critical_path);
  for (auto const& [key, seconds] : theirs) mine.try_emplace(key, Seconds(0));
  std::vector<PathDifference> out;
  for (auto const& [key, seconds] : mine) {
    auto const their = theirs.find(key);
    PathDifference d{key.first, key.second, seconds * scale,
                     their == theirs.end() ? Seconds(0) : their->second, PathChange::less};
    if (std::fabs(d.saved().value) < other.step.mean.value * kWorthTelling) continue;
    d.change = change_of(d, winner, scale);
    out.push_back(std::move(d));
  }
  std::stable_sort(out.begin(), out.end(), [](PathDifference const& a, PathDifference const& b) {
    return std::fabs(b.saved().value) < std::fabs(a.saved().value);
  });
  return out;
}

std::string_view hidden_behind(ContenderFigures const& winner) {
  auto const pool_of = [&](Phase phase) {
    auto const p = std::find_if(winner.phases.begin(), winner.phases.end(),
                                [&](PhaseHeadline const& q) { return q.phase == phase; });
    return p == winner.phases.end() ? -1 : p->pool;
  };
  int const generates = pool_of(Phase::generate);
  if (generates < 0 || generates == pool_of(Phase::update_actor)) return "other phases";
  Seconds generation, rest;
  for (PathShare const& s : winner.critical_path)
    (s.phase == name_of(Phase::generate) ? generation : rest) += s.seconds;
  return generation < rest ? "training" : "generation";
}

std::string because(std::vector<PathDifference> const& differences, std::string_view behind) {
  struct Saving {
    Seconds saved;
    std::string text;
  };
  std::vector<Saving> savings;
  Saving hidden;
  std::vector<std::string> hidden_phases;
  PathDifference const* cost = nullptr;
  Seconds all;
  for (PathDifference const& d : differences) {
    if (d.change == PathChange::more) {
      if (cost == nullptr) cost = &d;
      continue;
    }
    all += d.saved();
    if (d.change == PathChange::hidden) {
      hidden.saved += d.saved();
      hidden_phases.emplace_back(noun_of(d.phase));
    } else {
      savings.push_back({d.saved(), saving_text(d, format(d.saved()))});
    }
  }
  if (!hidden_phases.empty()) {
    hidden.text =
        fmt::format("hides {} behind {} (-{})", joined(hidden_phases), behind, format(hidden.saved));
    savings.push_back(std::move(hidden));
  }
  if (savings.empty()) return {};
  std::stable_sort(savings.begin(), savings.end(),
                   [](Saving const& a, Saving const& b) { return b.saved < a.saved; });
  std::string out = "it " + savings.front().text;
  if (savings.size() > 1 && all * kHardly <= savings[1].saved) out += " and " + savings[1].text;
  if (cost != nullptr && all * kCounterweight <= Seconds(0) - cost->saved())
    out += ", although " + cost_text(*cost);
  return out;
}

}  // namespace rollcast
