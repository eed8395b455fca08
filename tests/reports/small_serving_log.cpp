#include "tests/reports/small_serving_log.hpp"

namespace rollcast {
namespace {

void add_engine(EventLog& log, int engine, double busy) {
  log.rank_classes.push_back({engine == 0 ? "ranks 0-1" : "ranks 2-3", 0, 0, {2 * engine, 2 * engine + 1}});
  log.spans.push_back({engine, 0, Stream::compute, Phase::generate, Activity::compute, 0, seconds(0),
                       seconds(busy), Flops(busy * 1e14), Bytes(busy * 1e12)});
  log.spans.push_back({engine, 0, Stream::compute, Phase::generate, Activity::phase_wait, 1, seconds(busy),
                       seconds(10), Flops(0), Bytes(0)});
  log.ledger_of_class.push_back(0);
}

ServingLog serving() {
  ServingLog s;
  s.adapters = 3;
  s.slots = 2;
  s.slot = MiB(100);
  s.wasted = MiB(50);
  s.objective = {seconds(3), seconds(0.75), {}};
  s.variants = {{16, "q, v", MB(84), MB(42), ms(3.5), ms(200)}, {8, "q", MB(21), MB(10.5), ms(1), ms(100)}};
  AdapterUse first;
  first.loads = 2;
  first.storage_loads = 1;
  first.hits = 1;
  first.evictions = 1;
  first.peak_resident = 2;
  first.load_time = seconds(2);
  first.exposed = seconds(0.5);
  first.kernel_time = seconds(1);
  first.distinct_steps = 60;
  first.steps = 40;
  first.busy = seconds(8);
  first.moved = MB(105);
  AdapterUse second = first;
  second.storage_loads = second.hits = second.evictions = 0;
  second.load_time = seconds(1);
  second.kernel_time = seconds(0.5);
  second.distinct_steps = 15;
  second.steps = 10;
  second.busy = seconds(7);
  s.engines = {first, second};
  auto const request = [&](double arrival, double token, double finish, int prompt, int response, int adapter,
                           int engine) {
    s.requests.push_back(
        {seconds(arrival), seconds(token), seconds(finish), prompt, response, adapter, engine});
  };
  request(0, 1, 5, 100, 5, 0, 0);
  request(1, 1.5, 3.5, 100, 5, 1, 1);
  request(2, 4, 4, 50, 1, 0, 0);
  request(3, 6, 10, 200, 9, 2, 1);
  request(4, 8, 10, 50, 3, -1, 0);
  return s;
}

}  // namespace

EventLog small_serving_log() {
  EventLog log;
  log.scenario = "tenants";
  log.seed = 7;
  log.pools.push_back({"all", "hgx-h100", "h100-sxm", 4, TFLOPs(1000), TB_per_s(2), GiB(80), {}});
  log.labels = {"generate", "nothing to serve"};
  RankLedger ledger{"stage 0", 0, 4, GiB(80), {}};
  ledger.lines.push_back(
      {Role::rollout, MemoryCategory::kv_pages, GiB(40), false, {Phase::generate}, "", ""});
  ledger.lines.push_back({Role::rollout, MemoryCategory::weights, GiB(20), false, {}, "", ""});
  log.ledgers = {ledger};
  add_engine(log, 0, 8);
  add_engine(log, 1, 7);
  log.phases.push_back({0, 0, Phase::generate, seconds(0), seconds(10)});
  log.steps.push_back({seconds(0), seconds(10), 5, 500, 23, 0, 5, 0, 0, {}, {}});
  log.serving = serving();
  log.measured = {{"requests_per_second", 0.4}, {"ttft_p99", 4}};
  log.measured_source = "a table";
  return log;
}

}  // namespace rollcast
