#include "models/balance.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <stdexcept>

#include "models/random.hpp"

namespace rollcast {
namespace {

using Loads = std::vector<std::int64_t>;
using Parts = std::vector<std::vector<int>>;

// Lengths with a long tail: exp of a normal, median 1,000.
std::vector<int> random_lengths(int count, std::uint64_t seed) {
  std::vector<int> lengths;
  for (int i = 0; i < count; ++i) {
    double const z = standard_normal({seed, Purpose::response_length, 0, static_cast<std::uint64_t>(i)});
    lengths.push_back(1 + static_cast<int>(1000 * portable_exp(0.8 * z)));
  }
  return lengths;
}

Loads loads_of(Loads const& loads, Parts const& parts) {
  Loads sums;
  for (auto const& part : parts) {
    sums.push_back(0);
    for (int const i : part) sums.back() += loads[static_cast<std::size_t>(i)];
  }
  return sums;
}

std::int64_t largest(Loads const& loads) { return *std::max_element(loads.begin(), loads.end()); }

Loads round_robin(Loads const& loads, std::size_t parts) {
  Loads sums(parts, 0);
  for (std::size_t i = 0; i < loads.size(); ++i) sums[i % parts] += loads[i];
  return sums;
}

void expect_each_once(Parts const& parts, std::size_t count) {
  std::vector<int> seen;
  for (auto const& part : parts) {
    EXPECT_FALSE(part.empty());
    EXPECT_TRUE(std::is_sorted(part.begin(), part.end()));
    seen.insert(seen.end(), part.begin(), part.end());
  }
  std::sort(seen.begin(), seen.end());
  std::vector<int> all(count);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(seen, all);
}

TEST(Balance, LoadsOfASequence) {
  EXPECT_EQ(sequence_loads({3, 10}, LoadKind::tokens), (Loads{3, 10}));
  EXPECT_EQ(sequence_loads({3, 100'000}, LoadKind::tokens_times_length), (Loads{9, 10'000'000'000}));
  EXPECT_EQ(sequence_loads({10}, LoadKind::transformer), (Loads{245'860}));  // 24576 x 10 + 10 x 10
}

// Loads 4 5 6 7 8 in two ways, written heaviest part | lightest part. 8 and 7: 8|7. Then 6 and 5: 6|5. Then 4
// (spread 4) and, of the two with spread 1, the one with the larger part: 4 + 7 | 8. Then with 6|5:
// 4 + 7 + 5 | 8 + 6 = 16 | 14. (The best would be 15 | 15; the method is known not to find it.)
TEST(Balance, TwoWaysByHand) {
  EXPECT_EQ(balance({4, 5, 6, 7, 8}, 2, PartSizes::any), (Parts{{0, 1, 3}, {2, 4}}));
}

// Loads 5 4 3 3 3 (indices 0 to 4) in three ways. 5 and 4: 5|4|-. With a 3, of equal ones the last, index 4:
// 5|4|3. The other two: 3|3|- with index 3 first. These have spread 3, so they take in 5|4|3: index 3 meets 3
// (6), index 2 meets 4 (7), nothing meets 5.
TEST(Balance, ThreeWaysByHandWithTies) {
  EXPECT_EQ(balance({5, 4, 3, 3, 3}, 3, PartSizes::any), (Parts{{1, 2}, {3, 4}, {0}}));
}

// Sorted 1 2 | 3 4 | 6 10: spreads 1, 1, 4. 10|6 and 4|3: 10 + 3 | 6 + 4. With 2|1: 10 + 3 + 1 | 6 + 4 + 2.
TEST(Balance, EqualSizesByHand) {
  EXPECT_EQ(balance({10, 1, 2, 3, 4, 6}, 2, PartSizes::equal), (Parts{{0, 1, 3}, {2, 4, 5}}));
}

// The same parts: loads 10 1 3 and 2 4 6, each from the lightest to the heaviest and back: 1 10 3 and 2 6 4.
TEST(Balance, DealtWithTheHeaviestInTheMiddle) {
  EXPECT_EQ(deal_balanced({10, 1, 2, 3, 4, 6}, 2), (Parts{{1, 0, 3}, {2, 5, 4}}));
  EXPECT_EQ(deal_balanced({4, 1, 3, 2, 2}, 1), (Parts{{1, 4, 0, 2, 3}}));  // 1 2 2 3 4: 1 2 4 3 2
  EXPECT_THROW(deal_balanced({1, 2, 3}, 2), std::logic_error);
}

TEST(Balance, DealingLosesNothing) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    int const ranks = 1 + static_cast<int>(seed % 6);
    Loads const loads = sequence_loads(random_lengths(ranks * 9, seed), LoadKind::transformer);
    Parts dealt = deal_balanced(loads, ranks);
    for (auto& part : dealt) {
      Loads order;
      for (int const i : part) order.push_back(loads[static_cast<std::size_t>(i)]);
      auto const heaviest = std::max_element(order.begin(), order.end());
      EXPECT_TRUE(std::is_sorted(order.begin(), heaviest));
      EXPECT_TRUE(std::is_sorted(heaviest, order.end(), std::greater<>()));
      std::sort(part.begin(), part.end());
    }
    EXPECT_EQ(dealt, balance(loads, ranks, PartSizes::equal));
  }
}

// One long sequence and five short ones: without equal sizes it stands alone.
TEST(Balance, EqualSizesCostBalance) {
  Loads const loads{100, 20, 20, 20, 20, 20};
  EXPECT_EQ(largest(loads_of(loads, balance(loads, 2, PartSizes::any))), 100);
  EXPECT_EQ(largest(loads_of(loads, balance(loads, 2, PartSizes::equal))), 140);
}

TEST(Balance, EverySequenceOnceAndTheSpreadIsBounded) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    int const parts = 1 + static_cast<int>(seed % 9);
    int const count = parts * (1 + static_cast<int>(seed * 7 % 23));
    for (LoadKind const kind : {LoadKind::tokens, LoadKind::tokens_times_length, LoadKind::transformer}) {
      Loads const loads = sequence_loads(random_lengths(count, seed), kind);
      Loads sorted = loads;
      std::sort(sorted.begin(), sorted.end());

      Parts const any = balance(loads, parts, PartSizes::any);
      ASSERT_EQ(any.size(), static_cast<std::size_t>(parts));
      expect_each_once(any, loads.size());
      Loads const sums = loads_of(loads, any);
      EXPECT_TRUE(std::is_sorted(sums.rbegin(), sums.rend()));
      EXPECT_LE(sums.front() - sums.back(), sorted.back());

      Parts const equal = balance(loads, parts, PartSizes::equal);
      ASSERT_EQ(equal.size(), static_cast<std::size_t>(parts));
      expect_each_once(equal, loads.size());
      for (auto const& part : equal) EXPECT_EQ(part.size(), loads.size() / equal.size());
      std::int64_t bound = 0;
      for (std::size_t i = 0; i < sorted.size(); i += equal.size()) {
        bound = std::max(bound, sorted[i + equal.size() - 1] - sorted[i]);
      }
      Loads const equal_sums = loads_of(loads, equal);
      EXPECT_LE(equal_sums.front() - equal_sums.back(), bound);
    }
  }
}

// At least four sequences a part: of five in all, round robin can be lucky.
TEST(Balance, IsNeverWorseThanRoundRobin) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    int const parts = 2 + static_cast<int>(seed % 15);
    int const count = parts * (4 + static_cast<int>(seed % 13));
    for (LoadKind const kind : {LoadKind::tokens, LoadKind::transformer}) {
      Loads const loads = sequence_loads(random_lengths(count, seed), kind);
      EXPECT_LE(largest(loads_of(loads, balance(loads, parts, PartSizes::any))),
                largest(round_robin(loads, static_cast<std::size_t>(parts))))
          << seed;
    }
  }
}

