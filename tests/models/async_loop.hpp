// An asynchronous run without a simulation: a fleet, an admission rule and a trainer that takes a given time,
// driven by one small loop. It counts what must be conserved.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

#include "models/admission.hpp"
#include "models/rollout_fleet.hpp"
#include "models/staleness.hpp"

namespace rollcast {

// What happens to what is being generated when the weights change.
enum class AtUpdate { keep_kv, recompute, abort_and_go_on };

struct AsyncLoop {
  AsyncLoop(RolloutFleet f, Admission a) : fleet(std::move(f)), admission(std::move(a)) {}

  RolloutFleet fleet;
  Admission admission;
  int group_size = 1;
  AtUpdate at_update = AtUpdate::keep_kv;
  std::function<Request(std::int64_t)> request;      // of sample id; group id / group_size
  std::function<bool(std::int64_t)> reject;          // group
  std::function<Seconds(std::int64_t)> train_time;   // of trainer step
  std::function<Seconds(std::int64_t)> sync_time;    // of version
  std::function<Seconds(std::int64_t)> start_delay;  // of group

  // Results.
  struct Group {
    Ticket ticket;
    int finished = 0;
    bool rejected = false;
    std::int64_t trained_by = -1;  // version
    std::int64_t oldest = -1;      // version of the first token of its oldest sample
  };
  struct Life {
    int generated = 0;
    int finished = 0;
    int interruptions = 0;
    Seconds first_token = Seconds(-1);
  };
  std::map<std::int64_t, Group> groups;
  std::map<std::int64_t, Life> samples;
  std::vector<Seconds> updates;
  std::int64_t trained_steps = 0;
  StalenessCounts staleness;  // of tickets

  void run(std::int64_t steps) {
    enum { waits, trains, drains, syncs } trainer = waits;
    Seconds const never(std::numeric_limits<double>::infinity());
    Seconds next = never;  // of the trainer
    std::vector<FleetCompletion> out;
    std::vector<FleetCompletion> interrupted;
    std::vector<Ticket> batch;
    for (;;) {
      // What ends now, before what starts now.
      if (trainer == trains && !(fleet.now() < next)) {
        next = never;
        ++trained_steps;
        trainer = waits;
        if (admission.update_is_due() && trained_steps < steps) {
          admission.want_update();
          trainer = drains;
        }
      }
      if (trainer == syncs && !(fleet.now() < next)) {
        next = never;
        admission.update();
        updates.push_back(fleet.now());
        if (at_update == AtUpdate::recompute) fleet.drop_cache();
        go_on(interrupted);
        fleet.resume();
        trainer = waits;
      }
      if (trainer == drains && admission.may_update()) {
        Seconds const still = fleet.pause();
        if (at_update == AtUpdate::abort_and_go_on) fleet.abort_all(interrupted);
        next = still + sync_time(admission.version());
        trainer = syncs;
        continue;
      }
      if (trainer == waits && trained_steps >= steps) return;
      if (trainer == waits) {
        batch = admission.take();
        if (!batch.empty()) {
          for (Ticket const& t : batch) train(t);
          next = fleet.now() + train_time(trained_steps);
          trainer = trains;
        }
      }
      while (admission.may_start() > 0) start();

      out.clear();
      if (!fleet.advance_to_completion(next, out) && !(next < never))
        throw std::logic_error("nothing goes on");
      for (FleetCompletion const& c : out) end(c.completion);
    }
  }

 private:
  void start() {
    Ticket const t = admission.start();
    if (!groups.try_emplace(t.number, Group{t}).second) throw std::logic_error("a group is started twice");
    std::vector<Request> requests;
    for (int i = 0; i < group_size; ++i) {
      requests.push_back(request(t.number * group_size + i));
      if (!samples.try_emplace(requests.back().id).second)
        throw std::logic_error("a sample is generated twice");
    }
    fleet.submit(requests, fleet.now() + start_delay(t.number));
  }

  void end(Completion const& c) {
    Life& life = samples.at(c.id);
    if (c.generated < life.generated) throw std::logic_error("a sample has lost tokens");
    life.generated = c.generated;
    if (life.first_token < Seconds(0) && Seconds(0) < c.first_token) life.first_token = c.first_token;
    if (c.aborted) throw std::logic_error("a sample is aborted outside an update");
    if (++life.finished > 1) throw std::logic_error("a sample is handed over twice");
    Group& g = groups.at(c.id / group_size);
    if (++g.finished < group_size) return;
    g.rejected = reject(g.ticket.number);
    if (g.rejected) {
      admission.reject(g.ticket);
    } else {
      admission.finish(g.ticket);
    }
  }

  // What an update has interrupted goes on; what ended in the same step has ended.
  void go_on(std::vector<FleetCompletion>& interrupted) {
    std::vector<Request> again;
    for (FleetCompletion const& c : interrupted) {
      if (!c.completion.aborted) {
        end(c.completion);
        continue;
      }
      Life& life = samples.at(c.completion.id);
      if (c.completion.generated < life.generated) throw std::logic_error("a sample has lost tokens");
      life.generated = c.completion.generated;
      if (life.first_token < Seconds(0) && Seconds(0) < c.completion.first_token)
        life.first_token = c.completion.first_token;
      ++life.interruptions;
      again.push_back(request(c.completion.id));
      again.back().generated = c.completion.generated;
    }
    interrupted.clear();
    fleet.submit(again, fleet.now());
  }

  void train(Ticket const& t) {
    Group& g = groups.at(t.number);
    if (g.trained_by >= 0 || g.rejected || g.finished < group_size)
      throw std::logic_error("a group is trained twice, or before it is there");
    g.trained_by = admission.version();
    add(staleness, t.version, g.trained_by, group_size);
    g.oldest = g.trained_by;
    for (int i = 0; i < group_size; ++i) {
      Seconds const first = samples.at(t.number * group_size + i).first_token;
      g.oldest = std::min(g.oldest, version_at(updates, first));
    }
  }
};

}  // namespace rollcast
