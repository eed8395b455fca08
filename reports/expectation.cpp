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

constexpr Seconds kClose(1);

void compare_time(Unmet& u, std::string_view what, std::optional<Seconds> expected,
                  std::optional<Seconds> got) {
  if (!expected) return;
  if (!got || *got < *expected - kClose || *got > *expected + kClose)
    u.differs(what, format(*expected), got ? format(*got) : "never");
}

std::optional<Seconds> first_of(Analysis const& a, HappeningKind kind) {
  for (Happening const& h : a.happenings) {
    if (h.kind == kind) return h.time;
  }
  return std::nullopt;
}

void compare_incident(Unmet& u, Expected const& e, Analysis const& a) {
  if (e.stall || e.group || e.operation) {
    if (a.stalls.empty()) return u.differs("stall", e.stall.value_or("one"), "none");
    StallRecord const& r = a.stalls.front();
    u.same("stall", e.stall, std::string(name_of(r.kind)));
    u.same("group", e.group, r.group);
    u.same("operation", e.operation, r.operation);
  }
  u.part("cause", e.cause.value_or(""), a.happenings.empty() ? "" : a.happenings.front().what);
  if (a.happenings.empty()) return;
  Seconds const start = a.happenings.front().time;
  auto const after = [&](std::optional<Seconds> t) { return t ? std::optional(*t - start) : std::nullopt; };
  std::optional<Seconds> const detects = first_of(a, HappeningKind::detects);
  std::optional<Seconds> const ended = after(first_of(a, HappeningKind::ends));
  compare_time(u, "detected_after", e.detected_after, after(detects));
  compare_time(u, "ended_after", e.ended_after, ended);
  if (e.ended_within && (!ended || *ended > *e.ended_within))
    u.differs("ended_within", format(*e.ended_within), ended ? format(*ended) : "never");
  if (e.no_end && ended) u.differs("end", "never", format(*ended));
  std::optional<Seconds> const monitor = first_of(a, HappeningKind::monitor);
  bool const asks = e.monitor_from || e.monitor_before;
  if (asks && (!monitor || !detects)) return u.differs("monitor", "a report", "none");
  if (e.monitor_from && *monitor - *detects < *e.monitor_from)
    u.differs("monitor_from", format(*e.monitor_from), format(*monitor - *detects));
  if (e.monitor_before && !(*monitor - *detects < *e.monitor_before))
    u.differs("monitor_before", format(*e.monitor_before), format(*monitor - *detects));
  if (e.gpu_hours_lost) {
    double const lost = ended ? ended->value * static_cast<double>(a.gpus) / 3600 : 0;
    if (std::fabs(lost / *e.gpu_hours_lost - 1) > 0.01) u.differs("gpu_hours_lost", *e.gpu_hours_lost, lost);
  }
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
  double const over_wire = sync_over_wire(a).value_or(0);
  if (e.sync_over_wire && over_wire < *e.sync_over_wire)
    u.differs("weight sync over its wire", fmt::format("at least {:.3g}", *e.sync_over_wire),
              fmt::format("{:.3g}", over_wire));
  if (e.outcome == Outcome::oom && a.ooms.empty()) u.differs("out of memory", "a record", "none");
  if (!a.ooms.empty()) compare(u, e, a.ooms.front(), a);
  compare_incident(u, e, a);
  return u.sentences;
}

std::string expectation_text(Expected const& e) {
  std::string out(name_of(e.outcome));
  if (e.kind) out += fmt::format(" ({})", name_of(*e.kind));
  if (e.phase) out += fmt::format(" in {}", name_of(*e.phase));
  if (e.step) out += fmt::format(" of step {}", *e.step);
  if (e.allocation) out += fmt::format(", {}", *e.allocation);
  if (e.stall) out += fmt::format(" ({})", *e.stall);
  if (e.group) out += fmt::format(" in {}", *e.group);
  if (e.no_end) out += ", without end";
  return out;
}

}  // namespace rollcast