// With parts of equal size that holds for lengths without a long tail.
TEST(Balance, EqualSizesAreNeverWorseThanRoundRobinOnEvenlySpreadLengths) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    int const parts = 2 + static_cast<int>(seed % 15);
    int const count = parts * (8 + static_cast<int>(seed % 13));
    Loads loads;
    for (int i = 0; i < count; ++i) {
      double const u = uniform({seed, Purpose::response_length, 0, static_cast<std::uint64_t>(i)});
      loads.push_back(1 + static_cast<int>(4000 * u));
    }
    EXPECT_LE(largest(loads_of(loads, balance(loads, parts, PartSizes::equal))),
              largest(round_robin(loads, static_cast<std::size_t>(parts))))
        << seed;
  }
}

// With a long tail the longest sequence must bring company, and the method does not always find the lightest:
// single inputs can be worse than round robin, on average less than half of its imbalance is left.
TEST(Balance, EqualSizesHalveTheImbalanceOfALongTail) {
  double balanced = 0;
  double dealt = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    int const parts = 2 + static_cast<int>(seed % 15);
    Loads const loads = sequence_loads(random_lengths(16 * parts, seed), LoadKind::tokens);
    double const mean =
        static_cast<double>(std::accumulate(loads.begin(), loads.end(), std::int64_t{0})) / parts;
    balanced +=
        static_cast<double>(largest(loads_of(loads, balance(loads, parts, PartSizes::equal)))) / mean - 1;
    dealt += static_cast<double>(largest(round_robin(loads, static_cast<std::size_t>(parts)))) / mean - 1;
  }
  EXPECT_LT(balanced, 0.5 * dealt);
}

TEST(Balance, ZerosStandSomewhere) {
  expect_each_once(balance({0, 0, 0, 0}, 3, PartSizes::any), 4);
  expect_each_once(balance({0, 0, 5, 0}, 2, PartSizes::equal), 4);
}

TEST(Balance, ImpossiblePartsAreRefused) {
  EXPECT_THROW(balance({1, 2}, 3, PartSizes::any), std::logic_error);
  EXPECT_THROW(balance({1, 2, 3}, 2, PartSizes::equal), std::logic_error);
  EXPECT_THROW(balance({1, 2}, 0, PartSizes::any), std::logic_error);
  EXPECT_THROW(balance({1, -2}, 1, PartSizes::any), std::logic_error);
}

}  // namespace
}  // namespace rollcast
