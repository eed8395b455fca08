#include "models/rollout_fleet.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>
#include <stdexcept>
#include <vector>

#include "models/tournament.hpp"
#include "tests/models/random_rollouts.hpp"

namespace rollcast {
namespace {

constexpr Seconds kNever{std::numeric_limits<double>::infinity()};

// A step of one second whatever it holds: times count steps.
StepPrices one_second() {
  StepPrices p;
  p.fixed = seconds(1);
  return p;
}

RolloutFleet fleet_of(int engines, EngineBalance balance, int feed = 0, int most_in_flight = 0) {
  EngineOptions o;
  o.block_size = 4;
  o.max_num_seqs = 8;
  o.max_num_batched_tokens = 100;
  return RolloutFleet({engines, balance, feed, most_in_flight}, o, 100, one_second());
}

struct Ended {
  int engine;
  std::int64_t id;
  double time;
  int generated;
  bool aborted = false;
};
void expect_ended(std::vector<FleetCompletion> const& out, std::vector<Ended> const& wanted) {
  ASSERT_EQ(out.size(), wanted.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    EXPECT_EQ(out[i].engine, wanted[i].engine) << i;
    EXPECT_EQ(out[i].completion.id, wanted[i].id) << i;
    EXPECT_DOUBLE_EQ(out[i].completion.time.value, wanted[i].time) << i;
    EXPECT_EQ(out[i].completion.generated, wanted[i].generated) << i;
    EXPECT_EQ(out[i].completion.aborted, wanted[i].aborted) << i;
  }
}

TEST(Tournament, TheLeastKeyWinsAndTheLowestNumberOfEquals) {
  for (int n : {1, 2, 3, 7, 8}) {
    Draw d{static_cast<std::uint64_t>(n)};
    std::vector<int> keys(static_cast<std::size_t>(n), 5);
    Tournament<int> t(n, 5);
    EXPECT_EQ(t.winner(), 0);
    for (int i = 0; i < 200; ++i) {
      int const player = d.whole(0, n - 1);
      keys[static_cast<std::size_t>(player)] = d.whole(0, 4);
      t.set(player, keys[static_cast<std::size_t>(player)]);
      EXPECT_EQ(t.winner(), std::min_element(keys.begin(), keys.end()) - keys.begin());
    }
  }
}

TEST(RolloutFleet, BalancesAsTold) {
  std::vector<Request> const batch{{0, 7, 4, 1}, {1, 7, 4, 1}, {2, 8, 4, 1}, {3, 8, 4, 1}, {4, -1, 4, 1}};
  // 5 over 3: [0, 1), [1, 3), [3, 5).
  EXPECT_EQ(fleet_of(3, EngineBalance::contiguous).submit(batch, seconds(0)),
            (std::vector<int>{0, 1, 1, 2, 2}));
  RolloutFleet round = fleet_of(3, EngineBalance::round_robin);
  EXPECT_EQ(round.submit(batch, seconds(0)), (std::vector<int>{0, 1, 2, 0, 1}));
  EXPECT_EQ(round.submit({9, -1, 4, 1}, seconds(0)), 2);

  RolloutFleet least = fleet_of(3, EngineBalance::least_load);
  least.submit(batch, seconds(0));  // 0 1 2 0 1
  EXPECT_EQ(least.submit({5, -1, 4, 9}, seconds(0)), 2);
  std::vector<FleetCompletion> out;
  least.advance_to(seconds(1), out);  // all but 5 have ended
  EXPECT_EQ(least.in_flight(), 1);
  EXPECT_EQ(least.in_flight(2), 1);
  EXPECT_EQ(least.submit({{6, -1, 4, 1}, {7, -1, 4, 1}, {8, -1, 4, 1}}, seconds(1)),
            (std::vector<int>{0, 1, 0}));

  // Group 7 where the first of it goes; group 8 to the then least loaded.
  RolloutFleet by_group = fleet_of(3, EngineBalance::by_group);
  EXPECT_EQ(by_group.submit(batch, seconds(0)), (std::vector<int>{0, 0, 1, 1, 2}));
  EXPECT_EQ(by_group.submit({9, 8, 4, 1}, seconds(0)), 1);
}

TEST(RolloutFleet, HandsOverInOrderOfTimeEngineAndAdmission) {
  RolloutFleet f = fleet_of(2, EngineBalance::round_robin);
  f.submit({{0, -1, 4, 3}, {1, -1, 4, 2}, {2, -1, 4, 3}, {3, -1, 4, 3}}, seconds(0));
  std::vector<FleetCompletion> out;
  EXPECT_DOUBLE_EQ(f.next_time().value, 1);  // both prefill to 1
  f.advance_to(seconds(0.5), out);
  f.submit({4, -1, 4, 1}, seconds(0.5));  // to engine 0; its step is from 1 to 2
  EXPECT_TRUE(f.advance_to_completion(kNever, out));
  EXPECT_DOUBLE_EQ(f.now().value, 2);
  expect_ended(out, {{0, 4, 2, 1}, {1, 1, 2, 2}});
  out.clear();
  EXPECT_FALSE(f.advance_to_completion(seconds(2.5), out));
  EXPECT_DOUBLE_EQ(f.now().value, 2.5);
  f.run_to_end(out);
  expect_ended(out, {{0, 0, 3, 3}, {0, 2, 3, 3}, {1, 3, 3, 3}});
  EXPECT_EQ(f.in_flight(), 0);
  EXPECT_FALSE(f.next_time() < kNever);
  EXPECT_FALSE(f.advance_to_completion(kNever, out));
  EXPECT_DOUBLE_EQ(f.now().value, 3);
}

TEST(RolloutFleet, AStepThatEndsLaterIsHandedOverLater) {
  RolloutFleet f = fleet_of(1, EngineBalance::least_load);
  f.submit({0, -1, 4, 1}, seconds(0));
  std::vector<FleetCompletion> out;
  f.advance_to(seconds(0.25), out);
  EXPECT_DOUBLE_EQ(f.pause().value, 1);  // the step ends first
  EXPECT_TRUE(out.empty());
  EXPECT_EQ(f.in_flight(), 1);
  f.advance_to(seconds(1), out);
  expect_ended(out, {{0, 0, 1, 1}});
}

TEST(RolloutFleet, PausesGoesOnWithItsKvOrRecomputes) {
  for (bool const recompute : {false, true}) {
    RolloutFleet f = fleet_of(2, EngineBalance::round_robin);
    f.submit({{0, -1, 6, 4}, {1, -1, 6, 5}}, seconds(0));
    std::vector<FleetCompletion> out;
    f.advance_to(seconds(1.5), out);
    EXPECT_DOUBLE_EQ(f.pause().value, 2);
    f.advance_to(seconds(10.25), out);
    if (recompute) f.drop_cache();
    f.submit({2, -1, 6, 1}, seconds(10.25));
    f.resume();
    f.run_to_end(out);
    // Two tokens each at 2, and a step that recomputes yields one too.
    expect_ended(out, {{0, 2, 11.25, 1}, {0, 0, 12.25, 4}, {1, 1, 13.25, 5}});
    EXPECT_EQ(f.engine(1).counters().prefill_tokens, recompute ? 6 + 8 : 6);
  }
}

TEST(RolloutFleet, FeedGivesTheNextWhenAllHaveEndedAndALimitWhenOneHas) {
  std::vector<Request> const batch{{0, -1, 4, 2}, {1, -1, 4, 5}, {2, -1, 4, 2}, {3, -1, 4, 1}, {4, -1, 4, 1}};
  RolloutFleet fed = fleet_of(1, EngineBalance::contiguous, 2);
  fed.submit(batch, seconds(0));
  std::vector<FleetCompletion> out;
  fed.run_to_end(out);
  expect_ended(out, {{0, 0, 2, 2}, {0, 1, 5, 5}, {0, 3, 6, 1}, {0, 2, 7, 2}, {0, 4, 8, 1}});

  RolloutFleet limited = fleet_of(1, EngineBalance::contiguous, 0, 2);
  limited.submit(batch, seconds(0));
  out.clear();
  limited.run_to_end(out);
  // 2 from 2 on, 3 from 4 on; 4 from 5 on, where 1 and 3 end.
  expect_ended(out, {{0, 0, 2, 2}, {0, 2, 4, 2}, {0, 1, 5, 5}, {0, 3, 5, 1}, {0, 4, 6, 1}});

  RolloutFleet cut = fleet_of(1, EngineBalance::contiguous, 0, 2);
  cut.submit(batch, seconds(0));
  out.clear();
  cut.advance_to(seconds(2.5), out);
  out.clear();
  EXPECT_TRUE(cut.abort(0, 4, out));   // in the queue
  EXPECT_TRUE(cut.abort(0, 1, out));   // running: at 3; 3 takes its place
  EXPECT_FALSE(cut.abort(0, 0, out));  // has ended
  expect_ended(out, {{0, 4, 2.5, 0, true}, {0, 1, 3, 3, true}});
  out.clear();
  cut.abort_all(out);
  expect_ended(out, {{0, 2, 3, 1, true}, {0, 3, 3, 0, true}});
  EXPECT_EQ(cut.in_flight(), 0);
  cut.run_to_end(out);
  EXPECT_EQ(out.size(), 2U);
}

TEST(RolloutFleet, RefusesThePast) {
  RolloutFleet f = fleet_of(1, EngineBalance::contiguous);
  std::vector<FleetCompletion> out;
  f.advance_to(seconds(5), out);
  EXPECT_THROW(f.submit({0, -1, 4, 1}, seconds(4)), std::logic_error);
  EXPECT_THROW(f.advance_to(seconds(4), out), std::logic_error);
  EXPECT_THROW(f.advance_to(kNever, out), std::logic_error);
  f.submit({0, -1, 4, 1}, seconds(5));
  EXPECT_DOUBLE_EQ(f.next_time().value, 6);
  EXPECT_THROW(f.submit({1, -1, 4, 1}, seconds(5)), std::logic_error);
  EXPECT_THROW(f.pause(), std::logic_error);
  EXPECT_NO_THROW(f.submit({1, -1, 4, 1}, seconds(5.5)));
  EXPECT_THROW(fleet_of(0, EngineBalance::contiguous), std::logic_error);
  EXPECT_THROW(fleet_of(1, EngineBalance::contiguous, -1), std::logic_error);
}

// What was done to the fleet, to be done to engines that stand alone.
struct Act {
  enum What { submit, pause, resume, drop_cache, abort, abort_all } what;
  Seconds time;
  int engine;
  Request request;
};

std::vector<Completion> alone(RandomWorkload const& w, int engine, std::vector<Act> const& acts) {
  RolloutEngine e(w.options, w.kv_blocks, w.prices);
  std::vector<Completion> out;
  for (Act const& a : acts) {
    if (a.engine != engine && a.engine >= 0) continue;
    if (a.what != Act::submit) e.advance_to(a.time, out);
    switch (a.what) {
      case Act::submit:
        e.submit(a.request, a.time);
        break;
      case Act::pause:
        e.pause(a.time);
        break;
      case Act::resume:
        e.resume(a.time);
        break;
      case Act::drop_cache:
        e.drop_cache();
        break;
      case Act::abort:
        e.abort(a.request.id, out);
        break;
      case Act::abort_all:
        e.abort_all(out);
        break;
    }
  }
  e.run_to_end(out);
  return out;
}

bool same_bits(Completion const& x, Completion const& y) {
  auto const same = [](Seconds a, Seconds b) { return !(a < b) && !(b < a); };
  return x.id == y.id && x.generated == y.generated && x.aborted == y.aborted && same(x.time, y.time) &&
         same(x.first_token, y.first_token);
}

TEST(RolloutFleetProperty, EachEngineDoesToTheLastBitWhatItWouldDoAlone) {
  std::int64_t completions = 0;
  for (std::uint64_t seed = 0; seed < 2000 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Draw d{seed};
    RandomWorkload const w = random_workload(d);
    int const engines = d.whole(1, 5);
    auto const balance = static_cast<EngineBalance>(d.whole(0, 3));
    RolloutFleet f({engines, balance}, w.options, w.kv_blocks, w.prices);
    std::vector<Act> acts;
    std::vector<FleetCompletion> out;
    std::int64_t id = 0;
    auto const submit = [&](Seconds at) {
      Request const r = random_request(d, w, id++);
      acts.push_back({Act::submit, at, f.submit(r, at), r});
    };
    auto const act_on_all = [&](Act::What what) { acts.push_back({what, f.now(), -1, {}}); };
    for (int i = 0; i < w.requests; ++i) submit(seconds(d.often(0.5) ? 0 : 40 * d.real()));
    // Submits that are announced for later must be told to an engine alone in this order, too: there, order
    // of time, then of call.
    bool paused = false;
    std::size_t seen = 0;
    for (int i = d.whole(0, 60); i > 0; --i) {
      if (d.often(0.6)) {
        f.advance_to_completion(f.now() + seconds(20 * d.real()), out);
      } else if (d.often(0.3)) {
        Seconds const t = f.next_time();
        if (t < kNever) {
          EXPECT_LT(f.now().value, t.value);
          std::size_t const before = out.size();
          f.advance_to(seconds(0.5 * (f.now().value + t.value)), out);
          EXPECT_EQ(out.size(), before);
          f.advance_to(t, out);
        } else {
          f.advance_to(f.now() + seconds(1), out);
        }
      } else {
        f.advance_to(f.now() + seconds(10 * d.real() * d.real()), out);
      }
      // Feedback: new ones at the very times of completions.
      for (; seen < out.size(); ++seen) {
        if (!out[seen].completion.aborted && !(out[seen].completion.time < f.now()) && d.often(0.6))
          submit(f.now());
      }
      switch (d.whole(0, 12)) {
        case 0:
          act_on_all(paused ? Act::resume : Act::pause);
          if (paused) {
            f.resume();
          } else {
            Seconds const still = f.pause();
            EXPECT_FALSE(still < f.now());
            for (int e = 0; e < engines; ++e) EXPECT_FALSE(still < f.engine(e).now());
          }
          paused = !paused;
          break;
        case 1:
          act_on_all(Act::drop_cache);
          f.drop_cache();
          break;
        case 2:
          if (d.often(0.3)) {
            act_on_all(Act::abort_all);
            f.abort_all(out);
            EXPECT_EQ(f.in_flight(), 0);
            break;
          }
          [[fallthrough]];
        case 3: {
          int const e = d.whole(0, engines - 1);
          std::int64_t const which = d.whole(0, static_cast<int>(id));
          acts.push_back({Act::abort, f.now(), e, {which, -1, 1, 1}});
          f.abort(e, which, out);
          break;
        }
        case 4:
          submit(f.now() + seconds(10 * d.real()));
          break;
        default:
          break;
      }
    }
    if (paused) {
      act_on_all(Act::resume);
      f.resume();
    }
    f.run_to_end(out);
    EXPECT_EQ(f.in_flight(), 0);

    std::set<std::int64_t> ids;
    for (FleetCompletion const& c : out) ids.insert(c.completion.id);
    EXPECT_EQ(ids.size(), out.size());
    EXPECT_EQ(static_cast<std::int64_t>(out.size()), id);
    for (int e = 0; e < engines; ++e) {
      std::vector<Completion> got;
      for (FleetCompletion const& c : out)
        if (c.engine == e) got.push_back(c.completion);
      std::vector<Completion> wanted = alone(w, e, acts);
      // abort hands over what it ends before what has ended in the same step.
      auto const by_id = [](Completion const& x, Completion const& y) { return x.id < y.id; };
      std::sort(got.begin(), got.end(), by_id);
      std::sort(wanted.begin(), wanted.end(), by_id);
      EXPECT_TRUE(std::equal(got.begin(), got.end(), wanted.begin(), wanted.end(), same_bits));
      completions += static_cast<std::int64_t>(got.size());
    }
  }
  EXPECT_GT(completions, 50'000);
}

TEST(RolloutFleetProperty, TheOrderIsTimeThenEngineHoweverTheTimeIsCut) {
  for (std::uint64_t seed = 5000; seed < 5300 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Draw d{seed};
    RandomWorkload const w = random_workload(d);
    FleetOptions options{d.whole(1, 6), static_cast<EngineBalance>(d.whole(0, 3))};
    if (d.often(0.3)) options.feed = d.whole(1, 6);
    if (d.often(0.3)) options.most_in_flight = d.whole(1, 6);
    RolloutFleet whole(options, w.options, w.kv_blocks, w.prices);
    std::vector<Request> batch;
    for (int i = 0; i < 3 * w.requests; ++i) batch.push_back(random_request(d, w, i));
    whole.submit(batch, seconds(0));
    RolloutFleet cut = whole;
    std::vector<FleetCompletion> at_once;
    std::vector<FleetCompletion> in_slices;
    whole.run_to_end(at_once);
    while (cut.in_flight() > 0) {
      Seconds const t = cut.now() + seconds(8 * d.real() * d.real());
      if (d.often(0.5)) {
        cut.advance_to(t, in_slices);
      } else {
        cut.advance_to_completion(d.often(0.5) ? t : kNever, in_slices);
      }
    }
    ASSERT_EQ(at_once.size(), batch.size());
    ASSERT_EQ(in_slices.size(), batch.size());
    for (std::size_t i = 0; i < batch.size(); ++i) {
      EXPECT_EQ(at_once[i].engine, in_slices[i].engine);
      EXPECT_TRUE(same_bits(at_once[i].completion, in_slices[i].completion));
      if (i == 0) continue;
      FleetCompletion const& before = at_once[i - 1];
      EXPECT_FALSE(at_once[i].completion.time < before.completion.time);
      bool const earlier = before.completion.time < at_once[i].completion.time;
      EXPECT_TRUE(earlier || before.engine <= at_once[i].engine);
    }
  }
}

}  // namespace
}  // namespace rollcast
