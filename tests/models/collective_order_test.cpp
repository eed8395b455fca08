#include "models/collective_order.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "models/random.hpp"

namespace rollcast {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Each rank's collectives as (communicator, stream), all of one second; every rank is in every communicator.
CollectivePrograms programs(std::vector<std::vector<std::pair<int, int>>> const& ranks, int communicators,
                            std::optional<int> concurrent = {}) {
  CollectivePrograms p;
  p.names = {"all_reduce"};
  for (int c = 0; c < communicators; ++c)
    p.communicators.push_back({std::string(1, static_cast<char>('A' + c)), {}});
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    p.ranks.push_back({"rank " + std::to_string(r), {}, concurrent});
    for (CommunicatorGroup& c : p.communicators) c.members.push_back(static_cast<int>(r));
    for (auto const& [c, stream] : ranks[r]) p.ranks.back().issued.push_back({c, stream, 0, -1, seconds(1)});
  }
  return p;
}

constexpr std::pair<int, int> A0{0, 0}, A1{0, 1}, B0{1, 0}, B1{1, 1};

TEST(CollectiveOrder, OneOrderFinishes) {
  // A and B one after another: two seconds.
  CollectiveRun const r = run_collectives(programs({{A0, B0}, {A0, B0}}, 2));
  EXPECT_TRUE(r.finishes);
  EXPECT_DOUBLE_EQ(r.end.value, 2);
  EXPECT_THAT(r.stalled, IsEmpty());
  EXPECT_EQ(stall_sentence(programs({}, 0), r), "");
}

TEST(CollectiveOrder, TwoOrdersOnOneStreamAreACircle) {
  CollectivePrograms const p = programs({{A0, B0}, {B0, A0}}, 2);
  CollectiveRun const r = run_collectives(p);
  EXPECT_FALSE(r.finishes);
  ASSERT_EQ(r.stalled.size(), 2u);
  EXPECT_EQ(r.stalled[0].communicator, 0);
  ASSERT_EQ(r.stalled[0].waiting.size(), 1u);
  EXPECT_EQ(r.stalled[0].waiting[0].rank, 0);
  EXPECT_THAT(r.stalled[0].queued, ElementsAre(1));
  EXPECT_THAT(r.stalled[0].missing, IsEmpty());
  EXPECT_EQ(r.stalled[1].waiting[0].rank, 1);
  ASSERT_EQ(r.cycle.size(), 2u);
  EXPECT_EQ(
      stall_sentence(p, r),
      "rank 0 is in all_reduce (A) and waits for rank 1, rank 1 is in all_reduce (B) and waits for rank 0");
}

TEST(CollectiveOrder, StreamsOfTheirOwnRunSideBySideWhereThereIsRoom) {
  EXPECT_TRUE(run_collectives(programs({{A0, B1}, {B1, A0}}, 2)).finishes);
  CollectiveRun const two = run_collectives(programs({{A0, B1}, {B1, A0}}, 2, 2));
  EXPECT_TRUE(two.finishes);
  EXPECT_DOUBLE_EQ(two.end.value, 1);
  EXPECT_FALSE(run_collectives(programs({{A0, B1}, {B1, A0}}, 2, 1)).finishes);
  // The same order with one place: one after another.
  CollectiveRun const one = run_collectives(programs({{A0, B1}, {A0, B1}}, 2, 1));
  EXPECT_TRUE(one.finishes);
  EXPECT_DOUBLE_EQ(one.end.value, 2);
}

TEST(CollectiveOrder, OneCommunicatorKeepsItsOrderAcrossStreams) {
  // The first A of rank 0 is on stream 0, the second on stream 1: they do not overlap.
  CollectiveRun const r = run_collectives(programs({{A0, A1}, {A0, A0}}, 1));
  EXPECT_TRUE(r.finishes);
  EXPECT_DOUBLE_EQ(r.end.value, 2);
}

