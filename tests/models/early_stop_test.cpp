#include "models/early_stop.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "models/random.hpp"

namespace rollcast {
namespace {

using Indices = std::vector<std::size_t>;
constexpr double kNever = std::numeric_limits<double>::infinity();

std::vector<StartedGroup> finishing(std::vector<double> const& times) {
  std::vector<StartedGroup> groups;
  for (double const t : times) groups.push_back({seconds(t), true});
  return groups;
}

TEST(EarlyStop, ByHand) {
  // Needed 3 of 6: those that finish at 2, 3 and 5; the phase ends at 5.
  EarlyStop const s = stop_early(finishing({9, 3, 5, 2, 7, 6}), 3);
  EXPECT_TRUE(s.enough);
  EXPECT_EQ(s.end.value, 5);
  EXPECT_EQ(s.kept, (Indices{1, 2, 3}));
  EXPECT_TRUE(s.unneeded.empty());
  EXPECT_EQ(s.unfinished, (Indices{0, 4, 5}));
}

TEST(EarlyStop, TiesGoByIndexAndTheRestIsUnneeded) {
  EarlyStop const s = stop_early(finishing({4, 4, 4, 1}), 2);
  EXPECT_EQ(s.end.value, 4);
  EXPECT_EQ(s.kept, (Indices{0, 3}));
  EXPECT_EQ(s.unneeded, (Indices{1, 2}));
  EXPECT_TRUE(s.unfinished.empty());
}

TEST(EarlyStop, GroupsWithoutSignalDelayTheEnd) {
  std::vector<StartedGroup> groups = finishing({1, 2, 3, 4, 5});
  groups[0].has_signal = groups[2].has_signal = false;
  EarlyStop const s = stop_early(groups, 2);
  EXPECT_EQ(s.end.value, 4);
  EXPECT_EQ(s.kept, (Indices{1, 3}));
  EXPECT_EQ(s.no_signal, (Indices{0, 2}));
  EXPECT_EQ(s.unfinished, (Indices{4}));
}

TEST(EarlyStop, WithoutOversamplingItIsTheWholePhase) {
  EarlyStop const s = stop_early(finishing({3, 1, 2}), 3);
  EXPECT_TRUE(s.enough);
  EXPECT_EQ(s.end.value, 3);
  EXPECT_EQ(s.kept.size(), 3U);
}

TEST(EarlyStop, TooFew) {
  EarlyStop const s = stop_early(finishing({3, kNever, 2}), 3);
  EXPECT_FALSE(s.enough);
  EXPECT_EQ(s.end.value, 3);
  EXPECT_EQ(s.kept, (Indices{0, 2}));
  EXPECT_EQ(s.unfinished, (Indices{1}));
  EXPECT_FALSE(stop_early({}, 1).enough);
  EXPECT_THROW(stop_early({}, 0), std::logic_error);
}

TEST(EarlyStop, ConservesGroups) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    std::vector<StartedGroup> groups;
    for (std::uint64_t i = 0; i < 60; ++i) {
      auto const words = random_words({seed, Purpose::jitter, 0, i});
      bool const never = words[1] % 16 == 0;
      groups.push_back({seconds(never ? kNever : static_cast<double>(words[0] % 32)), words[1] % 3 != 0});
    }
    int const needed = 1 + static_cast<int>(seed % 50);
    EarlyStop const s = stop_early(groups, needed);
    Indices all;
    for (Indices const* list : {&s.kept, &s.no_signal, &s.unneeded, &s.unfinished}) {
      EXPECT_TRUE(std::is_sorted(list->begin(), list->end()));
      all.insert(all.end(), list->begin(), list->end());
    }
    std::sort(all.begin(), all.end());
    ASSERT_EQ(all.size(), groups.size());
    for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], i);  // each once

    EXPECT_EQ(s.enough, s.kept.size() == static_cast<std::size_t>(needed));
    EXPECT_LE(s.kept.size(), static_cast<std::size_t>(needed));
    for (std::size_t const i : s.kept) EXPECT_LE(groups[i].finish, s.end);
    for (std::size_t const i : s.kept) EXPECT_TRUE(groups[i].has_signal);
    for (std::size_t const i : s.no_signal) EXPECT_LE(groups[i].finish, s.end);
    for (std::size_t const i : s.no_signal) EXPECT_FALSE(groups[i].has_signal);
    for (std::size_t const i : s.unneeded) EXPECT_EQ(groups[i].finish.value, s.end.value);
    for (std::size_t const i : s.unfinished) EXPECT_GT(groups[i].finish, s.end);
    if (!s.enough) {
      EXPECT_TRUE(s.unneeded.empty());
    }
    // One more group needed never ends earlier.
    EXPECT_GE(stop_early(groups, needed + 1).end, s.end);
  }
}

TEST(EarlyStop, AGroupFinishesWithItsLastSample) {
  std::vector<Seconds> const completions{seconds(1), seconds(5), seconds(2), seconds(3)};
  auto const finishes = group_finishes(completions, 2);
  ASSERT_EQ(finishes.size(), 2U);
  EXPECT_EQ(finishes[0].value, 5);
  EXPECT_EQ(finishes[1].value, 3);
  EXPECT_TRUE(group_finishes({}, 4).empty());
  EXPECT_THROW(group_finishes(completions, 3), std::logic_error);
}

}  // namespace
}  // namespace rollcast
