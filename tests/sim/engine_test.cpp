#include "sim/engine.hpp"

#include <stdexcept>

#include "tests/sim/child_process.hpp"

namespace rollcast {
namespace {

using Numbers = std::vector<double>;

// Linux has mappings for about 32,000 stacks: 3 x 12,000 actors fit when those of ended ones are given back.
TEST(Engine, EndedActorsGiveTheirStacksBack) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "with the sanitizer each actor is a thread";
#endif
  in_child([] {
    Engine e;
    int ran = 0;
    e.spawn("driver", [&] {
      for (int wave = 0; wave < 3; ++wave) {
        for (int i = 0; i < 12'000; ++i) e.spawn("short", [&] { ++ran; });
        e.delay(seconds(1));
      }
    });
    e.run();
    EXPECT_EQ(ran, 36'000);
    return Numbers{};
  });
}

TEST(Engine, DelaysAreExactFarFromZero) {
  in_child([] {
    Engine e;
    e.spawn("sleeper", [&] {
      e.delay(seconds(1000));
      double const before = e.now().value;
      e.delay(us(3));
      EXPECT_NEAR(e.now().value - before, 3e-6, 1e-12);
    });
    e.run();
    return Numbers{};
  });
}

TEST(Engine, WaitUntilTellsAWakeFromADeadline) {
  in_child([] {
    Engine e;
    Wake wake;
    std::vector<double> times;
    std::vector<bool> woken;
    e.spawn("sleeper", [&] {
      for (double const deadline : {1.0, 5.0, 4.0}) {
        woken.push_back(e.wait_until(seconds(deadline), wake));
        times.push_back(e.now().value);
      }
    });
    e.spawn("waker", [&] {
      e.delay(seconds(2));
      e.wake(wake);
    });
    RunResult const r = e.run();
    EXPECT_EQ(woken, (std::vector<bool>{false, true, false}));
    EXPECT_EQ(times, (std::vector<double>{1, 2, 4}));
    EXPECT_NEAR(r.finished_at.value, 4, 0) << "the deadline of 5 s, overtaken by the wake, must not run";
    return Numbers{};
  });
}

TEST(Engine, AWakeBeforeTheWaitIsKept) {
  in_child([] {
    Engine e;
    Wake wake;
    e.spawn("waker", [&] {
      e.wake(wake);
      e.wake(wake);
    });
    e.spawn("sleeper", [&] {
      e.delay(seconds(1));
      EXPECT_TRUE(e.wait_until(seconds(9), wake));
      EXPECT_NEAR(e.now().value, 1, 0);
      EXPECT_FALSE(e.wait_until(seconds(2), wake)) << "two wakes are kept as one";
    });
    e.run();
    return Numbers{};
  });
}

// Falling asleep and being woken in the same round of actors, in both orders.
TEST(Engine, AWakeInTheSameInstantIsNotLost) {
  in_child([] {
    Engine e;
    Wake before, after;
    int woken = 0;
    e.spawn("waker of the first", [&] { e.wake(before); });
    e.spawn("sleeper", [&] {
      e.wait(before);
      ++woken;
      e.wait(after);
      ++woken;
    });
    e.spawn("waker of the second", [&] { e.wake(after); });
    RunResult const r = e.run();
    EXPECT_EQ(woken, 2);
    EXPECT_FALSE(r.deadlock);
    return Numbers{};
  });
}

TEST(Engine, SimultaneousEventsKeepTheirOrder) {
  in_child([] {
    Engine e;
    RouteId const way = e.route({e.add_link(GB_per_s(1))});
    std::vector<int> order;
    for (int i = 0; i < 50; ++i) e.flow(way, MB(1), "f", [&order, i] { order.push_back(i); });
    for (int i = 50; i < 100; ++i) e.at(seconds(1), [&order, i] { order.push_back(i); });
    for (int i = 100; i < 150; ++i) {
      e.spawn("a", [&e, &order, i] {
        e.delay(seconds(2));
        order.push_back(i);
      });
    }
    e.run();
    std::vector<int> expected(150);
    for (int i = 0; i < 150; ++i) expected[std::size_t(i)] = i;
    EXPECT_EQ(order, expected);
    return Numbers{};
  });
}

TEST(Engine, ACancelledAlarmDoesNotKeepTheClockRunning) {
  in_child([] {
    Engine e;
    bool ran = false;
    AlarmId const late = e.at(seconds(7200), [&] { ran = true; });
    e.spawn("worker", [&] {
      e.delay(seconds(3));
      e.cancel(late);
    });
    EXPECT_NEAR(e.run().finished_at.value, 3, 0);
    EXPECT_FALSE(ran);
    return Numbers{};
  });
}

struct Unwound {
  int& count;
  ~Unwound() { ++count; }
};

TEST(Engine, AKilledActorIsUnwoundAndForgotten) {
  in_child([] {
    Engine e;
    Wake wake;
    int unwound = 0, after = 0;
    RouteId const way = e.route({e.add_link(GB_per_s(1))});
    FlowId const f = e.flow(way, GB(3));
    std::vector<ActorId> victims;
    victims.push_back(e.spawn("on a delay", [&] {
      Unwound const u{unwound};
      e.delay(seconds(9));
      ++after;
    }));
    victims.push_back(e.spawn("on a wake", [&] {
      Unwound const u{unwound};
      e.wait(wake);
      ++after;
    }));
    victims.push_back(e.spawn("on a flow", [&] {
      Unwound const u{unwound};
      e.wait_any(std::span(&f, 1));
      ++after;
    }));
    e.spawn("killer", [&] {
      e.delay(seconds(1));
      for (ActorId const v : victims) e.kill(v);
      e.delay(seconds(1));
      EXPECT_EQ(unwound, 3);
      e.wake(wake);
      e.kill(victims[0]);
    });
    RunResult const r = e.run();
    EXPECT_EQ(after, 0);
    EXPECT_TRUE(r.leftovers.empty());
    EXPECT_NEAR(r.finished_at.value, 3, 2e-9) << "the flow goes on; the delay of 9 s is gone";
    return Numbers{};
  });
}

TEST(Engine, AnActorCanBeKilledBeforeItStarts) {
  in_child([] {
    Engine e;
    Wake never;
    ActorId const early = e.spawn("early", [] { ADD_FAILURE() << "killed before run()"; });
    e.kill(early);
    e.spawn("parent", [&] {
      e.delay(seconds(1));
      e.kill(e.spawn("late", [] {}));
      e.wait(never);
    });
    RunResult const r = e.run();
    EXPECT_EQ(r.leftovers, std::vector<std::string>{"actor parent"});
    return Numbers{};
  });
}

TEST(Engine, ADeadlockIsReportedByName) {
  in_child([] {
    Engine e;
    Wake never;
    int unwound = 0;
    e.spawn("waits for ever", [&] {
      Unwound const u{unwound};
      e.wait(never);
    });
    e.spawn("ends", [&] { e.delay(seconds(2)); });
    RunResult const r = e.run();
    EXPECT_TRUE(r.deadlock);
    EXPECT_EQ(r.leftovers, std::vector<std::string>{"actor waits for ever"});
    EXPECT_NEAR(r.finished_at.value, 2, 0);
    EXPECT_EQ(unwound, 1);
    return Numbers{};
  });
}

TEST(Engine, NothingIsPrinted) {
  in_child([] {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    Engine e;
    Wake never;
    e.spawn("waits for ever", [&] { e.wait(never); });
    e.run();
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    return Numbers{};
  });
}

TEST(Engine, AnExceptionInAnActorLeavesRun) {
  in_child([] {
    Engine e;
    Wake never;
    int unwound = 0, ran = 0;
    RouteId const way = e.route({e.add_link(GB_per_s(1))});
    e.flow(way, GB(9), "f", [&] { ++ran; });
    e.at(seconds(2), [&] { ++ran; });
    e.spawn("other", [&] {
      Unwound const u{unwound};
      e.wait(never);
    });
    e.spawn("thrower", [&] {
      e.delay(seconds(1));
      throw std::runtime_error("from an actor");
    });
    try {
      e.run();
      ADD_FAILURE() << "no exception";
    } catch (std::runtime_error const& x) {
      EXPECT_STREQ(x.what(), "from an actor");
    }
    EXPECT_EQ(unwound, 1);
    EXPECT_EQ(ran, 0);
    return Numbers{};
  });
}

TEST(Engine, AnExceptionInACallbackLeavesRun) {
  in_child([] {
    Engine e;
    e.spawn("other", [&] { e.delay(seconds(9)); });
    e.at(seconds(1), [] { throw std::runtime_error("from a callback"); });
    EXPECT_THROW(e.run(), std::runtime_error);
    EXPECT_NEAR(e.now().value, 1, 0);
    return Numbers{};
  });
}

TEST(Engine, ActorsSpawnActors) {
  in_child([] {
    Engine e;
    std::vector<double> starts;
    e.spawn("parent", [&] {
      e.delay(seconds(1));
      for (int i = 0; i < 3; ++i) {
        e.spawn("child", [&] {
          starts.push_back(e.now().value);
          e.delay(seconds(1));
        });
      }
    });
    EXPECT_NEAR(e.run().finished_at.value, 2, 0);
    EXPECT_EQ(starts, (std::vector<double>{1, 1, 1}));
    return Numbers{};
  });
}

TEST(Engine, BrokenContractsThrow) {
  in_child([] {
    Engine e;
    LinkClassId const a = e.add_link(GB_per_s(1));
    EXPECT_THROW(e.add_link(GB_per_s(0)), std::logic_error);
    EXPECT_THROW(e.route({}), std::logic_error);
    EXPECT_THROW(e.route({a, a}), std::logic_error);
    EXPECT_THROW(e.route({LinkClassId{7}}), std::logic_error);
    EXPECT_THROW(e.flow(e.route({a}), bytes(0)), std::logic_error) << "SimGrid would never start it";
    EXPECT_THROW(e.delay(seconds(1)), std::logic_error) << "outside an actor";
    EXPECT_THROW(Engine(), std::logic_error) << "one per process";
    e.run();
    EXPECT_THROW(e.run(), std::logic_error);
    return Numbers{};
  });
}

}  // namespace
}  // namespace rollcast
