// The engine against the token-by-token reference and against itself, on random and on large workloads.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "models/rollout_engine.hpp"
#include "tests/models/random_rollouts.hpp"
#include "tests/models/reference_rollout.hpp"
#include "tests/models/rollout_workload.hpp"

namespace rollcast {
namespace {

void expect_near(double a, double b) { EXPECT_NEAR(a, b, 1e-9 * std::max(1.0, std::fabs(b))); }

void expect_same(RolloutEngine const& e, std::vector<Completion> const& got, ReferenceRollout const& r,
                 std::vector<Completion> const& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i].id, wanted[i].id) << "completion " << i;
    EXPECT_EQ(got[i].generated, wanted[i].generated);
    EXPECT_EQ(got[i].aborted, wanted[i].aborted);
    expect_near(got[i].time.value, wanted[i].time.value);
  }
  expect_near(e.now().value, r.now());
  EngineCounters const& a = e.counters();
  EngineCounters const& b = r.counters();
  EXPECT_EQ(a.steps, b.steps);
  EXPECT_EQ(a.generated_tokens, b.generated_tokens);
  EXPECT_EQ(a.prefill_tokens, b.prefill_tokens);
  EXPECT_EQ(a.cached_tokens, b.cached_tokens);
  EXPECT_EQ(a.preemptions, b.preemptions);
  EXPECT_EQ(a.peak_blocks, b.peak_blocks);
  EXPECT_DOUBLE_EQ(a.decode_context_sum, b.decode_context_sum);
  expect_near(a.busy.value, b.busy.value);
  // Each point of the engine is one of the reference's, which has one per step.
  auto at = r.curve().begin();
  for (EnginePoint const& p : e.curve()) {
    while (at != r.curve().end() && at->time.value < p.time.value - 1e-9 * std::max(1.0, p.time.value)) ++at;
    ASSERT_NE(at, r.curve().end());
    expect_near(p.time.value, at->time.value);
    ASSERT_EQ(p.running, at->running) << "at " << p.time.value;
    ASSERT_EQ(p.waiting, at->waiting) << "at " << p.time.value;
    ASSERT_EQ(p.used_blocks, at->used_blocks) << "at " << p.time.value;
  }
}

