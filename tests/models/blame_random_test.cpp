// Random programs of collectives in which one rank stops: that rank is blamed, whatever waits for what.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "models/blame.hpp"
#include "tests/models/flight_fixtures.hpp"

namespace rollcast {
namespace {

constexpr int kRanks = 8;

struct Step {
  std::string group;
  std::vector<int> members;
};

// All ranks, pairs and quarters: every rank is in three groups.
std::vector<Step> groups() {
  std::vector<Step> out = {{"0", {}}};
  for (int r = 0; r < kRanks; ++r) out[0].members.push_back(r);
  for (int r = 0; r < kRanks; r += 2) out.push_back({"tp" + std::to_string(r), {r, r + 1}});
  for (int const r : {0, 1}) out.push_back({"dp" + std::to_string(r), {r, r + 2, r + 4, r + 6}});
  return out;
}

struct Case {
  FlightRun run{kRanks};
  bool stuck = false;  // whether anybody waits
};

// Every rank enqueues its part of one global order, at most `depth` ahead of what is completed; `victim`
// stops after `stop` of its own. A collective completes when all members have it as their oldest.
Case simulate(std::mt19937& random, int depth, int victim, std::size_t stop) {
  std::vector<Step> const all = groups();
  Case c;
  for (Step const& g : all) c.run.group(g.group, "", g.members);
  std::vector<std::vector<std::size_t>> program(kRanks);
  std::vector<Step> order;
  for (std::size_t i = 0; i < 60; ++i) {
    order.push_back(all[random() % all.size()]);
    for (int const r : order.back().members) program[static_cast<std::size_t>(r)].push_back(i);
  }
  std::vector<std::size_t> enqueued(kRanks, 0), completed(kRanks, 0);
  auto const limit = [&](std::size_t r) {
    std::size_t const own = program[r].size();
    return static_cast<int>(r) == victim ? std::min(stop, own) : own;
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t r = 0; r < kRanks; ++r) {
      if (enqueued[r] >= limit(r) || enqueued[r] - completed[r] >= static_cast<std::size_t>(depth)) continue;
      c.run.enqueue(static_cast<int>(r), order[program[r][enqueued[r]++]].group, "all_reduce");
      moved = true;
    }
    for (std::size_t i = 0; i < order.size(); ++i) {
      bool const ready = std::all_of(order[i].members.begin(), order[i].members.end(), [&](int m) {
        auto const r = static_cast<std::size_t>(m);
        return completed[r] < enqueued[r] && program[r][completed[r]] == i;
      });
      if (!ready) continue;
      for (int const m : order[i].members) {
        FlightEntry& e = c.run.of(m).entries[completed[static_cast<std::size_t>(m)]++];
        e.state = FlightState::completed;
      }
      moved = true;
    }
  }
  for (std::size_t r = 0; r < kRanks; ++r) c.stuck = c.stuck || completed[r] < enqueued[r];
  return c;
}

TEST(BlameRandom, TheRankThatStopsIsBlamed) {
  std::mt19937 random(7);
  int stuck = 0;
  for (int i = 0; i < 300; ++i) {
    int const victim = static_cast<int>(random() % kRanks);
    int const depth = 1 + static_cast<int>(random() % 4);
    Case const c = simulate(random, depth, victim, random() % 20);
    Blame const b = blame_dumps(c.run.dumps());
    if (!c.stuck) {
      EXPECT_EQ(b.kind, BlameKind::nothing_stuck);
      continue;
    }
    ++stuck;
    EXPECT_EQ(b.kind, BlameKind::missing_rank) << "case " << i << ": " << b.verdict;
    EXPECT_THAT(b.culprits, testing::ElementsAre(victim)) << "case " << i << ": " << b.verdict;
  }
  EXPECT_GT(stuck, 250);
}

TEST(BlameRandom, AlsoWithoutItsDump) {
  std::mt19937 random(8);
  for (int i = 0; i < 300; ++i) {
    int const victim = static_cast<int>(random() % kRanks);
    Case const c = simulate(random, 1 + static_cast<int>(random() % 4), victim, random() % 20);
    if (!c.stuck) continue;
    Blame const b = blame_dumps(c.run.dumps_without(victim));
    EXPECT_EQ(b.kind, BlameKind::no_dump) << "case " << i << ": " << b.verdict;
    EXPECT_THAT(b.culprits, testing::ElementsAre(victim)) << "case " << i << ": " << b.verdict;
  }
}

}  // namespace
}  // namespace rollcast
