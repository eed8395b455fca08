#include "scenarios/text/failure_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "scenarios/text/pool_fields.hpp"

namespace rollcast {
namespace {

constexpr std::size_t kMostFaults = 256;
constexpr Range kRank{0, 1e6, false};
constexpr Range kTime{0, 1e8, false};  // three years
constexpr Range kTimeout{0, 1e8, true};
constexpr std::array kKinds = {FaultKind::kill, FaultKind::raise,  FaultKind::hang,
                               FaultKind::skip, FaultKind::desync, FaultKind::slow,
                               FaultKind::link, FaultKind::server, FaultKind::leak};

void read_rank(Fields& g, Fault& fault, std::string_view key = "rank") {
  int rank = 0;
  g.integer(key, rank, kRank,
            key == "rank" ? "of the pool, from 0" : "of the pool's rollout engines, from 0");
  if (g.listing()) return g.rows().back().fallback.clear();
  fault.ranks = {rank};
}

void read_ranks(Fields& g, Fault& fault) {
  g.custom("ranks", "list of ranks", "", "of the pool, from 0", [&](Value const& v) {
    bool const list = v.kind == ValueKind::list && !v.items.empty();
    for (Value const& item : v.items) {
      NumberText const n = parse_whole_number(item);
      if (!list || !n.ok || !holds(kRank, n.value)) break;
      fault.ranks.push_back(static_cast<int>(n.value));
    }
    if (!list || fault.ranks.size() != v.items.size())
      g.problem(v.mark, "ranks", "not a list of ranks", "write for example ranks: [3]");
  });
  g.require("ranks", "write for example ranks: [3]");
}

void describe_kind(Fields& g, Fault& fault) {
  switch (fault.kind) {
    case FaultKind::kill:
    case FaultKind::raise:
    case FaultKind::desync:
      read_rank(g, fault);
      g.require("rank", "write for example rank: 17");
      return;
    case FaultKind::hang:
      if (g.listing() || g.has("rank")) read_rank(g, fault);
      g.allow("rank");
      return;
    case FaultKind::skip:
      read_rank(g, fault);
      g.require("rank", "write for example rank: 3");
      g.integer("micro_batches", fault.micro_batches, {1, 1e6, false}, "fewer than the others run");
      return;
    case FaultKind::slow:
      read_ranks(g, fault);
      g.number("factor", fault.factor, {1, 1000, false}, "its kernels take so many times as long");
      g.require("factor", "write for example factor: 1.4");
      return;
    case FaultKind::link:
      g.integer("node", fault.node, kRank, "of the pool, from 0");
      g.integer("nic", fault.nic, kRank, "of the node, from 0");
      fault.factor = 0;
      g.number("factor", fault.factor, {0, 1, false}, "of its bandwidth that is left; 0: cut");
      return;
    case FaultKind::server:
      read_rank(g, fault, "engine");
      g.require("engine", "write for example engine: 0");
      return;
    case FaultKind::leak:
      read_rank(g, fault);
      g.require("rank", "write for example rank: 0");
      g.quantity("bytes", fault.bytes, kPositive, "more on the GPU after every step");
      g.require("bytes", "write for example bytes: 500 MiB");
      return;
  }
}

std::string_view meaning_of(FaultKind k) {
  switch (k) {
    case FaultKind::kill:
      return "the process of a rank goes";
    case FaultKind::raise:
      return "a Python exception ends what a rank does";
    case FaultKind::hang:
      return "a rank lives and does no more; without a rank: the scoring of the samples";
    case FaultKind::skip:
      return "a rank runs fewer micro-batches than the others";
    case FaultKind::desync:
      return "a rank calls another collective than the others";
    case FaultKind::slow:
      return "kernels of these ranks are slower, from the next pass on";
    case FaultKind::link:
      return "a NIC carries less, or nothing, from then on";
    case FaultKind::server:
      return "a rollout engine goes with all its ranks";
    case FaultKind::leak:
      return "memory that is never freed";
  }
  return "";
}

void describe_when(Fields& f, Fault& fault) {
  Seconds at;
  if (f.listing() || f.has("at")) {
    f.quantity("at", at, kTime, "time of the run");
    if (f.listing()) {
      f.rows().back().fallback.clear();
    } else {
      fault.at = at;
    }
  }
  f.allow("at");
  int step = fault.step + 1;
  f.optional_group("on", "in a phase, instead of a time", [&](Fields& g) {
    g.integer("step", step, {1, 1e6, false}, "from 1");
    g.choice("phase", fault.phase, all_phases(), "of the step");
    g.quantity("after", fault.after, kTime, "from the start of the phase's work");
  });
  fault.step = step - 1;
}

void describe_fault(Fields& f, Fault& fault, Job const& job) {
  describe_when(f, fault);
  read_pool(f, "pool", job, fault.pool, "whose ranks; default: train's");
  for (FaultKind k : kKinds) {
    Fault own = fault;
    own.kind = k;
    if (f.optional_group(name_of(k), meaning_of(k), [&](Fields& g) { describe_kind(g, own); })) fault = own;
  }
}

void read_one(Fields& f, Value const& item, std::size_t i, Job& job) {
  if (item.kind != ValueKind::map)
    return f.problem(item.mark, "faults", "not a map", "write for example {at: 120 s, kill: {rank: 17}}");
  std::string const path = fmt::format("faults[{}]", i);
  f.reading().marks.insert_or_assign(path, item.mark);  // for the checks across fields
  Fields inner(f.reading(), &item, path, item.mark, "default");
  Fault fault;
  fault.pool = job.role_pools.actor;
  if (inner.has("server")) fault.pool = job.role_pools.rollout;
  describe_fault(inner, fault, job);
  auto const given =
      std::count_if(kKinds.begin(), kKinds.end(), [&](FaultKind k) { return inner.has(name_of(k)); });
  if (given != 1)
    inner.problem_here(item.mark, given == 0 ? "says not what goes wrong" : "says more than one thing",
                       "write one of kill, raise, hang, skip, desync, slow, link, server, leak");
  if (!inner.has("at") && !inner.has("on"))
    inner.problem_here(item.mark, "needs a time or a phase",
                       "write at: 120 s, or on: {step: 2, phase: update_actor}");
  if (inner.has("at") && inner.has("on"))
    inner.problem_here(item.mark, "has a time and a phase", "keep one of at and on");
  inner.finish();
  f.reading().marks.emplace(fmt::format("faults[{}]", i), item.mark);
  job.faults.push_back(std::move(fault));
}

}  // namespace

void describe(Fields& f, WatchdogOptions& o) {
  using enum ErrorHandling;
  f.quantity("timeout", o.timeout, kTimeout, "of a collective of the trainer's process groups");
  f.quantity("poll", o.poll, kTimeout, "the watchdog looks so often");
  f.choice("error_handling", o.error_handling, {none, tear_down, clean_up_only, skip_clean_up},
           "TORCH_NCCL_ASYNC_ERROR_HANDLING 0 to 3");
  f.flag("dump_on_timeout", o.dump_on_timeout, "flight recorders are written before a process ends");
  f.quantity("dump_wait", o.dump_wait, kTime, "for a dump; the watchdog sleeps four of them");
  f.flag("monitoring", o.monitoring, "a heartbeat monitor watches the watchdog");
  f.quantity("heartbeat", o.heartbeat, kTimeout, "time-out of that monitor");
  f.flag("abort_hangs", o.abort_hangs, "aborting a communicator never returns (tear_down, clean_up_only)");
  f.quantity("rpc_timeout", o.rpc_timeout, kTimeout, "of a call to a rollout engine");
  f.quantity("worker_heartbeat", o.worker_heartbeat, kTime,
             "workers tell each other that they live, so often; 0: not");
  f.integer("missed_heartbeats", o.missed_heartbeats, {1, 1e6, false}, "in a row, until a worker is dead");
}

void describe(Fields& f, LauncherOptions& o) {
  f.choice("kind", o.kind, {LauncherKind::torchrun, LauncherKind::ray, LauncherKind::none},
           "who ends the job when a process of it has gone; none: nobody");
  if (f.listing()) f.rows().back().fallback = "the framework's";
  f.quantity("notice", o.notice, kTime, "from a failure to its being seen");
  f.quantity("same_node", o.same_node, kTime, "from then to the end of the node's processes");
  f.quantity("other_nodes", o.other_nodes, kTime, "to the end of all others");
}

void describe(Fields& f, NetworkOptions& o) {
  f.integer("rpc_flows", o.rpc_flows, {0, 1e6, false},
            "streams of calls that share each NIC with the collectives; 0: none");
  f.quantity("rpc_bandwidth", o.rpc_bandwidth, kNotNegative, "that they want of a NIC together");
  f.flag("rpc_apart", o.rpc_apart, "they have a subnet of their own");
  f.number("collectives_share", o.collectives_share, {0, 1, false},
           "of a NIC, which the collectives have in any case");
}

void read_faults(Fields& f, Job& job) {
  if (f.listing()) {
    f.rows().push_back({"faults", "list of maps", "", "what goes wrong", false, true});
    Fields inner(f.rows(), "faults[]");
    Fault fault;
    describe_fault(inner, fault, job);
    return;
  }
  f.custom("faults", "list of maps", "", "what goes wrong", [&](Value const& v) {
    if (v.kind != ValueKind::list || v.items.size() > kMostFaults)
      return f.problem(v.mark, "faults", fmt::format("not a list of at most {} maps", kMostFaults),
                       "write for example faults: [{at: 120 s, kill: {rank: 17}}]");
    for (std::size_t i = 0; i < v.items.size(); ++i) read_one(f, v.items[i], i, job);
  });
}

}  // namespace rollcast
