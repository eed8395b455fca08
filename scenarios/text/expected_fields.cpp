#include "scenarios/text/expected_fields.hpp"

namespace rollcast {
namespace {

constexpr Range kFromOne{1, 1e9, false};
constexpr Range kRank{0, 1e9, false};
constexpr Range kTolerance{0, 1, false};

// Read where the key is there; in a listing without a default.
template <class T, class Read>
void if_there(Fields& g, std::string_view key, std::optional<T>& value, Read const& read) {
  if (!g.has(key) && !g.listing()) return g.allow(key);
  T v{};
  read(v);
  if (g.listing()) {
    g.rows().back().fallback.clear();
  } else {
    value = v;
  }
}

}  // namespace

void read_expected(Fields& f, std::optional<Expected>& e) {
  Expected read;
  bool const given =
      f.optional_group("expected", "what the run must come to; validate checks it", [&](Fields& g) {
        using enum Outcome;
        g.choice("outcome", read.outcome, {completed, oom, stalled, deadlock, refused, failed, infeasible},
                 "how the run ends");
        g.require("outcome", "write for example outcome: oom");
        g.text("source", read.source, "who reported it");
        g.text("reason", read.reason, "part of the reason that the report gives");
        if_there(g, "preemptions", read.preemptions,
                 [&](int& v) { g.integer("preemptions", v, kFromOne, "at least so many preemptions"); });
        if_there(g, "sync_over_wire", read.sync_over_wire, [&](double& v) {
          g.number("sync_over_wire", v, kFromOne,
                   "the weight sync takes at least so many times what its wire alone does");
        });
        if_there(g, "steps", read.steps,
                 [&](int& v) { g.integer("steps", v, kFromOne, "steps that validate runs for it"); });
        if (read.outcome != Outcome::oom && !g.listing()) {
          for (std::string_view key :
               {"kind", "phase", "pool", "rank", "step", "allocation", "requested", "tolerance"})
            g.forbid(key, "it tells of an out-of-memory, and the outcome is another");
          return;
        }
        if_there(g, "kind", read.kind, [&](OomKind& v) {
          g.choice("kind", v, {OomKind::torch, OomKind::driver, OomKind::host}, "oom: whose memory ran out");
        });
        if_there(g, "phase", read.phase,
                 [&](Phase& v) { g.choice("phase", v, all_phases(), "oom: in which phase"); });
        if_there(g, "pool", read.pool, [&](std::string& v) { g.text("pool", v, "oom: on which pool"); });
        if_there(g, "rank", read.rank, [&](int& v) { g.integer("rank", v, kRank, "oom: of which rank"); });
        if_there(g, "step", read.step,
                 [&](int& v) { g.integer("step", v, kFromOne, "oom: in which step, from 1"); });
        if_there(g, "allocation", read.allocation,
                 [&](std::string& v) { g.text("allocation", v, "oom: part of the name of the allocation"); });
        if_there(g, "requested", read.requested, [&](Bytes& v) {
          g.quantity("requested", v, {0, 1e18, true}, "oom: size of the allocation");
        });
        g.number("tolerance", read.tolerance, kTolerance, "relative, of requested");
      });
  if (given) e = read;
}

}  // namespace rollcast
