#include "models/scoring.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

namespace rollcast {
namespace {

std::vector<Seconds> times(std::vector<double> const& v) {
  std::vector<Seconds> result;
  for (double const t : v) result.push_back(seconds(t));
  return result;
}

std::vector<double> values(std::vector<Seconds> const& v) {
  std::vector<double> result;
  for (Seconds const t : v) result.push_back(t.value);
  return result;
}

RandomKey key(std::uint64_t index) { return {11, Purpose::score_time, 0, index}; }

// Arrivals and services in sixteenths of a second, so that sums are exact and ties are common.
struct Load {
  std::vector<Seconds> arrivals;
  std::vector<Seconds> services;
};
Load random_load(std::uint64_t seed, std::size_t count) {
  Load load;
  for (std::size_t i = 0; i < count; ++i) {
    auto const words = random_words({seed, Purpose::jitter, 0, i});
    load.arrivals.push_back(seconds(static_cast<double>(words[0] % 400) / 16));
    load.services.push_back(seconds(static_cast<double>(words[1] % 100) / 16));
  }
  return load;
}

TEST(Scoring, ByHand) {
  // Two workers. At 0: sample 1 until 4; at 1: sample 0 until 3; at 2: sample 2 waits until 3, ends at 4; at
  // 2 as well, but later in order: sample 3 waits until 4 (both workers are free then), ends at 9.
  auto const s = schedule_on_workers(times({1, 0, 2, 2}), times({2, 4, 1, 5}), 2);
  EXPECT_EQ(values(s.start), (std::vector<double>{1, 0, 3, 4}));
  EXPECT_EQ(values(s.finish), (std::vector<double>{3, 4, 4, 9}));
  EXPECT_EQ(s.waiting.value, 1 + 2);
  EXPECT_EQ(s.busy.value, 12);
  EXPECT_EQ(s.first_start.value, 0);
  EXPECT_EQ(s.last_finish.value, 9);
  EXPECT_DOUBLE_EQ(s.utilization(2), 12.0 / 18.0);
}

// n samples of service s at time 0 on w workers: sample i starts at floor(i / w) s.
TEST(Scoring, EqualServiceHasAClosedForm) {
  for (int const workers : {1, 3, 8, 200}) {
    std::vector<Seconds> const services(100, seconds(0.25));
    auto const s = schedule_on_workers(std::vector<Seconds>(100, seconds(10)), services, workers);
    double waiting = 0;
    for (int i = 0; i < 100; ++i) {
      EXPECT_EQ(s.finish[static_cast<std::size_t>(i)].value, 10 + 0.25 * (i / workers + 1));
      waiting += 0.25 * (i / workers);
    }
    EXPECT_EQ(s.waiting.value, waiting);
    EXPECT_EQ(s.busy.value, 25.0);
  }
}

TEST(Scoring, EarlyArrivalsAtASteadyPaceNeverWait) {
  // One each second, 2 s of service, 2 workers: each is free again just in time.
  auto const s = schedule_on_workers(times({0, 1, 2, 3, 4}), std::vector<Seconds>(5, seconds(2)), 2);
  EXPECT_EQ(s.waiting.value, 0);
  EXPECT_EQ(s.last_finish.value, 6);
}

TEST(Scoring, WorkIsConserved) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Load const load = random_load(seed, 120);
    int const workers = 1 + static_cast<int>(seed % 7);
    auto const s = schedule_on_workers(load.arrivals, load.services, workers);
    double busy = 0;
    double waiting = 0;
    for (std::size_t i = 0; i < load.arrivals.size(); ++i) {
      EXPECT_GE(s.start[i], load.arrivals[i]);
      EXPECT_EQ(s.finish[i].value, (s.start[i] + load.services[i]).value);
      busy += load.services[i].value;
      waiting += (s.start[i] - load.arrivals[i]).value;
      // At the start of i at most `workers` are in service, and right before a delayed start all of them.
      int in_service = 0;
      int just_before = 0;
      for (std::size_t j = 0; j < load.arrivals.size(); ++j) {
        in_service += s.start[j] <= s.start[i] && s.finish[j] > s.start[i];
        just_before += s.start[j] < s.start[i] && s.finish[j] >= s.start[i];
      }
      EXPECT_LE(in_service, workers);
      if (s.start[i] > load.arrivals[i]) {
        EXPECT_GE(just_before, workers);
      }
      // First come, first served.
      for (std::size_t j = 0; j < i; ++j) {
        if (load.arrivals[j] <= load.arrivals[i]) {
          EXPECT_LE(s.start[j], s.start[i]);
        } else {
          EXPECT_GE(s.start[j], s.start[i]);
        }
      }
    }
    EXPECT_EQ(s.busy.value, busy);
    EXPECT_EQ(s.waiting.value, waiting);
    EXPECT_LE(s.utilization(workers), 1.0);
  }
}

