#include "reports/expectation.hpp"

#include <fmt/format.h>

#include <cmath>

namespace rollcast {
namespace {

class Unmet {
 public:
  template <class T>
  void same(std::string_view what, std::optional<T> const& expected, T const& got) {
    if (expected && !(*expected == got)) differs(what, *expected, got);
  }
  void part(std::string_view what, std::string const& expected, std::string const& got) {
    if (got.find(expected) == std::string::npos) differs(what, expected, got);
  }
  template <class A, class B>
  void differs(std::string_view what, A const& expected, B const& got) {
    sentences.push_back(fmt::format("{}: expected {}, got {}", what, expected, got));
  }

  std::vector<std::string> sentences;
};

void compare(Unmet& u, Expected const& e, OomRecord const& o, Analysis const& a) {
  if (e.kind) u.same("kind", std::optional(name_of(*e.kind)), name_of(o.kind));
  if (e.phase) u.same("phase", std::optional(name_of(*e.phase)), name_of(o.phase));
  u.same("pool", e.pool, a.pools[static_cast<std::size_t>(o.pool)].name);
  u.same("rank", e.rank, o.rank);
  u.same("step", e.step, o.step + 1);
  u.part("allocation", e.allocation.value_or(""), o.allocation);
  if (e.requested && std::fabs(o.requested / *e.requested - 1) > e.tolerance)
    u.differs("requested", format(*e.requested), format(o.requested));
}

void compare(Unmet& u, std::string_view what, SecondsBounds const& bounds, Seconds got) {
  if (bounds.least && got < *bounds.least)
    u.differs(what, fmt::format("at least {}", format(*bounds.least)), format(got));
  if (bounds.most && got > *bounds.most)
    u.differs(what, fmt::format("at most {}", format(*bounds.most)), format(got));
}

void compare(Unmet& u, ExpectedIdle const& e, Analysis const& a) {
  for (PoolUse const& pool : a.pools) {
    if (!e.pool.empty() && pool.name != e.pool) continue;
    double waited = 0;
    for (auto const& [cause, share] : pool.idle_by_cause) {
      if (cause == e.cause) waited = share;
    }
    if (waited < e.least)
      u.differs(e.cause, fmt::format("at least {:.3g}", e.least), fmt::format("{:.3g}", waited));
    return;
  }
  u.differs("idle", "a pool " + e.pool, "none");
}

Seconds seconds_of(Phase phase, Analysis const& a) {
  Seconds sum;
  for (PhaseTime const& p : a.phases) {
    if (p.phase == phase) sum += p.mean;
  }
  return sum;
}

}  // namespace

std::vector<std::string> unmet(Expected const& e, Analysis const& a) {
  Unmet u;
  if (e.outcome != a.outcome) {
    u.differs("outcome", name_of(e.outcome), name_of(a.outcome));
    return u.sentences;
  }
  u.part("reason", e.reason, a.outcome_reason);
  if (e.preemptions && a.preemptions < *e.preemptions)
    u.differs("preemptions", fmt::format("at least {}", *e.preemptions), a.preemptions);
  compare(u, "step_seconds", e.step_seconds, a.step.mean);
  for (auto const& [phase, bounds] : e.phase_seconds)
    compare(u, fmt::format("seconds of {}", name_of(phase)), bounds, seconds_of(phase, a));
  if (e.idle) compare(u, *e.idle, a);
  if (e.outcome == Outcome::oom && a.ooms.empty()) u.differs("out of memory", "a record", "none");
  if (!a.ooms.empty()) compare(u, e, a.ooms.front(), a);
  return u.sentences;
}

std::string expectation_text(Expected const& e) {
  std::string out(name_of(e.outcome));
  if (e.kind) out += fmt::format(" ({})", name_of(*e.kind));
  if (e.phase) out += fmt::format(" in {}", name_of(*e.phase));
  if (e.step) out += fmt::format(" of step {}", *e.step);
  if (e.allocation) out += fmt::format(", {}", *e.allocation);
  return out;
}

}  // namespace rollcast
