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

void read_stall_expectation(Fields& g, Expected& e) {
  auto const text = [&](std::string_view key, std::optional<std::string>& value, std::string_view meaning) {
    if_there(g, key, value, [&](std::string& v) { g.text(key, v, meaning); });
  };
  auto const time = [&](std::string_view key, std::optional<Seconds>& value, std::string_view meaning) {
    if_there(g, key, value, [&](Seconds& v) { g.quantity(key, v, kNotNegative, meaning); });
  };
  text("stall", e.stall, "stall: watchdog, hang, rpc_timeout or deadlock");
  text("group", e.group, "stall: the group that its ranks wait in");
  text("operation", e.operation, "stall: the collective");
  text("cause", e.cause, "incident: part of the first cause");
  time("detected_after", e.detected_after, "incident: from the cause to the first timer, to a second");
  time("ended_after", e.ended_after, "incident: from the cause to the end of the job, to a second");
  time("ended_within", e.ended_within, "incident: the same, at most");
  time("monitor_from", e.monitor_from, "incident: from the first timer to the heartbeat monitor, at least");
  time("monitor_before", e.monitor_before, "incident: the same, less than");
  g.flag("no_end", e.no_end, "incident: nobody ends it");
  if_there(g, "gpu_hours_lost", e.gpu_hours_lost, [&](double& v) {
    g.number("gpu_hours_lost", v, kPositive, "incident: of all GPUs from the cause to the end, to 1 %");
  });
}

void read_bounds(Fields& g, SecondsBounds& b) {
  if_there(g, "least", b.least,
           [&](Seconds& v) { g.quantity("least", v, kNotNegative, "at least so long"); });
  if_there(g, "most", b.most, [&](Seconds& v) { g.quantity("most", v, kNotNegative, "at most so long"); });
}

void read_phase_seconds(Fields& f, std::vector<std::pair<Phase, SecondsBounds>>& bounds) {
  f.custom("phase_seconds", "map of phases to {least, most}", "",
           "mean time of a phase in a step, over all pools", [&](Value const& v) {
             if (v.kind != ValueKind::map) {
               f.problem(v.mark, "phase_seconds", "not a map", "write for example {generate: {most: 10 s}}");
               return;
             }
             Fields inner(f.reading(), &v, f.path_of("phase_seconds"), v.mark, "default");
             for (Phase p : all_phases()) {
               SecondsBounds b;
               if (inner.optional_group(name_of(p), "", [&](Fields& g) { read_bounds(g, b); }))
                 bounds.emplace_back(p, b);
             }
             inner.finish();
           });
}

void read_idle(Fields& f, std::optional<ExpectedIdle>& idle) {
  ExpectedIdle read;
  bool const given = f.optional_group("idle", "what the GPUs of a pool must wait", [&](Fields& g) {
    g.text("pool", read.pool, "which; default: the first");
    g.text("cause", read.cause, "of the report's idle_by_cause: phase_wait");
    g.require("cause", "write for example cause: phase_wait");
    g.number("least", read.least, {0, 1, false}, "share of the ranks' time");
  });
  if (given) idle = read;
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
        read_stall_expectation(g, read);
        g.group("step_seconds", "mean time of a step", [&](Fields& b) { read_bounds(b, read.step_seconds); });
        read_phase_seconds(g, read.phase_seconds);
        read_idle(g, read.idle);
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