TEST(Scoring, MoreWorkersEarlierArrivalsAndShorterServicesNeverDelay) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Load const load = random_load(seed, 100);
    int const workers = 1 + static_cast<int>(seed % 5);
    auto const s = schedule_on_workers(load.arrivals, load.services, workers);
    auto const wider = schedule_on_workers(load.arrivals, load.services, workers + 1);
    std::vector<Seconds> shorter = load.services;
    for (Seconds& t : shorter) t *= 0.5;
    auto const faster = schedule_on_workers(load.arrivals, shorter, workers);
    for (std::size_t i = 0; i < load.arrivals.size(); ++i) {
      EXPECT_LE(wider.finish[i], s.finish[i]);
      EXPECT_LE(faster.finish[i], s.finish[i]);
    }
  }
}

TEST(Scoring, OverlapHidesAllButTheLast) {
  // Samples end generation at 1, 2, ... 10 s; a rule takes 0.5 s in the driver. Overlapped only the last
  // score is exposed; without it all ten are.
  std::vector<Seconds> completions;
  for (int i = 1; i <= 10; ++i) completions.push_back(seconds(i));
  ScoreWorkers s{1, {FixedTime{seconds(0.5)}, {}}, true};
  ScoredSamples const hidden = score(s, completions, key(0));
  EXPECT_EQ(hidden.exposed.value, 0.5);
  EXPECT_EQ(hidden.schedule.waiting.value, 0);
  s.overlap = false;
  ScoredSamples const serial = score(s, completions, key(0));
  EXPECT_EQ(serial.exposed.value, 5.0);
  EXPECT_EQ(serial.schedule.first_start.value, 10.0);
  EXPECT_DOUBLE_EQ(serial.schedule.utilization(1), 1.0);
}

TEST(Scoring, ATimedOutSampleOccupiesItsWorkerUntilTheTimeOut) {
  ScoreWorkers const s{1, {FixedTime{seconds(100)}, seconds(30)}, false};
  ScoredSamples const scored = score(s, times({0, 0, 0}), key(0));
  EXPECT_EQ(scored.timed_out, 3U);
  EXPECT_EQ(values(scored.schedule.finish), (std::vector<double>{30, 60, 90}));
}

TEST(Scoring, DrawsAreKeyedBySample) {
  ScoreWorkers const s{1000, fit_lognormal_time(seconds(2), seconds(5), seconds(30)).times, false};
  std::vector<Seconds> const at_once(500, seconds(0));
  ScoredSamples const all = score(s, at_once, key(0));
  ScoredSamples const half = score(s, std::vector<Seconds>(250, seconds(0)), key(250));
  // A worker for each: the finish is the draw itself.
  for (std::size_t i = 0; i < 250; ++i)
    EXPECT_EQ(half.schedule.finish[i].value, all.schedule.finish[i + 250].value);
  EXPECT_EQ(all.timed_out,
            static_cast<std::size_t>(std::count_if(all.schedule.finish.begin(), all.schedule.finish.end(),
                                                   [](Seconds t) { return t >= seconds(30); })));
}

TEST(Scoring, EmptyAndBroken) {
  EXPECT_TRUE(schedule_on_workers({}, {}, 4).finish.empty());
  EXPECT_EQ(schedule_on_workers({}, {}, 4).utilization(4), 0.0);
  EXPECT_EQ(score({}, {}, key(0)).exposed.value, 0.0);
  EXPECT_THROW(schedule_on_workers({}, {}, 0), std::logic_error);
  EXPECT_THROW(schedule_on_workers(times({1}), {}, 1), std::logic_error);
  EXPECT_THROW(schedule_on_workers(times({1}), times({-1}), 1), std::logic_error);
}

}  // namespace
}  // namespace rollcast