TEST(CollectiveOrder, AnEventHoldsBackAnotherStream) {
  CollectivePrograms p = programs({{A0, B1}, {A0, B1}}, 2);
  p.ranks[0].issued[1].after = 0;
  CollectiveRun const r = run_collectives(p);
  EXPECT_TRUE(r.finishes);
  EXPECT_DOUBLE_EQ(r.end.value, 2);
}

TEST(CollectiveOrder, ThreeRanksInAChainOfThreePairs) {
  // Dining: rank 0 in A with 1, rank 1 in B with 2, rank 2 in C with 0; each starts its own first.
  CollectivePrograms p;
  p.names = {"send"};
  p.communicators = {{"A", {0, 1}}, {"B", {1, 2}}, {"C", {0, 2}}};
  p.ranks = {{"rank 0", {{0}, {2}}}, {"rank 1", {{1}, {0}}}, {"rank 2", {{2}, {1}}}};
  CollectiveRun const r = run_collectives(p);
  EXPECT_FALSE(r.finishes);
  ASSERT_EQ(r.cycle.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(r.cycle[i].waits_for, r.cycle[(i + 1) % 3].rank);
  EXPECT_EQ(r.cycle[0].rank, 0);
  EXPECT_EQ(r.cycle[0].waits_for, 1);
}

TEST(CollectiveOrder, ARankThatNeverIssuesIsNamed) {
  // Rank 1 leaves its loop one micro-batch earlier.
  CollectivePrograms const p = programs({{A0, A0, A0}, {A0, A0}, {A0, A0, A0}}, 1);
  CollectiveRun const r = run_collectives(p);
  EXPECT_FALSE(r.finishes);
  EXPECT_THAT(r.cycle, IsEmpty());
  ASSERT_EQ(r.stalled.size(), 1u);
  EXPECT_EQ(r.stalled[0].sequence, 2);
  EXPECT_EQ(r.stalled[0].waiting.size(), 2u);
  EXPECT_DOUBLE_EQ(r.stalled[0].waiting[0].since.value, 2);
  EXPECT_DOUBLE_EQ(r.end.value, 2);
  EXPECT_THAT(r.stalled[0].missing, ElementsAre(1));
  EXPECT_EQ(stall_sentence(p, r), "rank 0 is in all_reduce (A) and waits for rank 1, which never issues it");
}

TEST(CollectiveOrder, TheStallIsWhenTheLastRankBeginsToWait) {
  // A takes 3 s; then rank 0 waits in B at once, rank 1 after a second C with rank 2: at 4 s.
  CollectivePrograms p;
  p.names = {"all_reduce"};
  p.communicators = {{"A", {0, 1}}, {"B", {0, 1}}, {"C", {1, 2}}, {"D", {0, 1}}};
  p.ranks = {{"rank 0", {{0, 0, 0, -1, seconds(3)}, {1}, {3}}},
             {"rank 1", {{0}, {2, 0, 0, -1, seconds(1)}, {3}, {1}}},
             {"rank 2", {{2}}}};
  CollectiveRun const r = run_collectives(p);
  EXPECT_FALSE(r.finishes);
  EXPECT_DOUBLE_EQ(r.end.value, 4);
  ASSERT_EQ(r.stalled.size(), 2u);
  EXPECT_DOUBLE_EQ(r.stalled[0].waiting[0].since.value, 3);
  EXPECT_DOUBLE_EQ(r.stalled[1].waiting[0].since.value, 4);
}

TEST(CollectiveOrder, ThePlaceOfAnotherStreamIsWhatARankWaitsIn) {
  // One place. Rank 0 takes A, rank 1 takes B; each has the other's queued on another stream.
  CollectivePrograms const p = programs({{A0, B1}, {B1, A0}}, 2, 1);
  CollectiveRun const r = run_collectives(p);
  ASSERT_EQ(r.cycle.size(), 2u);
  EXPECT_EQ(r.cycle[0].rank, 0);
  EXPECT_EQ(r.cycle[0].communicator, 0);
  EXPECT_EQ(r.cycle[1].communicator, 1);
}

TEST(CollectiveOrder, OfALongCircleFourLinksAreTold) {
  // Rank i starts with pair i (ranks i and i + 1 of six), then takes pair i - 1.
  CollectivePrograms p;
  p.names = {"send"};
  for (int i = 0; i < 6; ++i) p.communicators.push_back({"pair", {i, (i + 1) % 6}});
  for (int i = 0; i < 6; ++i) p.ranks.push_back({"rank " + std::to_string(i), {{i}, {(i + 5) % 6}}});
  CollectiveRun const r = run_collectives(p);
  EXPECT_EQ(r.cycle.size(), 6u);
  EXPECT_THAT(stall_sentence(p, r),
              testing::HasSubstr("rank 3 is in send (pair) and waits for rank 4, and so on, "
                                 "a circle of 6"));
}

// Whatever the streams and the places, one order on all ranks finishes.
TEST(CollectiveOrder, OneOrderAlwaysFinishes) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    std::uint64_t index = 0;
    auto const draw = [&](int n) {
      return static_cast<int>(uniform({seed, Purpose::jitter, 0, index++}) * n);
    };
    int const communicators = 1 + draw(4);
    int const ranks = 2 + draw(4);
    std::vector<int> order;
    for (int i = 0; i < 12; ++i) order.push_back(draw(communicators));
    std::vector<std::vector<std::pair<int, int>>> issued(static_cast<std::size_t>(ranks));
    for (auto& of_rank : issued) {
      for (int c : order) of_rank.emplace_back(c, draw(3));
    }
    std::optional<int> places;
    if (int const n = draw(4); n > 0) places = n;
    EXPECT_TRUE(run_collectives(programs(issued, communicators, places)).finishes) << "seed " << seed;
  }
}