TEST(RolloutEngineProperty, AgreesWithTheReferenceOnRandomWorkloads) {
  std::int64_t preemptions = 0;
  std::int64_t cached = 0;
  std::int64_t aborted = 0;
  for (std::uint64_t seed = 0; seed < 4000 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Draw d{seed};
    RandomWorkload const w = random_workload(d);
    RolloutEngine e(w.options, w.kv_blocks, w.prices);
    ReferenceRollout r(w.options, w.kv_blocks, w.prices);
    std::vector<Completion> got;
    std::vector<Completion> wanted;
    bool const all_at_once = d.often(0.3);
    double const span = 60 * d.real();
    std::int64_t id = 0;
    auto const submit = [&](double at) {
      Request const q = random_request(d, w, id++);
      e.submit(q, seconds(at));
      r.submit(q, seconds(at));
    };
    for (int i = 0; i < w.requests; ++i) submit(all_at_once ? 0.0 : span * d.real());
    double t = 0;
    for (int acts = d.often(0.3) ? 0 : d.whole(0, 12); acts > 0; --acts) {
      t += 20 * d.real();
      e.advance_to(seconds(t), got);
      r.advance_to(seconds(t), wanted);
      switch (d.whole(0, 6)) {
        case 0:
          submit(t);
          break;
        case 1:
          submit(t + 10 * d.real());
          break;
        case 2: {
          double const at = t + 10 * d.real();
          double const until = at + 10 * d.real();
          e.pause(seconds(at));
          r.pause(seconds(at));
          e.resume(seconds(until));
          r.resume(seconds(until));
          break;
        }
        case 3:
          e.drop_cache();
          r.drop_cache();
          break;
        case 4:
          if (d.often(0.3)) {
            e.abort_all(got);
            r.abort_all(wanted);
            break;
          }
          [[fallthrough]];
        default: {
          std::int64_t const which = d.whole(0, static_cast<int>(id));
          EXPECT_EQ(e.abort(which, got), r.abort(which, wanted));
        }
      }
    }
    e.run_to_end(got);
    r.run_to_end(wanted);
    expect_same(e, got, r, wanted);
    preemptions += r.counters().preemptions;
    cached += r.counters().cached_tokens;
    aborted += std::count_if(wanted.begin(), wanted.end(), [](Completion const& c) { return c.aborted; });
  }
  // The workloads must reach what they are for.
  EXPECT_GT(preemptions, 10'000);
  EXPECT_GT(cached, 100'000);
  EXPECT_GT(aborted, 1'000);
}

TEST(RolloutEngine, AgreesWithTheReferenceOnTheBenchmarkWorkload) {
  for (StepPrices const& p : {workload1024::linear_prices(), workload1024::table_prices()}) {
    RolloutEngine e(workload1024::options(), workload1024::kv_blocks(), p);
    ReferenceRollout r(workload1024::options(), workload1024::kv_blocks(), p);
    std::vector<Completion> got;
    std::vector<Completion> wanted;
    for (Request const& q : workload1024::requests()) {
      e.submit(q, seconds(0));
      r.submit(q, seconds(0));
    }
    e.run_to_end(got);
    r.run_to_end(wanted);
    expect_same(e, got, r, wanted);
    EXPECT_GT(e.counters().preemptions, 500);
  }
}

// Cost follows the events: at most 4 reads of the tables for each; and eight times the tokens are not more
// events.
TEST(RolloutEngine, ReadsPricesAtMostFourTimesPerEventHoweverManyTokens) {
  for (StepPrices const& p : {workload1024::linear_prices(), workload1024::table_prices()}) {
    std::vector<EngineCounters> counters;
    for (int scale : {1, 8}) {
      RolloutEngine e(workload1024::options(scale), workload1024::kv_blocks(scale), p);
      e.submit(workload1024::requests(scale), seconds(0));
      std::vector<Completion> out;
      e.run_to_end(out);
      EXPECT_EQ(out.size(), 1024U);
      EXPECT_GT(e.counters().price_evaluations, e.counters().events);
      EXPECT_LE(e.counters().price_evaluations, 4 * e.counters().events);
      counters.push_back(e.counters());
    }
    EXPECT_GT(counters[1].steps, 7 * counters[0].steps);
    EXPECT_LT(static_cast<double>(counters[1].events), 1.1 * static_cast<double>(counters[0].events));
  }
}

bool same_bits(std::vector<Completion> const& a, std::vector<Completion> const& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](Completion const& x, Completion const& y) {
    return x.id == y.id && x.generated == y.generated && !(x.time < y.time) && !(y.time < x.time);
  });
}

TEST(RolloutEngineProperty, WhereAdvanceToCutsChangesNothingAndNextEventTimeIsExact) {
  for (std::uint64_t seed = 10'000; seed < 11'000 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Draw d{seed};
    RandomWorkload const w = random_workload(d);
    RolloutEngine whole(w.options, w.kv_blocks, w.prices);
    for (int i = 0; i < w.requests; ++i) whole.submit(random_request(d, w, i), seconds(30 * d.real()));
    RolloutEngine cut = whole;
    std::vector<Completion> at_once;
    std::vector<Completion> in_slices;
    whole.run_to_end(at_once);
    double t = 0;
    while (in_slices.size() < at_once.size()) {
      t = std::max(t, cut.now().value) + 15 * d.real() * d.real();
      std::size_t const before = in_slices.size();
      if (d.often(0.3)) {
        Seconds const next = cut.next_event_time().value();
        EXPECT_FALSE(next < at_once[before].time || at_once[before].time < next);
        t = next.value;
      }
      cut.advance_to(seconds(t), in_slices);
      EXPECT_FALSE(cut.now().value < t);
    }
    EXPECT_TRUE(same_bits(at_once, in_slices));
    EXPECT_EQ(whole.counters().events, cut.counters().events);
    EXPECT_EQ(whole.counters().peak_blocks, cut.counters().peak_blocks);
    EXPECT_EQ(whole.curve().size(), cut.curve().size());
  }
}

}  // namespace
}  // namespace rollcast
