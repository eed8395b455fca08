// A pool of rollout engines at work on groups of samples: turns with tools, scoring as samples finish, and
// interruptions at a weight update, over a RolloutFleet. It has a clock of its own, which its owner advances
// to the simulation's; nothing here blocks.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <queue>
#include <unordered_map>
#include <vector>

#include "models/environment.hpp"
#include "models/rollout_fleet.hpp"
#include "models/rollout_prices.hpp"
#include "sim/run_state.hpp"

namespace rollcast {

struct FinishedGroup {
  std::int64_t number = 0;
  Seconds time;  // its last sample is generated and, where scoring overlaps, scored
};

// One sample in its life.
struct SampleLife {
  StepSample sample;
  std::int64_t group = 0;
  int engine = 0;
  int generated = 0;  // tokens of the policy
  Seconds first_token = Seconds(-1);
  Seconds finished = {};  // generated
};

// FLOPs and bytes of an engine between two readings of its counters.
RolloutWork work_between(RolloutPool const& pool, EngineCounters const& before, EngineCounters const& after);

class RolloutLoop {
 public:
  // seed: of the draws of turns, pauses and scores. pool and job must outlive it.
  RolloutLoop(RolloutPool const& pool, Job const& job, std::uint64_t seed, Seconds start);

  // Ids of samples must be new. All groups of one call reach the engines as one batch.
  void start(std::vector<std::pair<std::int64_t, std::vector<StepSample>>> const& groups, Seconds at);
  // The next group that is finished at or before limit; else the clock goes to limit (if finite).
  std::optional<FinishedGroup> next_group(Seconds limit);

  // Everything stands still from the time that is returned on.
  Seconds pause() { return fleet_.pause(); }
  // Goes on at now(). recompute: what is under way prefills its prompt and its tokens so far again.
  void resume(bool recompute);

  Seconds now() const { return fleet_.now(); }
  std::int64_t samples_under_way() const { return static_cast<std::int64_t>(live_.size()); }
  RolloutFleet const& fleet() const { return fleet_; }
  // Samples of a group that is finished, once, by id.
  std::vector<SampleLife> take(std::int64_t group);
  // Ends all that is under way at its engine's next boundary: the samples of all groups that were not taken,
  // by group and id, with the tokens they have; also of groups that are finished, or finish in that very
  // step.
  std::vector<SampleLife> abandon();

 private:
  struct Live {
    SampleLife life;
    std::vector<Turn> turns;  // one without an environment
    std::size_t turn = 0;     // the one under way
  };
  using LiveSamples = std::unordered_map<std::int64_t, Live>;
  struct Scored {
    Seconds time;
    std::int64_t id = 0;
    bool operator>(Scored const& o) const {
      return time < o.time || o.time < time ? o.time < time : o.id < id;
    }
  };

  std::vector<Turn> turns_of_life(StepSample const& s) const;
  Request request_of(Live const& l) const;
  void end(FleetCompletion const& c);
  Seconds scored_by(StepSample const& s, Seconds at);
  void finish(LiveSamples::iterator const& sample, Seconds at);

  Job const& job_;
  std::uint64_t seed_;
  std::optional<TurnModel> turns_;
  std::optional<TimeDistribution> sandbox_;
  RolloutFleet fleet_;
  LiveSamples live_;
  std::unordered_map<std::int64_t, std::vector<SampleLife>> done_;  // by group
  std::unordered_map<std::int64_t, int> missing_;                   // samples of a group under way
  std::priority_queue<Scored, std::vector<Scored>, std::greater<>> scoring_;
  std::priority_queue<Seconds, std::vector<Seconds>, std::greater<>> workers_;  // when each is free
  std::deque<FinishedGroup> finished_;
  std::vector<FleetCompletion> out_;
};

}  // namespace rollcast
