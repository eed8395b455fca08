#include "sim/serving.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "models/adapter_memory.hpp"
#include "models/adapter_plan.hpp"
#include "models/arrivals.hpp"
#include "models/rollout_fleet.hpp"
#include "sim/adapter_loads.hpp"
#include "sim/phases.hpp"
#include "sim/rollout_curve.hpp"
#include "sim/rollout_loop.hpp"
#include "sim/serving_spans.hpp"
#include "sim/step_record.hpp"

namespace rollcast {
namespace {

constexpr Seconds kNever{std::numeric_limits<double>::infinity()};

FleetOptions fleet_options(RolloutPool const& pool) {
  EngineOptions const& e = pool.job.rollout;
  FleetOptions o;
  o.engines = pool.engines();
  // Requests come one by one: to cut them into contiguous parts means nothing.
  o.balance = e.balance == EngineBalance::contiguous ? EngineBalance::least_load : e.balance;
  o.feed = e.feed;
  o.by_adapter = pool.job.serve->adapters.execution == AdapterExecution::deployments;
  return o;
}

class Serving {
 public:
  Serving(PhaseRun& p, RolloutPool const& pool)
      : p_(p),
        options_(*pool.job.serve),
        start_(p.run.engine.now()),
        requests_(serve_requests(options_, pool.job.workload, p.run.options.seed)),
        served_(requests_.size()),
        fleet_(fleet_options(pool), pool.job.rollout, pool.kv_blocks, pool.prices, pool.least_prefill_step,
               p.run.adapters) {
    if (p.run.adapters) loads_.emplace(p.run.engine, *p.run.adapter_routes, options_.adapters);
    fleet_.advance_to(start_, finished_);
  }

  void run() {
    if (closed()) {
      for (int u = 0; u < options_.arrivals.users; ++u) submit_next(start_);
    }
    submit_arrived();
    while (answered_ < requests_.size()) {
      if (loads_ && loads_->under_way()) {
        go_in_step();
      } else {
        run_ahead();
      }
      for (FleetCompletion const& c : finished_) end(c);
      finished_.clear();
      submit_arrived();
    }
    catch_up();
  }

  RolloutFleet const& fleet() const { return fleet_; }
  std::vector<ServedRequest>& served() { return served_; }

  AdapterUse use(int engine) const {
    AdapterUse u = fleet_.engine(engine).adapter_use();
    u.steps = fleet_.engine(engine).counters().steps;
    u.busy = fleet_.engine(engine).counters().busy;
    if (!loads_) return u;
    u.storage_loads = loads_->storage_loads(engine);
    u.moved = loads_->moved(engine);
    return u;
  }

 private:
  bool closed() const { return options_.arrivals.kind == ArrivalKind::closed; }

  Seconds next_arrival() const {
    return closed() || next_ == requests_.size() ? kNever : start_ + requests_[next_].arrival;
  }

  void submit_arrived() {
    while (!(fleet_.now() < next_arrival())) submit_next(next_arrival());
  }

  void submit_next(Seconds at) {
    if (next_ == requests_.size()) return;
    ServeRequest const& r = requests_[next_];
    bool const plain = options_.adapters.execution == AdapterExecution::none;
    int const engine = fleet_.submit({.id = static_cast<std::int64_t>(next_),
                                      .prompt_tokens = r.prompt_tokens,
                                      .response_tokens = r.response_tokens,
                                      .adapter = plain ? -1 : r.adapter},
                                     max(at, fleet_.now()));
    served_[next_] = {.arrival = at,
                      .first_token = {},
                      .finish = {},
                      .prompt_tokens = r.prompt_tokens,
                      .response_tokens = r.response_tokens,
                      .adapter = r.adapter,
                      .engine = engine};
    ++next_;
  }

  void end(FleetCompletion const& c) {
    ServedRequest& r = served_[static_cast<std::size_t>(c.completion.id)];
    r.first_token = c.completion.first_token;
    r.finish = c.completion.time;
    ++answered_;
    if (closed()) submit_next(fleet_.now());
  }

  void run_ahead() {
    if (!fleet_.advance_to_event(next_arrival(), finished_, wanted_) && !(next_arrival() < kNever))
      throw std::logic_error("requests are left that no engine answers");
    start_wanted();
  }

  // To the next change of the engines, the next arrival, or the next adapter.
  void go_in_step() {
    Engine& engine = p_.run.engine;
    Seconds const until = min(next_arrival(), fleet_.next_time());
    fleet_.take_loads(wanted_);
    start_wanted();
    Seconds now = until;
    if (!(until < kNever)) {
      engine.wait(loads_->arrived());
      now = engine.now();
    } else if (engine.wait_until(until, loads_->arrived())) {
      now = min(engine.now(), until);
    }
    fleet_.advance_to(max(fleet_.now(), now), finished_);
    for (AdapterLoads::Loaded const& l : loads_->take()) fleet_.adapter_loaded(l.engine, l.adapter);
    fleet_.take_loads(wanted_);
    start_wanted();
  }

