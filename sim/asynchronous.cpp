// Generation and training side by side. Only the trainer is an actor: the rollout's clock is advanced when
// the trainer takes samples or updates the weights, since nothing else touches it.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "models/admission.hpp"
#include "sim/faults.hpp"
#include "sim/phases.hpp"
#include "sim/rollout_curve.hpp"
#include "sim/rollout_loop.hpp"
#include "sim/schedules.hpp"
#include "sim/step_record.hpp"

namespace rollcast {
namespace {

AdmissionOptions admission_options(Job const& job, int engines) {
  AsyncOptions const& a = job.schedule.async;
  int const groups = job.algorithm.prompts;
  return {
      .rule = a.queue,
      .batch = groups / a.parts_per_step,
      .batches_per_update = std::int64_t{a.parts_per_step} * a.sync_every,
      .max_staleness = a.max_staleness,
      .max_concurrent = a.max_concurrent > 0 ? std::max(1, a.max_concurrent / job.algorithm.group_size) : 0,
      .engines = engines,
      .finish_before_update = !a.partial_rollout && !a.in_flight_updates};
}

// The engines' side.
class AsyncRollout {
 public:
  explicit AsyncRollout(RunState& run)
      : run_(run),
        loop_(*run.rollout, run.job, run.options.seed, run.engine.now()),
        admission_(admission_options(run.job, run.rollout->engines())),
        counted_(static_cast<std::size_t>(run.rollout->engines())) {
    fill();
  }

  Admission& admission() { return admission_; }

  // The rollout has come to the simulation's time.
  void catch_up() {
    while (auto const g = loop_.next_group(run_.engine.now())) end(*g);
  }

  // The groups of the trainer's next batch, waited for; nothing if they will never be there.
  std::optional<std::vector<Ticket>> wait_for_batch() {
    catch_up();
    for (;;) {
      if (std::vector<Ticket> batch = admission_.take(); !batch.empty()) {
        fill();
        return batch;
      }
      auto const g = loop_.next_group(Seconds(std::numeric_limits<double>::infinity()));
      if (!g) return std::nullopt;
      end(*g);
      run_.engine.delay(max(g->time, loop_.now()) - run_.engine.now());
    }
  }

  Batch make_batch(std::vector<Ticket> const& tickets, int step) {
    Batch batch{.step = step};
    for (Ticket const& t : tickets) {
      for (SampleLife const& s : loop_.take(t.number)) {
        add(batch.staleness, version_at(updates_, s.first_token), admission_.version());
        batch.samples.push_back(s.sample);
        batch.samples.back().id = static_cast<std::int64_t>(batch.samples.size()) - 1;
        batch.engine_of.push_back(s.engine);
        batch.finished.push_back(s.finished);
        batch.generated = max(batch.generated, s.finished);
      }
    }
    batch.generated_samples = static_cast<std::int64_t>(batch.samples.size());
    return batch;
  }

  // Until the engines stand still; then the weights may change.
  void stop() {
    admission_.want_update();
    catch_up();
    while (!admission_.may_update()) {
      auto const g = loop_.next_group(Seconds(std::numeric_limits<double>::infinity()));
      if (!g) throw std::logic_error("an update waits for samples that do not come");
      end(*g);
      run_.engine.delay(g->time - run_.engine.now());
    }
    run_.engine.delay(loop_.pause() - run_.engine.now());
  }

  void go_on() {
    catch_up();
    admission_.update();
    updates_.push_back(run_.engine.now());
    recorded_ = run_.engine.now();
    loop_.resume(!run_.job.schedule.async.in_flight_updates);
    fill();
  }

  // What the engines have done since the last call, as spans that end now.
  void record(int step) {
    RolloutPool const& rollout = *run_.rollout;
    Seconds const now = run_.engine.now();
    PhaseRecorder const recorder{run_.recorder, step, Phase::generate};
    for (int e = 0; e < rollout.engines(); ++e) {
      EngineCounters const& c = loop_.fleet().engine(e).counters();
      EngineCounters& before = counted_[static_cast<std::size_t>(e)];
      RolloutWork const work = work_between(rollout, before, c);
      Seconds const busy = min(c.busy - before.busy, now - recorded_);
      auto const& classes = rollout.pool->placement.classes_of_engine[static_cast<std::size_t>(e)];
      record_curve(recorder, classes.front(), loop_.fleet().engine(e).curve(), drawn_, now);
      for (int rank_class : classes) {
        recorder.span(rank_class, Stream::compute, Activity::compute, "generate", recorded_, recorded_ + busy,
                      work.flops, work.hbm);
        recorder.span(rank_class, Stream::compute, Activity::phase_wait, "waits for prompts",
                      recorded_ + busy, now);
      }
      preemptions_ += c.preemptions - before.preemptions;
      // An engine stands at its next change: of a stretch that is under way the rest is for the next call.
      Seconds const counted = before.busy + busy;
      before = c;
      before.busy = counted;
    }
    recorder.window(rollout.pool->index, recorded_, now);
    recorded_ = now;
    drawn_ = now;
  }

