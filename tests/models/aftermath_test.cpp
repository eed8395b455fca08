#include "models/aftermath.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "models/random.hpp"

namespace rollcast {
namespace {

constexpr double kStop = 3600;

// Rank 17 of 64 stops after an hour, in a generation; the others wait for it in a gather from then on.
Stall one_stops(Stop how, GroupTimer timer = GroupTimer::c10d) {
  Stall s;
  s.at = Seconds(kStop);
  s.cause = "rank 17 runs out of memory";
  s.missing = {{0, 17, how, s.at}};
  s.groups = {{"zero3", "ALLGATHER", 12, timer, {}}};
  for (int r = 0; r < 64; ++r)
    if (r != 17) s.waiting.push_back({0, r, 0, s.at});
  return s;
}

WatchdogOptions two_hours() {
  WatchdogOptions w;
  w.timeout = Seconds(7200);
  return w;
}

LauncherOptions launched(LauncherKind k) {
  LauncherOptions l;
  l.kind = k;
  return l;
}

JobSize const kSize{64, 8};

Aftermath after(Stall const& s, WatchdogOptions const& w, LauncherKind k, JobSize const& size = kSize) {
  return aftermath(s, w, launched(k), size, 1);
}

// Since the stop; -1: never.
double since(std::optional<Seconds> const& t) { return t ? t->value - kStop : -1; }

std::vector<Happening> of_kind(Aftermath const& a, HappeningKind k) {
  std::vector<Happening> out;
  std::copy_if(a.happenings.begin(), a.happenings.end(), std::back_inserter(out),
               [&](Happening const& h) { return h.kind == k; });
  return out;
}

void expect_told_in_order(Aftermath const& a) {
  ASSERT_FALSE(a.happenings.empty());
  EXPECT_EQ(a.happenings.front().kind, HappeningKind::cause);
  for (std::size_t i = 0; i < a.happenings.size(); ++i) {
    Happening const& h = a.happenings[i];
    EXPECT_LE(h.time, h.until) << h.what;
    EXPECT_TRUE(std::is_sorted(h.ranks.begin(), h.ranks.end())) << h.what;
    EXPECT_FALSE(h.what.empty());
    EXPECT_NE(h.what.back(), '.');
    if (i > 1) {
      EXPECT_LE(a.happenings[i - 1].time, h.time) << h.what;
    }
    EXPECT_LE(h.until, a.ended.value_or(Seconds(1e9))) << h.what;
  }
  EXPECT_EQ(a.happenings.back().kind == HappeningKind::ends, a.ended.has_value());
}

// S1: nobody reacts to the exception. 63 timers of two hours fire within a poll, the processes go a minute
// later; 64 GPUs x 7,260 s = 464,640 s = 129 hours of a GPU.
TEST(Aftermath, ARolloutSurgeCostsTwoHoursAndAMinute) {
  Aftermath const a = after(one_stops(Stop::raised), two_hours(), LauncherKind::none);
  EXPECT_GE(since(a.detected), 7200);
  EXPECT_LE(since(a.detected), 7200.1);
  EXPECT_GE(since(a.ended), 7260);
  EXPECT_LE(since(a.ended), 7260.1);
  EXPECT_NEAR(64 * since(a.ended) / 3600, 129, 0.1);
  EXPECT_TRUE(a.by_watchdog);
  EXPECT_FALSE(a.stop_is_noticed);
  expect_told_in_order(a);

  ASSERT_EQ(a.happenings.size(), 7u);  // the last of rank 17's is a second after the others' dump
  EXPECT_EQ(a.happenings[0].what, "rank 17 runs out of memory");
  EXPECT_EQ(a.happenings[1].what, "63 ranks (0-16, 18-63) wait in ALLGATHER 12 of zero3 for rank 17");
  EXPECT_EQ(a.happenings[2].what,
            "watchdog of 63 ranks (0-16, 18-63): ALLGATHER 12 of zero3 is not done after 2.00 h");
  EXPECT_EQ(of_kind(a, HappeningKind::dumps).size(), 2u);
  ASSERT_EQ(of_kind(a, HappeningKind::dies).size(), 1u);
  EXPECT_EQ(of_kind(a, HappeningKind::dies)[0].ranks.size(), 63u);
  EXPECT_LE((of_kind(a, HappeningKind::dies)[0].until - of_kind(a, HappeningKind::dies)[0].time).value, 0.1);
  EXPECT_EQ(a.happenings.back().what, "nobody waits any more");
}

// The agent of the node sees it after 0.1 s, those of the others within 15 s more.
TEST(Aftermath, TorchrunEndsItWithinAMinute) {
  for (LauncherKind k : {LauncherKind::torchrun, LauncherKind::ray}) {
    Aftermath const a = after(one_stops(Stop::raised), two_hours(), k);
    EXPECT_NEAR(since(a.detected), 0.1, 1e-9);
    EXPECT_NEAR(since(a.ended), 15.1, 1e-9);
    EXPECT_TRUE(a.stop_is_noticed);
    EXPECT_FALSE(a.by_watchdog);
    expect_told_in_order(a);
    EXPECT_TRUE(of_kind(a, HappeningKind::detects).empty());
    ASSERT_EQ(of_kind(a, HappeningKind::notices).size(), 1u);
    EXPECT_EQ(of_kind(a, HappeningKind::notices)[0].what,
              k == LauncherKind::ray ? "the driver (ray) sees the stop" : "torchrun sees the stop");
    EXPECT_EQ(a.happenings.back().what,
              std::string(k == LauncherKind::ray ? "the driver (ray)" : "torchrun") +
                  " has ended all processes of the job");
  }
}

// On one node: 0.1 s + 1 s.
TEST(Aftermath, OneNodeIsGoneInASecond) {
  EXPECT_NEAR(since(after(one_stops(Stop::exited), two_hours(), LauncherKind::torchrun, {8, 1}).ended), 1.1,
              1e-9);
}

// Nobody sees a hang: the timers fire after ten minutes and the first process of 63 goes a minute later, in
// [660, 660.1]; that one Ray sees 0.1 s after, and the job is gone 15 s later.
TEST(Aftermath, TheFirstAbortEndsAJobOfRay) {
  Aftermath const a = after(one_stops(Stop::hangs), {}, LauncherKind::ray);
  EXPECT_TRUE(a.by_watchdog);
  EXPECT_FALSE(a.stop_is_noticed);
  EXPECT_GE(since(a.ended), 675.1);
  EXPECT_LE(since(a.ended), 675.2);
  ASSERT_EQ(of_kind(a, HappeningKind::notices).size(), 1u);
  EXPECT_EQ(of_kind(a, HappeningKind::notices)[0].what, "the driver (ray) sees the failure");
  EXPECT_NEAR((*a.ended - of_kind(a, HappeningKind::dies)[0].time).value, 15.1, 1e-9);
  expect_told_in_order(a);
}

TEST(Aftermath, WithoutATimerNobodyEndsIt) {
  for (LauncherKind k : {LauncherKind::none, LauncherKind::ray, LauncherKind::torchrun}) {
    Aftermath const a = after(one_stops(Stop::hangs, GroupTimer::none), {}, k);
    EXPECT_FALSE(a.detected.has_value());
    EXPECT_FALSE(a.ended.has_value());
    EXPECT_EQ(a.happenings.size(), 2u);  // cause and waits
    expect_told_in_order(a);
  }
  // A process that goes is seen all the same.
  EXPECT_NEAR(since(after(one_stops(Stop::exited, GroupTimer::none), {}, LauncherKind::ray).ended), 15.1,
              1e-9);
}

// Engine ranks wait for the caller's 300 s, or for the group's own 40.
TEST(Aftermath, ACallToAnEngineTimesOut) {
  Stall s = one_stops(Stop::hangs, GroupTimer::rpc);
  Aftermath a = after(s, {}, LauncherKind::ray);
  EXPECT_NEAR(since(a.detected), 300, 1e-9);
  EXPECT_NEAR(since(a.ended), 315.1, 1e-9);
  EXPECT_FALSE(a.by_watchdog);
  EXPECT_FALSE(a.stop_is_noticed);
  EXPECT_EQ(of_kind(a, HappeningKind::detects)[0].what, "a call to an engine gives up after 5.00 min");
  s.groups[0].timeout = Seconds(40);
  a = after(s, {}, LauncherKind::ray);
  EXPECT_NEAR(since(a.detected), 40, 1e-9);
  EXPECT_EQ(of_kind(a, HappeningKind::detects)[0].what, "a call to an engine gives up after 40.0 s");
  // The exception ends nothing where nobody reacts.
  EXPECT_FALSE(after(s, {}, LauncherKind::none).ended.has_value());
}

// All have come to some collective, each waits for another one.
TEST(Aftermath, ADeadlockEndsByItsTimers) {
  Stall s;
  s.at = Seconds(kStop);
  s.cause = "two communicators in different orders";
  s.cycle = "rank 0 waits for rank 1 and rank 1 for rank 0";
  s.groups = {{"a", "BROADCAST", 3, GroupTimer::c10d, {}}, {"b", "ALLGATHER", 8, GroupTimer::c10d, {}}};
  s.waiting = {{0, 0, 0, s.at}, {0, 1, 1, s.at + Seconds(2)}};
  Aftermath const a = after(s, {}, LauncherKind::none);
  EXPECT_NEAR(since(a.detected), 600.05, 0.05);
  EXPECT_NEAR(since(a.ended), 662.05, 0.05);
  EXPECT_TRUE(a.by_watchdog);
  auto const waits = of_kind(a, HappeningKind::waits);
  ASSERT_EQ(waits.size(), 2u);
  EXPECT_EQ(waits[0].what, "rank 0 waits in BROADCAST 3 of a");
  expect_told_in_order(a);
}

// In a deadlock one group of which has no timer, its rank hears of the other's: it is gone 481 s later, and
// then nobody waits.
TEST(Aftermath, RanksInAnUntimedGroupHearOfOthersTimers) {
  Stall s;
  s.at = Seconds(kStop);
  s.cause = "two communicators in different orders";
  s.cycle = "rank 0 waits for rank 1 and rank 1 for rank 0";
  s.groups = {{"weight transfer", "BROADCAST", 3, GroupTimer::none, {}},
              {"fsdp", "ALLGATHER", 8, GroupTimer::c10d, {}}};
  s.waiting = {{0, 0, 0, s.at}, {0, 1, 1, s.at}};
  Aftermath a = after(s, {}, LauncherKind::none);
  EXPECT_NEAR(since(a.ended), 600.05 + 481, 0.05);
  expect_told_in_order(a);
  s.waiting[0].pool = 1;  // another program: not told
  a = after(s, {}, LauncherKind::none);
  EXPECT_FALSE(a.ended.has_value());
}

// Communicators are cleaned up and processes live. The rank that hangs is told: 600 + 1 + 480 s, and its end
// is what the launcher sees.
TEST(Aftermath, TheEndOfARankThatWasToldIsSeen) {
  WatchdogOptions w;
  w.error_handling = ErrorHandling::clean_up_only;
  Aftermath a = after(one_stops(Stop::hangs), w, LauncherKind::torchrun);
  ASSERT_EQ(of_kind(a, HappeningKind::dies).size(), 1u);
  EXPECT_EQ(of_kind(a, HappeningKind::dies)[0].ranks, std::vector<int>{17});
  EXPECT_NEAR(since(a.ended), 600.05 + 481 + 15.1, 0.05);
  expect_told_in_order(a);
  // Without a launcher the others wait on.
  a = after(one_stops(Stop::hangs), w, LauncherKind::none);
  EXPECT_FALSE(a.ended.has_value());
  EXPECT_EQ(of_kind(a, HappeningKind::aborts)[0].ranks.size(), 63u);
  expect_told_in_order(a);
}

// A rank whose process is gone cannot write anything.
TEST(Aftermath, OnlyTheLivingAreTold) {
  Aftermath const a = after(one_stops(Stop::exited), {}, LauncherKind::none);
  ASSERT_EQ(of_kind(a, HappeningKind::dumps).size(), 1u);
  EXPECT_EQ(of_kind(a, HappeningKind::dumps)[0].ranks.size(), 63u);
}

// A rank that calls another collective than the others has a timer of its own.
TEST(Aftermath, ARankThatWaitsElsewhereIsNotTold) {
  Stall s = one_stops(Stop::hangs);
  s.groups.push_back({"zero3", "ALLREDUCE", 12, GroupTimer::c10d, {}});
  s.waiting.push_back({0, 17, 1, s.at});
  Aftermath const a = after(s, {}, LauncherKind::none);
  int dumps = 0;
  for (Happening const& h : of_kind(a, HappeningKind::dumps))
    dumps += static_cast<int>(std::count(h.ranks.begin(), h.ranks.end(), 17));
  EXPECT_EQ(dumps, 1);
  EXPECT_NEAR(since(a.ended), 660.05, 0.05);
  expect_told_in_order(a);
}

// Three beats of 5 ms are missed, and the job is over 15 s later although no launcher looks.
TEST(Aftermath, WorkersNoticeADeadPeer) {
  WatchdogOptions w = two_hours();
  w.worker_heartbeat = ms(5);
  Aftermath const a = after(one_stops(Stop::raised), w, LauncherKind::none);
  EXPECT_NEAR(since(a.detected), 0.015, 1e-9);
  EXPECT_NEAR(since(a.ended), 15.015, 1e-9);
  EXPECT_TRUE(a.stop_is_noticed);
  EXPECT_EQ(of_kind(a, HappeningKind::notices)[0].what, "3 heartbeats of 5.00 ms are missed");
  EXPECT_EQ(a.happenings.back().what, "the job's own check has ended all processes of the job");
  // A rank that hangs still beats.
  EXPECT_GE(since(after(one_stops(Stop::hangs), w, LauncherKind::none).ended), 7260);
}

// Beats of an hour: 63 timers of ten minutes are faster.
TEST(Aftermath, SlowHeartbeatsComeTooLate) {
  WatchdogOptions w;
  w.worker_heartbeat = Seconds(3600);
  Aftermath const a = after(one_stops(Stop::exited), w, LauncherKind::none);
  EXPECT_NEAR(since(a.ended), 660.05, 0.05);
  EXPECT_EQ(a.happenings.back().what, "nobody waits any more");
  expect_told_in_order(a);
}

// Ranks of the cause are those of their pool, ascending.
TEST(Aftermath, TheCauseIsOfItsPool) {
  Stall s;
  s.at = Seconds(kStop);
  s.cause = "engine 0 goes";
  s.missing = {{1, 9, Stop::exited, s.at}, {1, 8, Stop::exited, s.at}};
  Aftermath const a = after(s, {}, LauncherKind::ray, {16, 2, {"train", "rollout"}});
  EXPECT_EQ(a.happenings.front().pool, 1);
  EXPECT_EQ(a.happenings.front().ranks, (std::vector<int>{8, 9}));
}

TEST(Aftermath, PoolsAreNamedWhereThereAreSeveral) {
  Stall s = one_stops(Stop::hangs);
  JobSize size = kSize;
  size.pools = {"train", "rollout"};
  EXPECT_EQ(after(s, {}, LauncherKind::none, size).happenings[1].what,
            "63 ranks (0-16, 18-63) of train wait in ALLGATHER 12 of zero3 for rank 17 of train");
  s.missing.clear();
  EXPECT_EQ(
      after(s, {}, LauncherKind::none, size).happenings[1].what,
      "63 ranks (0-16, 18-63) of train wait in ALLGATHER 12 of zero3, which the network does not carry");
  s.elsewhere = "the scoring of the samples";
  EXPECT_EQ(after(s, {}, LauncherKind::none, size).happenings[1].what,
            "63 ranks (0-16, 18-63) of train wait in ALLGATHER 12 of zero3 for the scoring of the samples");
}

// S1's three remedies. Heartbeats: 15.015 s; torchrun: 15.1 s; ten minutes: 660 s and a poll.
TEST(Aftermath, RemediesSaveTimeTheMostFirst) {
  auto const all = remedies(one_stops(Stop::raised), two_hours(), launched(LauncherKind::none), kSize, 1);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_NE(all[0].what.find("worker_heartbeat"), std::string::npos);
  EXPECT_NEAR(since(all[0].ended), 15.015, 1e-9);
  EXPECT_NEAR(all[0].saved.value, 7260.05 - 15.015, 0.05);
  EXPECT_NE(all[1].what.find("torchrun"), std::string::npos);
  EXPECT_NEAR(since(all[1].ended), 15.1, 1e-9);
  EXPECT_NE(all[2].what.find("timeout"), std::string::npos);
  EXPECT_NEAR(all[2].saved.value, 6600, 1e-6);
}

// A hang: nothing helps but the time-out.
TEST(Aftermath, WhatDoesNotHelpIsNotAdvised) {
  auto const all = remedies(one_stops(Stop::hangs), two_hours(), launched(LauncherKind::ray), kSize, 1);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_NE(all[0].what.find("timeout"), std::string::npos);
  EXPECT_TRUE(
      remedies(one_stops(Stop::hangs, GroupTimer::none), {}, launched(LauncherKind::ray), kSize, 1).empty());
}

// Where it never ends, what is saved has no bound.
TEST(Aftermath, ARemedyOfWhatNeverEndsSavesWithoutBound) {
  auto const all =
      remedies(one_stops(Stop::exited, GroupTimer::none), {}, launched(LauncherKind::none), kSize, 1);
  ASSERT_EQ(all.size(), 2u);
  for (Remedy const& r : all) EXPECT_DOUBLE_EQ(r.saved.value, 0);
}

Stall random_stall(std::uint64_t i) {
  std::uint32_t n = 0;
  auto const below = [&](int most) { return static_cast<int>(uniform({14, Purpose::fault, n++, i}) * most); };
  Stall s;
  s.at = Seconds(below(1000));
  s.cause = "something stops";
  int const groups = 1 + below(3);
  for (int g = 0; g < groups; ++g) {
    StalledGroup group{"g" + std::to_string(g), "ALLREDUCE", below(9), static_cast<GroupTimer>(below(3)), {}};
    if (below(3) == 0) group.timeout = Seconds(1 + below(2000));
    s.groups.push_back(group);
  }
  int const ranks = below(12);
  for (int r = 0; r < ranks; ++r) {
    if (below(4) == 0) {
      s.missing.push_back({0, r, static_cast<Stop>(below(3)), s.at + Seconds(below(3))});
    } else {
      s.waiting.push_back({below(2), r, below(groups), s.at + Seconds(below(400) - 0.5)});
    }
  }
  return s;
}

// Whatever stops and whoever waits: the story is in order and ends with the end; remedies end it sooner.
TEST(Aftermath, HoldsTogetherForRandomStalls) {
  int ended = 0;
  for (std::uint64_t i = 0; i < 3'000; ++i) {
    Stall const s = random_stall(i);
    auto const pick = [&](std::uint32_t what) { return uniform({15, Purpose::fault, what, i}); };
    WatchdogOptions w;
    w.timeout = Seconds(1 + 3000 * pick(0));
    w.error_handling = static_cast<ErrorHandling>(static_cast<int>(4 * pick(1)));
    w.dump_on_timeout = pick(2) < 0.5;
    w.monitoring = pick(3) < 0.5;
    w.abort_hangs = pick(4) < 0.5;
    w.worker_heartbeat = Seconds(pick(5) < 0.5 ? 0 : 1000 * pick(6));
    LauncherOptions const l = launched(static_cast<LauncherKind>(static_cast<int>(3 * pick(7))));
    JobSize const size{16, 1 + static_cast<int>(2 * pick(8)), {"train", "rollout"}};
    Aftermath const a = aftermath(s, w, l, size, i);
    expect_told_in_order(a);
    if (a.ended) {
      ++ended;
      EXPECT_GE(*a.ended, s.at);
    }
    for (Remedy const& r : remedies(s, w, l, size, i)) {
      EXPECT_GE(r.saved.value, 0);
      EXPECT_LT(r.ended, a.ended.value_or(Seconds(1e9)));
    }
    if (HasFailure()) FAIL() << "stall " << i;
  }
  EXPECT_GT(ended, 1000);
}

}  // namespace
}  // namespace rollcast
