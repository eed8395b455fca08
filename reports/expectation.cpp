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
  double const over_wire = sync_over_wire(a).value_or(0);
  if (e.sync_over_wire && over_wire < *e.sync_over_wire)
    u.differs("weight sync over its wire", fmt::format("at least {:.3g}", *e.sync_over_wire),
              fmt::format("{:.3g}", over_wire));
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