// Without limits more streams never hurt, and a stall always has a circle or a rank that is missing.
TEST(CollectiveOrder, EveryStallHasAReason) {
  int stalls = 0;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    std::uint64_t index = 0;
    auto const draw = [&](int n) {
      return static_cast<int>(uniform({seed, Purpose::jitter, 1, index++}) * n);
    };
    std::vector<std::vector<std::pair<int, int>>> issued(static_cast<std::size_t>(2 + draw(4)));
    for (auto& of_rank : issued) {
      for (int i = 0; i < 6; ++i) of_rank.emplace_back(draw(3), draw(2));
    }
    std::optional<int> places;
    if (int const n = draw(3); n > 0) places = n;
    CollectivePrograms const p = programs(issued, 3, places);
    CollectiveRun const r = run_collectives(p);
    if (r.finishes) continue;
    ++stalls;
    EXPECT_FALSE(stall_sentence(p, r).empty());
    for (std::size_t i = 0; i < r.cycle.size(); ++i)
      EXPECT_EQ(r.cycle[i].waits_for, r.cycle[(i + 1) % r.cycle.size()].rank) << "seed " << seed;
  }
  EXPECT_GT(stalls, 100);
}

TEST(CollectiveOrder, WrongProgramsAreLogicErrors) {
  CollectivePrograms p = programs({{A0}, {A0}}, 1);
  p.ranks[0].concurrent = 0;
  EXPECT_THROW(run_collectives(p), std::logic_error);
  p = programs({{A0}, {A0}}, 1);
  p.communicators[0].members = {0};
  EXPECT_THROW(run_collectives(p), std::logic_error);
  p = programs({{A0}, {A0}}, 1);
  p.communicators[0].members = {0, 1, 2};
  EXPECT_THROW(run_collectives(p), std::logic_error);
  p = programs({{A0}, {A0}}, 1);
  p.ranks[0].issued[0].after = 0;
  EXPECT_THROW(run_collectives(p), std::logic_error);
}

}  // namespace
}  // namespace rollcast
