#include <utility>

#include "sim/engine.hpp"
#include "tests/sim/child_process.hpp"

namespace rollcast {
namespace {

using Numbers = std::vector<double>;

// 1 GB over 1 GB/s: 1 s, from the moment it starts.
TEST(EngineFlows, AFlowAloneTakesBytesOverCapacity) {
  in_child([] {
    Engine e;
    LinkClassId const link = e.add_link(GB_per_s(1));
    e.spawn("sender", [&] {
      e.delay(seconds(0.25));
      FlowId const f = e.flow({link}, GB(1));
      EXPECT_EQ(e.wait_any(std::span(&f, 1)), 0u);
      EXPECT_NEAR(e.now().value, 1.25, 2e-9);
    });
    RunResult const r = e.run();
    EXPECT_TRUE(r.leftovers.empty());
    EXPECT_FALSE(r.deadlock);
    EXPECT_NEAR(r.finished_at.value, 1.25, 2e-9);
    return Numbers{};
  });
}

// Two flows of 1 GB and 3 GB on 2 GB/s. Each gets 1 GB/s until the small one ends at 1 s; the other then has
// 2 GB left at 2 GB/s, so it ends at 2 s.
TEST(EngineFlows, FlowsShareALinkEqually) {
  in_child([] {
    Engine e;
    RouteId const way = e.route({e.add_link(GB_per_s(2))});
    double small = 0, large = 0;
    e.flow(way, GB(1), "small", [&] { small = e.now().value; });
    e.flow(way, GB(3), "large", [&] { large = e.now().value; });
    e.run();
    EXPECT_NEAR(small, 1, 2e-9);
    EXPECT_NEAR(large, 2, 2e-9);
    return Numbers{};
  });
}

// Links a: 1 GB/s, b: 10 GB/s. Flow 1 over a and b is held to 1 by a; flow 2 over b gets the other 9:
// 9 GB each, so flow 2 ends at 1 s and flow 1 at 9 s.
TEST(EngineFlows, SharesAreMaxMinFair) {
  in_child([] {
    Engine e;
    LinkClassId const a = e.add_link(GB_per_s(1)), b = e.add_link(GB_per_s(10));
    double first = 0, second = 0;
    e.flow(e.route({a, b}), GB(9), "1", [&] { first = e.now().value; });
    e.flow(e.route({b}), GB(9), "2", [&] { second = e.now().value; });
    e.run();
    EXPECT_NEAR(first, 9, 2e-9);
    EXPECT_NEAR(second, 1, 2e-9);
    return Numbers{};
  });
}

// 1 GB/s halved at 1 s: of 2 GB, 1 GB is left, which takes 2 s more.
TEST(EngineFlows, ASlowedLinkSlowsFlowsUnderWay) {
  in_child([] {
    Engine e;
    LinkClassId const link = e.add_link(GB_per_s(1));
    double end = 0;
    e.flow(e.route({link}), GB(2), "f", [&] { end = e.now().value; });
    e.at(seconds(1), [&] { e.set_capacity(link, GB_per_s(0.5)); });
    e.run();
    EXPECT_NEAR(end, 3, 2e-9);
    return Numbers{};
  });
}

TEST(EngineFlows, WaitAnyTellsTheFirstThatEnds) {
  in_child([] {
    Engine e;
    RouteId const slow = e.route({e.add_link(GB_per_s(1))}), fast = e.route({e.add_link(GB_per_s(2))});
    e.spawn("waiter", [&] {
      std::vector<FlowId> flows{e.flow(slow, GB(1)), e.flow(fast, GB(1))};
      EXPECT_EQ(e.wait_any(flows), 1u);
      EXPECT_NEAR(e.now().value, 0.5, 2e-9);
      EXPECT_TRUE(e.is_done(flows[1]));
      EXPECT_FALSE(e.is_done(flows[0]));
      flows.pop_back();
      EXPECT_EQ(e.wait_any(flows), 0u);
      EXPECT_NEAR(e.now().value, 1, 2e-9);
      EXPECT_EQ(e.wait_any(flows), 0u) << "done already: at once";
    });
    EXPECT_FALSE(e.run().deadlock);
    return Numbers{};
  });
}

// Two of 1 GB on 1 GB/s; one cancelled at 0.5 s has moved 0.25 GB; the other has 0.75 GB left and ends at
// 0.5 + 0.75 = 1.25 s.
TEST(EngineFlows, ACancelledFlowGivesItsShareBack) {
  in_child([] {
    Engine e;
    RouteId const way = e.route({e.add_link(GB_per_s(1))});
    double end = 0;
    bool ran = false;
    e.flow(way, GB(1), "stays", [&] { end = e.now().value; });
    FlowId const f = e.flow(way, GB(1), "goes", [&] { ran = true; });
    e.spawn("waiter", [&] {
      e.wait_any(std::span(&f, 1));
      EXPECT_NEAR(e.now().value, 0.5, 0);
    });
    e.at(seconds(0.5), [&] { e.cancel(f); });
    EXPECT_TRUE(e.run().leftovers.empty());
    EXPECT_NEAR(end, 1.25, 2e-9);
    EXPECT_FALSE(ran);
    return Numbers{};
  });
}

TEST(EngineFlows, RoutesCanBeAddedWhileItRuns) {
  in_child([] {
    Engine e;
    LinkClassId const a = e.add_link(GB_per_s(1)), b = e.add_link(GB_per_s(2)), c = e.add_link(GB_per_s(4));
    e.reserve_routes(1);
    EXPECT_EQ(e.route({a, b}), e.route({b, a}));
    e.spawn("late", [&] {
      e.delay(seconds(1));
      FlowId const f = e.flow(e.route({b, c}), GB(2));
      e.wait_any(std::span(&f, 1));
      EXPECT_NEAR(e.now().value, 2, 2e-9);
      EXPECT_THROW(e.route({a, b, c}), std::logic_error) << "one spare route only";
    });
    e.run();
    return Numbers{};
  });
}

// What is sent is what arrives: with n flows of random size on one link that is never idle, the last end is
// the sum of the bytes over the capacity, and no prefix of ends can beat it.
TEST(EngineFlows, ALinkNeverCarriesMoreThanItsCapacity) {
  in_child([] {
    Engine e;
    RouteId const way = e.route({e.add_link(GB_per_s(1))});
    std::vector<std::pair<double, double>> ends;  // time, bytes
    std::uint64_t x = 12345;
    double total = 0;
    for (int i = 0; i < 200; ++i) {
      x = x * 6364136223846793005u + 1442695040888963407u;
      double const size = 1e6 + static_cast<double>(x >> 40);
      total += size;
      e.flow(way, bytes(size), "f", [&ends, &e, size] { ends.emplace_back(e.now().value, size); });
    }
    e.run();
    double moved = 0;
    for (auto const& [time, size] : ends) {
      moved += size;
      EXPECT_LE(moved, 1e9 * (time + 200e-9));
    }
    EXPECT_NEAR(ends.back().first, total / 1e9, 200e-9);
    return Numbers{};
  });
}

}  // namespace
}  // namespace rollcast
