#include "models/admission.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <vector>

#include "tests/models/random_rollouts.hpp"

namespace rollcast {
namespace {

std::vector<Ticket> start_all(Admission& a) {
  std::vector<Ticket> started;
  while (a.may_start() > 0) started.push_back(a.start());
  return started;
}

std::vector<std::int64_t> numbers(std::vector<Ticket> const& tickets) {
  std::vector<std::int64_t> n;
  for (Ticket const& t : tickets) n.push_back(t.number);
  return n;
}

void update(Admission& a) {
  a.want_update();
  a.update();
}

TEST(Admission, VerlCountsPerVersionAndCarriesOver) {
  // V = 4 x 2 = 8, cap = whole part of 8 x 1.5 = 12; 16 x 1 engine may run, but no more than the cap.
  Admission a({.rule = QueueRule::verl, .batch = 4, .batches_per_update = 2, .max_staleness = 0.5});
  EXPECT_EQ(a.may_start(), 12);
  std::vector<Ticket> t = start_all(a);
  EXPECT_EQ(t.size(), 12U);
  for (int i : {5, 3, 4, 2, 6, 7, 8}) a.finish(t[static_cast<std::size_t>(i)]);
  EXPECT_EQ(numbers(a.take()), (std::vector<std::int64_t>{5, 3, 4, 2}));  // in order of finish
  EXPECT_EQ(a.may_start(), 0);                                            // counted, though few are left
  EXPECT_TRUE(a.take().empty());                                          // 3 are queued
  a.finish(t[9]);
  EXPECT_FALSE(a.take().empty());
  EXPECT_TRUE(a.update_is_due());
  a.finish(t[0]);
  update(a);
  // 3 run and 1 is queued: 12 - 4.
  EXPECT_EQ(a.may_start(), 8);
  EXPECT_EQ(a.staleness_bound(), 1);
}

TEST(Admission, VerlRunsSixteenGroupsPerEngine) {
  Admission a(
      {.rule = QueueRule::verl, .batch = 100, .batches_per_update = 1, .max_staleness = 0.1, .engines = 3});
  EXPECT_EQ(a.may_start(), 48);
  Ticket const t = a.start();
  EXPECT_EQ(a.may_start(), 47);
  a.finish(t);
  EXPECT_EQ(a.may_start(), 48);
  Admission limited({.rule = QueueRule::verl, .batch = 100, .max_staleness = 0.1, .max_concurrent = 500});
  EXPECT_EQ(limited.may_start(), 110);  // 100 x 1.1
}

TEST(Admission, ArealLeavesRoomForSoManyVersions) {
  Admission a({.rule = QueueRule::areal, .batch = 4, .max_staleness = 2, .max_concurrent = 100});
  EXPECT_EQ(a.may_start(), 12);  // (2 + 0 + 1) x 4
  std::vector<Ticket> t = start_all(a);
  a.reject(t[11]);
  EXPECT_EQ(a.may_start(), 1);  // rejected ones leave the count
  for (int i : {7, 6, 5, 4, 3}) a.finish(t[static_cast<std::size_t>(i)]);
  EXPECT_EQ(a.may_start(), 1);                                            // accepted ones do not
  EXPECT_EQ(numbers(a.take()), (std::vector<std::int64_t>{3, 4, 5, 6}));  // who started first
  EXPECT_TRUE(a.take().empty());
  update(a);
  EXPECT_EQ(a.may_start(), 5);
  EXPECT_EQ(Admission({.rule = QueueRule::areal, .batch = 4, .max_staleness = 2}).may_start(), 4);
}

TEST(Admission, SlimeIsAtMostOneBatchAhead) {
  Admission a({.rule = QueueRule::slime, .batch = 3});
  std::vector<Ticket> t = start_all(a);
  ASSERT_EQ(t.size(), 3U);
  a.finish(t[2]);
  a.reject(t[1]);
  EXPECT_EQ(a.may_start(), 1);  // its place
  a.finish(t[0]);
  EXPECT_TRUE(a.take().empty());
  a.finish(a.start());
  EXPECT_EQ(numbers(a.take()), (std::vector<std::int64_t>{2, 0, 3}));
  std::vector<Ticket> next = start_all(a);  // before the training of the first
  ASSERT_EQ(next.size(), 3U);
  a.want_update();
  EXPECT_FALSE(a.may_update());
  EXPECT_THROW(a.update(), std::logic_error);
  for (Ticket const& n : next) a.finish(n);
  EXPECT_TRUE(a.may_update());
  a.update();
  EXPECT_EQ(a.version(), 1);
  for (Ticket const& n : a.take()) EXPECT_EQ(n.version, 0);
}

TEST(Admission, NemoRlKeepsEachBatchForItsStep) {
  Admission a({.rule = QueueRule::nemo_rl, .batch = 2, .max_staleness = 2});
  EXPECT_EQ(a.may_start(), 4);  // 2 x 2 may run; batches 0, 1 and 2 may start
  std::vector<Ticket> t = start_all(a);
  EXPECT_EQ(t[3].batch, 1);
  a.finish(t[2]);
  a.finish(t[3]);
  EXPECT_TRUE(a.take().empty());  // batch 1 has to wait for its step
  EXPECT_EQ(a.may_start(), 2);
  t = {t[0], t[1], a.start(), a.start()};
  EXPECT_EQ(t[3].batch, 2);
  EXPECT_EQ(a.may_start(), 0);
  a.reject(t[0]);
  Ticket const again = a.start();
  EXPECT_EQ(again.batch, 0);
  a.finish(t[1]);
  EXPECT_TRUE(a.take().empty());
  a.finish(again);
  EXPECT_EQ(numbers(a.take()), (std::vector<std::int64_t>{1, again.number}));
  EXPECT_EQ(a.may_start(), 0);
  update(a);
  EXPECT_EQ(a.may_start(), 2);  // batch 3
  EXPECT_EQ(numbers(a.take()), (std::vector<std::int64_t>{2, 3}));
  // No age: one at a time, of the step that waits for it.
  Admission none({.rule = QueueRule::nemo_rl, .batch = 2});
  EXPECT_EQ(none.may_start(), 1);
}

TEST(Admission, NothingStartsWhileAnUpdateIsWanted) {
  Admission a({.rule = QueueRule::areal, .batch = 2, .max_staleness = 1, .finish_before_update = true});
  Ticket const first = a.start();
  a.want_update();
  EXPECT_EQ(a.may_start(), 0);
  EXPECT_FALSE(a.may_update());
  a.finish(first);
  EXPECT_TRUE(a.may_update());
}

TEST(Admission, RefusesWhatCannotBe) {
  EXPECT_THROW(Admission({.rule = QueueRule::areal}), std::logic_error);
  EXPECT_THROW(Admission({.rule = QueueRule::areal, .batch = 1, .max_staleness = 0.5}), std::logic_error);
  EXPECT_THROW(Admission({.rule = QueueRule::verl, .batch = 1, .max_staleness = -1}), std::logic_error);
  Admission a({.rule = QueueRule::nemo_rl, .batch = 1});
  EXPECT_THROW(a.update(), std::logic_error);
  Ticket const t = a.start();
  EXPECT_THROW(a.start(), std::logic_error);
  a.finish(t);
  EXPECT_THROW(a.finish(t), std::logic_error);
}

// Random order of finish, rejections, trainer and updates: no group is lost or taken twice, nothing gets
// stuck, and staleness stays within its bound (verl, AReaL: unless overtaken).
TEST(AdmissionProperty, ConservesGroupsAndBoundsTheirStaleness) {
  for (std::uint64_t seed = 0; seed < 3000 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Draw d{seed};
    AdmissionOptions o;
    o.rule = static_cast<QueueRule>(d.whole(0, 3));
    o.batch = d.whole(1, 6);
    o.batches_per_update = d.whole(1, 3);
    o.max_staleness = o.rule == QueueRule::verl ? 3 * d.real() : d.whole(0, 4);
    o.max_concurrent = d.often(0.5) ? d.whole(1, 20) : 0;
    o.engines = d.whole(1, 3);
    o.finish_before_update = d.often(0.3);
    bool const in_order = d.often(0.3);
    double const rejected = d.often(0.5) ? 0.2 : 0.0;
    Admission a(o);
    std::vector<Ticket> running;
    std::set<std::int64_t> over;  // taken or rejected
    std::int64_t taken = 0;
    for (int i = 0; i < 400; ++i) {
      ASSERT_EQ(a.running(), static_cast<std::int64_t>(running.size()));
      ASSERT_EQ(a.started(), a.running() + a.queued() + static_cast<std::int64_t>(over.size()));
      if (a.may_start() > 0 && d.often(0.6)) {
        running.push_back(a.start());
        ASSERT_EQ(running.back().version, a.version());
      } else if (!running.empty() && d.often(0.6)) {
        auto const which = in_order ? 0 : d.whole(0, static_cast<int>(running.size()) - 1);
        Ticket const t = running[static_cast<std::size_t>(which)];
        running.erase(running.begin() + which);
        if (d.often(rejected)) {
          a.reject(t);
          over.insert(t.number);
        } else {
          a.finish(t);
        }
      } else if (a.update_is_due()) {
        EXPECT_TRUE(a.take().empty());
        a.want_update();
        if (a.may_update()) {
          a.update();
        } else {
          ASSERT_TRUE(!running.empty() || a.may_start() > 0) << "stuck before an update";
        }
      } else if (std::vector<Ticket> const batch = a.take(); !batch.empty()) {
        ASSERT_EQ(static_cast<std::int64_t>(batch.size()), o.batch);
        for (Ticket const& t : batch) {
          EXPECT_TRUE(over.insert(t.number).second);
          std::int64_t const earlier =
              std::count_if(over.begin(), over.end(), [&](auto n) { return n < t.number; });
          std::int64_t const overtook =
              o.rule == QueueRule::verl || o.rule == QueueRule::areal
                  ? std::max<std::int64_t>(0, static_cast<std::int64_t>(over.size()) - 1 - earlier)
                  : 0;
          EXPECT_GE(a.version(), t.version);
          EXPECT_LE(a.version() - t.version,
                    a.staleness_bound() + (overtook + a.per_version() - 1) / a.per_version());
        }
        taken += o.batch;
      } else {
        ASSERT_TRUE(!running.empty() || a.may_start() > 0) << "stuck";
      }
    }
    EXPECT_GT(taken, 0);
  }
}

}  // namespace
}  // namespace rollcast