  std::int64_t take_preemptions() { return std::exchange(preemptions_, 0); }

 private:
  // As many groups as the rule allows.
  void fill() {
    std::vector<std::pair<std::int64_t, std::vector<StepSample>>> groups;
    Job const& job = run_.job;
    for (std::int64_t n = admission_.may_start(); n > 0; n = admission_.may_start()) {
      for (std::int64_t i = 0; i < n; ++i) {
        Ticket const t = admission_.start();
        tickets_.emplace(t.number, t);
        auto const step = static_cast<int>(t.number / job.algorithm.prompts);
        auto const prompt = static_cast<int>(t.number % job.algorithm.prompts);
        auto samples = samples_of_step(job, run_.options.seed, step, prompt, 1);
        for (std::size_t s = 0; s < samples.size(); ++s) {
          samples[s].id = t.number * job.algorithm.group_size + static_cast<std::int64_t>(s);
          samples[s].prompt = static_cast<int>(t.number);
        }
        groups.emplace_back(t.number, std::move(samples));
      }
    }
    if (!groups.empty()) loop_.start(groups, loop_.now());
  }

  void end(FinishedGroup const& g) {
    auto const node = tickets_.extract(g.number);
    admission_.finish(node.mapped());
    fill();
  }

  RunState& run_;
  RolloutLoop loop_;
  Admission admission_;
  std::map<std::int64_t, Ticket> tickets_;  // of groups under way
  std::vector<Seconds> updates_;
  std::vector<EngineCounters> counted_;
  Seconds recorded_;
  Seconds drawn_;  // up to where the engines' curves are in the log
  std::int64_t preemptions_ = 0;
};

void stop_stalled(RunState& run, int step) {
  run.log.outcome = Outcome::stalled;
  run.log.outcome_reason = step_name(step) + " waits for samples that the queue rule does not let start";
  run.stopped = true;
}

void append(Batch& step, Batch const& part) {
  step.samples.insert(step.samples.end(), part.samples.begin(), part.samples.end());
  step.generated_samples += part.generated_samples;
  step.computed_tokens += part.computed_tokens;
  step.useful_tokens += part.useful_tokens;
  add(step.staleness, part.staleness);
}

// One part of a step: false, the run has stopped.
bool train_part(RunState& run, AsyncRollout& rollout, Batch& step) {
  auto const tickets = rollout.wait_for_batch();
  if (!tickets) {
    stop_stalled(run, step.step);
    return false;
  }
  Batch part = rollout.make_batch(*tickets, step.step);
  hand_over_samples(run, part);
  std::vector<Phase> const phases = without(training_phases(run.job, step.step), {Phase::weight_sync});
  if (!run_phases(run, part, phases)) return false;
  append(step, part);
  return true;
}

}  // namespace

void run_asynchronous(RunState& run) {
  int const parts = run.job.schedule.async.parts_per_step;
  Batch first{.step = -warm_up_steps(run.job)};
  if (!has_memory(run, first, Phase::generate)) return;
  AsyncRollout rollout(run);
  Batch generated;  // stands for what the engines generate all the time
  PoolState& engines = *run.rollout->pool;
  for (int step = -warm_up_steps(run.job); step < run.options.steps; ++step) {
    Seconds const start = run.engine.now();
    Batch batch{.step = step};
    generated.step = step;
    engines.progress = Progress{Phase::generate, &generated, nullptr, start, {}};
    start_faults(run, engines);
    for (int part = 0; part < parts; ++part) {
      if (!train_part(run, rollout, batch)) return;
    }
    if (rollout.admission().update_is_due()) {
      rollout.stop();
      rollout.record(step);
      if (!run_phase(run, batch, Phase::weight_sync)) return;
      rollout.go_on();
    } else {
      rollout.catch_up();
      rollout.record(step);
    }
    batch.preemptions = rollout.take_preemptions();
    record_step(run, batch, start);
  }
}

int warm_up_steps(Job const& job) {
  switch (job.schedule.kind) {
    case ScheduleKind::synchronous:
      return 0;
    case ScheduleKind::one_step_off:
      return 1;
    case ScheduleKind::async: {
      AsyncOptions const& a = job.schedule.async;
      return (1 + static_cast<int>(std::ceil(a.max_staleness))) * a.sync_every;
    }
  }
  return 0;
}

}  // namespace rollcast
