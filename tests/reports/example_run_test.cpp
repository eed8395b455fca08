// Whole runs: what must hold of every event log.
#include <map>

#include "calibrate/profiles.hpp"
#include "sim/simulate.hpp"
#include "tests/scenarios/example.hpp"
#include "tests/sim/child_process.hpp"

namespace rollcast {
namespace {

using Numbers = std::vector<double>;

EventLog run_example(std::vector<std::string> sets) {
  ScenarioResult const r = read_example(std::move(sets));
  EXPECT_TRUE(r.scenario) << format(r.problems);
  EXPECT_TRUE(check_simulated(*r.scenario).empty()) << format(check_simulated(*r.scenario));
  return simulate(*r.scenario, profile_for(r.scenario->job.cluster.node.gpu), {.steps = 1, .seed = 1});
}

// The longest time within the run that a rank class has no span for.
double longest_gap(EventLog const& log) {
  std::map<int, std::vector<std::pair<double, double>>> of_class;
  for (Span const& s : log.spans) of_class[s.rank_class].emplace_back(s.start.value, s.end.value);
  double longest = 0;
  for (auto& [rank_class, spans] : of_class) {
    std::sort(spans.begin(), spans.end());
    double covered = 0;
    for (auto const& [start, end] : spans) {
      longest = std::max(longest, start - covered);
      covered = std::max(covered, end);
    }
    longest = std::max(longest, log.steps.back().end.value - covered);
  }
  return longest;
}

// Whatever a rank does or waits for has a name. The first and the last stage also hold the embedding and the
// head, so with many stages they copy longer than the others.
TEST(ExampleRun, NoTimeIsUnaccountedFor) {
  for (std::vector<std::string> const& sets :
       std::vector<std::vector<std::string>>{{},
                                             {"train.parallel.pp=16"},
                                             {"train.parallel={tp: 2, pp: 2, cp: 2}"},
                                             {"train.packing=false"},
                                             {"train.distributed_optimizer=false"},
                                             {"train.parallel={tp: 8, pp: 2}"}}) {
    in_child([&] {
      EXPECT_LT(longest_gap(run_example(sets)), 1e-9) << (sets.empty() ? "example" : sets.front());
      return Numbers{};
    });
  }
}

// 128 sequences an engine of up to 130,127 tokens do not fit into its pages: it preempts in nearly every
// step, millions of times. What is logged of it stays small.
TEST(ExampleRun, ThrashingEnginesLogFewPoints) {
  in_child([] {
    EventLog const log = run_example({"workload.response_tokens=130000", "algorithm.prompts=16"});
    EXPECT_GT(log.counters.size(), 1000U);
    EXPECT_LT(log.counters.size(), 16U * 3 * 4096 + 10'000);
    double last = -1;
    int rank_class = -1;
    for (Counter const& c : log.counters) {
      if (c.kind != CounterKind::running) continue;
      if (c.rank_class == rank_class) {
        EXPECT_LT(last, c.time.value);
      }
      rank_class = c.rank_class;
      last = c.time.value;
    }
    return Numbers{};
  });
}

// A step that ran out of memory was not completed: it has no length and no throughput.
TEST(ExampleRun, AStepThatRunsOutOfMemoryIsNotCounted) {
  in_child([] {
    EventLog const log = run_example({"train.micro_batch=1000000"});
    EXPECT_EQ(log.outcome, Outcome::oom);
    EXPECT_TRUE(log.steps.empty());
    EXPECT_EQ(log.ooms.size(), 1U);
    EXPECT_EQ(log.ooms.front().phase, Phase::update_actor);
    EXPECT_FALSE(log.phases.empty());
    return Numbers{};
  });
}

// What `rollcast memory` calls too much host memory must not pass as a completed run.
TEST(ExampleRun, HostMemoryRunsOut) {
  in_child([] {
    EventLog const log = run_example({"cluster.node.host_memory=64 GiB"});
    EXPECT_EQ(log.outcome, Outcome::oom);
    EXPECT_EQ(log.ooms.size(), 1U);
    OomRecord const& oom = log.ooms.front();
    EXPECT_EQ(oom.kind, OomKind::host);
    // Allocated and requested together are what the node needs, and that is more than it has.
    EXPECT_GT(oom.allocated + oom.requested, GiB(64));
    EXPECT_LT(oom.free, oom.requested);
    EXPECT_NE(log.outcome_reason.find("host memory"), std::string::npos) << log.outcome_reason;
    return Numbers{};
  });
}

}  // namespace
}  // namespace rollcast
