#include "tests/reports/small_log.hpp"

namespace rollcast {
namespace {

enum Label { decode, tail, layers, reduce, wait, load };

void add_step(EventLog& log, int step, double start, double generate) {
  double const train = start + generate;
  double const sync = train + 30;
  auto const window = [&](Phase p, double from, double to) {
    log.phases.push_back({0, step, p, seconds(from), seconds(to)});
  };
  window(Phase::generate, start, train);
  window(Phase::update_actor, train, sync);
  window(Phase::weight_sync, sync, sync + 10);

  auto const span = [&](int c, Stream s, Phase p, Activity a, Label l, double from, double to, double flops,
                        double hbm) {
    log.spans.push_back({c, step, s, p, a, l, seconds(from), seconds(to), Flops(flops), Bytes(hbm)});
  };
  // 1e12 HBM bytes a second while generating; the FLOPs are round figures.
  span(0, Stream::compute, Phase::generate, Activity::compute, decode, start, train, generate * 5e13,
       generate * 1e12);
  span(0, Stream::compute, Phase::update_actor, Activity::compute, layers, train, train + 20, 1e16, 0);
  span(0, Stream::communication, Phase::update_actor, Activity::communication, reduce, train + 15, train + 25,
       0, 0);
  span(0, Stream::compute, Phase::update_actor, Activity::collective_wait, wait, train + 25, sync, 0, 0);
  span(0, Stream::copy, Phase::weight_sync, Activity::copy, load, sync, sync + 10, 0, 0);
  span(1, Stream::compute, Phase::generate, Activity::compute, decode, start, start + 40, 2e15, 4e13);
  span(1, Stream::compute, Phase::generate, Activity::rollout_tail, tail, start + 40, train, 0, 0);
  span(1, Stream::compute, Phase::update_actor, Activity::compute, layers, train, sync, 1.5e16, 0);
  span(1, Stream::copy, Phase::weight_sync, Activity::copy, load, sync, sync + 8, 0, 0);

  auto const counter = [&](CounterKind k, Role r, MemoryCategory c, double at, double value) {
    log.counters.push_back({0, k, r, c, seconds(at), value});
  };
  counter(CounterKind::running, Role::rollout, MemoryCategory::kv_pages, start, 4);
  counter(CounterKind::running, Role::rollout, MemoryCategory::kv_pages, train, 0);
  counter(CounterKind::memory, Role::rollout, MemoryCategory::kv_pages, start, GiB(40).value);
  counter(CounterKind::memory, Role::rollout, MemoryCategory::kv_pages, train, 0);
  log.handovers.push_back({step, 0, 1, seconds(train), seconds(train), 4});
  log.steps.push_back({seconds(start), seconds(sync + 10), 8, 800, 8000, 1, 10, 11000, 8800, {6, 2}, 4});
}

RankLedger ledger() {
  RankLedger l{"stage 0", 0, 4, GiB(80), {}};
  l.lines.push_back({Role::actor, MemoryCategory::weights, GiB(20), false, {}, "10 Gi x 2 B", ""});
  l.lines.push_back(
      {Role::actor, MemoryCategory::activations, GiB(25), false, {Phase::update_actor}, "one pack", ""});
  l.lines.push_back(
      {Role::actor, MemoryCategory::optimizer_states, GiB(30), false, {Phase::update_actor}, "8 B each", ""});
  l.lines.push_back(
      {Role::rollout, MemoryCategory::kv_pages, GiB(40), false, {Phase::generate}, "pages", ""});
  l.lines.push_back({Role::actor,
                     MemoryCategory::optimizer_states,
                     GiB(30),
                     true,
                     {Phase::generate},
                     "offloaded",
                     "on the host"});
  return l;
}

}  // namespace

EventLog small_log() {
  EventLog log;
  log.scenario = "small";
  log.seed = 7;
  log.notes = {"decode attention is priced by bytes over bandwidth"};
  PriceNote prices{"h100-sxm",   PriceBasis::derived, "a100-sxm-80gb",
                   "engine 1.0", "2026-01-31",        0.0625,
                   0.25,         "a table",           {}};
  prices.own = {"mine", "h100-sxm", "nccl 1.0", "2026-02-01", {"collectives", "pcie"}};
  log.pools.push_back({"main", "hgx-h100", "h100-sxm", 4, TFLOPs(1000), TB_per_s(2), GiB(80), prices});
  log.rank_classes.push_back({"ranks 0-1", 0, 0, {0, 1}});
  log.rank_classes.push_back({"ranks 2-3", 0, 1, {2, 3}});
  log.labels = {"decode", "tail", "layers", "all-reduce", "wait", "load"};
  log.ledgers = {ledger()};
  log.ledger_of_class = {0, 0};
  log.measured = {{"step_seconds", 100}, {"generate_seconds", 100}, {"peak_host_memory_gib", 3}};
  log.measured_source = "a table";
  add_step(log, 0, 0, 60);
  add_step(log, 1, 100, 80);
  return log;
}

EventLog small_log_with_oom() {
  EventLog log = small_log();
  log.outcome = Outcome::oom;
  log.ooms.push_back(
      {OomKind::torch, seconds(61.25), 3, 0, 0, Phase::update_actor, "logits", GiB(4), GiB(1), GiB(70)});
  log.failures.push_back({seconds(62), "refit_buffer", 0, 0, 0, "embed_tokens.weight", GiB(2), GiB(1)});
  return log;
}

EventLog small_log_of_a_long_run() {
  EventLog log = small_log();
  log.long_run = LongRunPlan{{.step = {},
                              .checkpoint = seconds(20),
                              .write = seconds(5),
                              .detection = seconds(60),
                              .relaunch = seconds(300),
                              .load = seconds(40),
                              .between_failures = seconds(86'400),
                              .spares = 1,
                              .replacement = seconds(1000),
                              .horizon = seconds(10 * 86'400)},
                             30};
  return log;
}

}  // namespace rollcast