  void start_wanted() {
    if (wanted_.empty()) return;
    catch_up();
    for (WantedLoad const& w : wanted_) loads_->start(w.engine, w.adapter);
    wanted_.clear();
  }

  void catch_up() { p_.run.engine.delay(fleet_.now() - p_.run.engine.now()); }

  PhaseRun& p_;
  ServeOptions const& options_;
  Seconds start_;
  std::vector<ServeRequest> requests_;
  std::vector<ServedRequest> served_;
  std::size_t next_ = 0;  // not yet submitted
  std::size_t answered_ = 0;
  RolloutFleet fleet_;
  std::optional<AdapterLoads> loads_;
  std::vector<FleetCompletion> finished_;
  std::vector<WantedLoad> wanted_;
};

std::string listed(std::vector<std::string> const& names) {
  std::string list;
  for (std::string const& n : names) list += (list.empty() ? "" : ", ") + n;
  return list;
}

ServingLog log_of(RunState const& run) {
  Job const& job = run.rollout->job;
  ServedAdapters const& adapters = job.serve->adapters;
  AdapterSlots const slots = adapter_slots(job);
  ServingLog log;
  log.execution = adapters.execution;
  log.pool = adapters.pool;
  log.adapters = adapters.count;
  log.slots = slots.count;
  log.slot = slots.each;
  log.wasted = slots.wasted;
  log.objective = job.serve->objective;
  for (std::size_t v = 0; v < adapters.variants.size(); ++v) {
    AdapterVariant const& variant = adapters.variants[v];
    AdapterFacts f;
    f.rank = variant.rank;
    f.targets = listed(variant.targets);
    f.bytes = adapter_bytes(job.model, variant);
    f.rank_bytes = adapter_rank_bytes(job.model, job.rollout, variant, adapters.fully_sharded);
    if (run.adapters) {
      f.cold_load = cold_load(*run.adapter_routes, static_cast<int>(v));
      f.merge = run.adapters->merge[v];
    }
    log.variants.push_back(std::move(f));
  }
  return log;
}

void hand_over(PhaseRun& p, std::vector<ServedRequest> const& served) {
  Batch& batch = p.batch;
  batch.samples.reserve(served.size());
  for (ServedRequest const& r : served) {
    batch.samples.push_back({.id = static_cast<std::int64_t>(batch.samples.size()),
                             .prompt_tokens = r.prompt_tokens,
                             .response_tokens = r.response_tokens});
  }
  batch.generated_samples = static_cast<std::int64_t>(served.size());
  batch.generated = p.run.engine.now();
}

}  // namespace

void set_up_serving(RunState& run) {
  RolloutPool const& pool = *run.rollout;
  run.adapters = adapter_plan_of(pool.job, pool.pool->profile);
  if (run.adapters)
    run.adapter_routes =
        std::make_shared<AdapterRoutes const>(adapter_routes(run.engine, pool.job, pool.pool->profile));
}

void run_serving(RunState& run) {
  if (run.adapters && run.adapters->options.execution == AdapterExecution::batched)
    run.log.notes.emplace_back(
        "kernels of adapters are priced by what Punica published (A100) and bytes, not by the profile's "
        "tables");
  Batch batch;
  Seconds const start = run.engine.now();
  if (!run_phase(run, batch, Phase::generate)) return;
  record_step(run, batch, start);
}

void serve(PhaseRun& p) {
  RolloutPool const& pool = *p.run.rollout;
  Seconds const start = p.run.engine.now();
  Serving serving(p, pool);
  serving.run();
  ServingLog log = log_of(p.run);
  for (int e = 0; e < pool.engines(); ++e) {
    RolloutEngine const& engine = serving.fleet().engine(e);
    auto const& classes = p.pool.placement.classes_of_engine[static_cast<std::size_t>(e)];
    RolloutWork const work = work_between(pool, {}, engine.counters());
    for (int rank_class : classes) record_served(p.recorder, rank_class, engine, work);
    record_curve(p.recorder, classes.front(), engine.curve(), start, kNever);
    p.batch.preemptions += engine.counters().preemptions;
    log.engines.push_back(serving.use(e));
  }
  hand_over(p, serving.served());
  log.requests = std::move(serving.served());
  p.run.log.serving = std::move(log);
}

}  // namespace rollcast
