// Small jobs in which something goes wrong, and what must hold of the log of any incident.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "sim/simulate.hpp"
#include "tests/models/price_fixtures.hpp"

namespace rollcast {

// Llama-3.2-1B by GRPO on one node of eight H100, every rank a replica of its own under FSDP, eight engines;
// one driver, and nobody who reacts to a stop.
inline Scenario fsdp_on_a_node() {
  Scenario s;
  s.name = "faulty";
  Job& job = s.job;
  job.model = catalog_model("llama-3.2-1b");
  job.cluster = h100_cluster(1);
  job.framework.order = {Phase::generate, Phase::score, Phase::old_logprob, Phase::update_actor,
                         Phase::weight_sync};
  job.framework.driver_per_step = seconds(0.2);
  job.algorithm = {.kind = AlgorithmKind::grpo,
                   .prompts = 16,
                   .group_size = 8,
                   .train_batch = 64,
                   .dynamic_sampling = {},
                   .adapter = {}};
  job.workload.prompt_tokens = {FixedLength{100}, 0, 100};
  job.workload.response_tokens = {LogNormalLength{5.5, 0.7, 1500}, 0, 1500};
  job.train.kind = TrainerKind::fsdp2;
  job.train.zero_stage = 3;
  job.rollout.gpu_memory_utilization = 0.5;
  job.rollout.max_model_len = 1600;
  job.score.seconds_per_sample = seconds(0.001);
  job.launcher.kind = LauncherKind::none;
  return s;
}

// Ranks are tp + 2 replica + 4 stage.
inline Scenario megatron_on_a_node() {
  Scenario s = fsdp_on_a_node();
  s.job.train.kind = TrainerKind::megatron;
  s.job.train.zero_stage = 0;
  s.job.train.parallel.tp = s.job.train.parallel.pp = 2;
  return s;
}

inline Fault fault_in(Phase phase, FaultKind kind, std::vector<int> ranks, Seconds after = ms(10),
                      int step = 0) {
  Fault f;
  f.kind = kind;
  f.step = step;
  f.phase = phase;
  f.after = after;
  f.ranks = std::move(ranks);
  return f;
}

inline EventLog run_faulty(Scenario const& s, int steps = 2) {
  return simulate(s, round_profile(), {.steps = steps, .seed = 7});
}

// Of all ranks that wait in the group whose name begins so, ascending.
inline std::vector<int> waiting_in(EventLog const& log, std::string const& group) {
  std::vector<int> ranks;
  for (Happening const& h : log.happenings) {
    if (h.kind == HappeningKind::waits && h.what.find(" of " + group) != std::string::npos)
      ranks.insert(ranks.end(), h.ranks.begin(), h.ranks.end());
  }
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

inline std::vector<int> all_waiting(EventLog const& log) { return waiting_in(log, ""); }

// The time from the cause to the end; -1: it never ends.
inline double length_of(EventLog const& log) {
  Happening const& last = log.happenings.back();
  return last.kind == HappeningKind::ends ? (last.time - log.happenings.front().time).value : -1;
}

// Every span lies within the job, and from the cause on each rank class does or waits for something.
inline void expect_whole_log(EventLog const& log) {
  constexpr double kRounding = 1e-7;
  ASSERT_FALSE(log.happenings.empty());
  Seconds const cause = log.happenings.front().time;
  Happening const& last = log.happenings.back();
  Seconds end = last.time;
  if (last.kind != HappeningKind::ends) {  // told up to where the run stood
    end = cause;
    for (Span const& s : log.spans) end = max(end, s.end);
  }
  std::vector<std::vector<std::pair<double, double>>> of_class(log.rank_classes.size());
  for (Span const& s : log.spans) {
    EXPECT_GE(s.start.value, 0);
    EXPECT_LE(s.start, s.end) << log.labels[static_cast<std::size_t>(s.label)];
    EXPECT_LE(s.end.value, end.value + kRounding) << log.labels[static_cast<std::size_t>(s.label)];
    EXPECT_GE(s.flops.value, 0);
    EXPECT_GE(s.hbm.value, 0);
    of_class[static_cast<std::size_t>(s.rank_class)].push_back({s.start.value, s.end.value});
  }
  for (std::size_t c = 0; c < of_class.size(); ++c) {
    std::sort(of_class[c].begin(), of_class[c].end());
    double covered = cause.value;
    for (auto const& [from, to] : of_class[c]) {
      if (to <= covered) continue;
      EXPECT_LE(from, covered + kRounding) << log.rank_classes[c].name << " does nothing until " << from;
      covered = to;
    }
    EXPECT_NEAR(covered, end.value, kRounding) << log.rank_classes[c].name;
  }
  for (PhaseWindow const& w : log.phases) {
    EXPECT_GE(w.start.value, 0);
    EXPECT_LE(w.start, w.end) << name_of(w.phase);
    EXPECT_LE(w.end.value, end.value + kRounding) << name_of(w.phase);
  }
  for (Counter const& c : log.counters) EXPECT_LE(c.time, end);
  for (StallRecord const& r : log.stalls) {
    EXPECT_GE(r.enqueued.value_or(Seconds(0)).value, 0);
    EXPECT_LE(r.detected.value_or(Seconds(0)), r.killed.value_or(Seconds(1e9)));
    for (int m : r.missing_ranks) {
      EXPECT_FALSE(std::binary_search(r.waiting_ranks.begin(), r.waiting_ranks.end(), m)) << m;
    }
  }
}

}  // namespace rollcast
