// A whole asynchronous run, the fleet with an admission rule: what is conserved, and its staleness.
#include "tests/models/async_loop.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "tests/models/random_rollouts.hpp"

namespace rollcast {
namespace {

TEST(AsyncLoopProperty, EachSampleIsGeneratedOnceTrainedAtMostOnceAndNeverNewerThanItsPolicy) {
  std::int64_t interrupted = 0;
  std::int64_t rejected = 0;
  std::int64_t stale = 0;
  for (std::uint64_t seed = 0; seed < 400 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Draw d{seed};
    RandomWorkload const w = random_workload(d);
    AdmissionOptions o;
    o.rule = static_cast<QueueRule>(d.whole(0, 3));
    o.batch = d.whole(1, 5);
    o.batches_per_update = d.whole(1, 3);
    o.max_staleness = o.rule == QueueRule::verl ? 2 * d.real() : d.whole(0, 3);
    o.engines = d.whole(1, 4);
    o.finish_before_update = d.often(0.4);
    FleetOptions f{static_cast<int>(o.engines), static_cast<EngineBalance>(d.whole(0, 3))};
    if (d.often(0.3)) f.most_in_flight = d.whole(1, 8);
    if (d.often(0.2)) f.feed = d.whole(1, 8);
    double const part_rejected = d.often(0.5) ? 0.2 : 0.0;
    double const pace = 60 * d.real();
    AsyncLoop loop(RolloutFleet(f, w.options, w.kv_blocks, w.prices), Admission(o));
    loop.group_size = d.whole(1, 4);
    loop.at_update = static_cast<AtUpdate>(d.whole(0, 2));
    loop.request = [&](std::int64_t id) {
      RandomKey key{seed, Purpose::response_length, 0, static_cast<std::uint64_t>(id)};
      std::int64_t const group = id / loop.group_size;
      int const prompt = w.group_prompts[static_cast<std::size_t>(group) % w.group_prompts.size()];
      return Request{id, group, prompt, 1 + static_cast<int>(uniform(key) * (w.longest_response - 1))};
    };
    loop.reject = [&](std::int64_t group) {
      return uniform({seed, Purpose::fault, 0, static_cast<std::uint64_t>(group)}) < part_rejected;
    };
    loop.train_time = [&](std::int64_t) { return seconds(pace * d.real()); };
    loop.sync_time = [&](std::int64_t) { return seconds(5 * d.real()); };
    loop.start_delay = [](std::int64_t) { return seconds(0); };
    loop.run(12);

    std::int64_t trained = 0;
    std::int64_t running = 0;
    std::int64_t queued = 0;
    std::int64_t live = 0;
    for (auto const& [number, g] : loop.groups) {
      rejected += g.rejected;
      trained += g.trained_by >= 0;
      running += g.finished < loop.group_size;
      queued += g.finished == loop.group_size && !g.rejected && g.trained_by < 0;
      live += loop.group_size - g.finished;
      if (g.trained_by < 0) continue;
      EXPECT_LE(g.ticket.version, g.oldest);
      EXPECT_LE(g.oldest, g.trained_by);
      EXPECT_LE(g.trained_by, static_cast<std::int64_t>(loop.updates.size()));
      stale += g.trained_by > g.ticket.version;
      bool const bounded = o.rule == QueueRule::slime || o.rule == QueueRule::nemo_rl;
      EXPECT_TRUE(!bounded || g.trained_by - g.ticket.version <= loop.admission.staleness_bound());
    }
    for (auto const& [id, s] : loop.samples) {
      interrupted += s.interruptions;
      EXPECT_TRUE(s.finished == 0 || s.generated == loop.request(id).response_tokens);
      EXPECT_TRUE(s.interruptions == 0 || !o.finish_before_update);
    }
    EXPECT_EQ(trained, 12 * o.batch);
    EXPECT_EQ(total(loop.staleness), 12 * o.batch * loop.group_size);
    EXPECT_EQ(running, loop.admission.running());
    EXPECT_EQ(queued, loop.admission.queued());
    EXPECT_EQ(live, loop.fleet.in_flight());
  }
  EXPECT_GT(interrupted, 1000);
  EXPECT_GT(rejected, 100);
  EXPECT_GT(stale, 1000);
}

// One sample a group, steps of one second and responses of S tokens, staggered evenly; updates that interrupt
// nothing.
AsyncLoop toy_loop(FixedService const& toy, int engines, AdmissionOptions const& o) {
  EngineOptions e;
  e.max_num_seqs = 1000;
  StepPrices p;
  p.fixed = seconds(1);
  AsyncLoop loop(RolloutFleet({engines, EngineBalance::round_robin}, e, 100'000, p), Admission(o));
  int const service = static_cast<int>(toy.service.value);
  loop.request = [=](std::int64_t id) { return Request{id, -1, 1, service}; };
  loop.reject = [](std::int64_t) { return false; };
  loop.train_time = [=](std::int64_t) { return toy.update; };
  loop.sync_time = [](std::int64_t) { return seconds(0); };
  loop.start_delay = [=](std::int64_t group) {
    double const gap = toy.service.value / static_cast<double>(toy.in_flight);
    return group < toy.in_flight ? seconds(gap * static_cast<double>(group)) : seconds(0);
  };
  return loop;
}

TEST(AsyncLoop, MeanStalenessOfTheToyIsItsClosedForm) {
  // in flight, batch, service, update; service a multiple of what is in flight, so that starts are whole
  // seconds.
  for (FixedService const toy : {FixedService{2, 2, seconds(4), seconds(1)},
                                 {6, 4, seconds(12), seconds(0.5)},
                                 {6, 4, seconds(12), seconds(8)},
                                 {20, 5, seconds(60), seconds(7.5)},
                                 {1, 3, seconds(9), seconds(20)},
                                 {40, 8, seconds(40), seconds(6)}}) {
    SCOPED_TRACE(toy.in_flight);
    for (int engines : {1, 3}) {
      AdmissionOptions o;
      o.rule = QueueRule::areal;
      o.batch = toy.batch;
      o.max_staleness = 100;  // leaves the limit to max_concurrent
      o.max_concurrent = toy.in_flight;
      AsyncLoop loop = toy_loop(toy, engines, o);
      loop.run(100);
      StalenessCounts late;  // without the start, where versions below 0 are missing
      for (auto const& [number, g] : loop.groups) {
        if (g.trained_by >= 50) add(late, g.ticket.version, g.trained_by);
      }
      EXPECT_EQ(total(late), 50 * toy.batch);
      EXPECT_DOUBLE_EQ(mean(late), mean_staleness(toy));
    }
  }
}

// A trainer that is always behind: AReaL's rule lets (eta + 1) V start at once, and from then on V with each
// version v, which are trained by version v + eta: all are eta old.
TEST(AsyncLoop, BehindATrainerThatIsBusyArealsSamplesAreAsOldAsAllowed) {
  for (int eta : {0, 1, 3}) {
    FixedService const toy{1, 4, seconds(3), seconds(50)};
    AdmissionOptions o;
    o.rule = QueueRule::areal;
    o.batch = toy.batch;
    o.max_staleness = eta;
    o.max_concurrent = 1000;
    AsyncLoop loop = toy_loop(toy, 2, o);
    loop.start_delay = [](std::int64_t) { return seconds(0); };
    loop.run(30);
    for (auto const& [number, g] : loop.groups) {
      if (g.trained_by < 0) continue;
      EXPECT_EQ(g.trained_by - g.ticket.version, std::min<std::int64_t>(eta, g.trained_by)) << number;
    }
  }
}

}  // namespace
}  // namespace rollcast
