// A loop of engines that is cut off and goes on: no sample is lost, none is generated twice.
#include "sim/rollout_loop.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "models/rollout_prices.hpp"
#include "tests/models/price_fixtures.hpp"

namespace rollcast {
namespace {

constexpr Seconds kNever{std::numeric_limits<double>::infinity()};
using Groups = std::vector<std::pair<std::int64_t, std::vector<StepSample>>>;

// Eight engines of Llama-3.2-1B.
class RolloutLoops : public testing::Test {
 protected:
  RolloutLoops() {
    job_.model = catalog_model("llama-3.2-1b");
    job_.rollout.max_num_seqs = 4;
    pool_.placement = place(job_);
    rollout_ = RolloutPool{.job = job_,
                           .pool = &pool_,
                           .prices = rollout_step_prices(profile_, job_.model, job_.rollout, job_.cluster),
                           .kv_blocks = 20'000,
                           .least_prefill_step = {}};
  }

  // Eight groups of four; all responses of a group are equally long, so that groups finish together.
  static Groups groups() {
    Groups all;
    for (int g = 0; g < 8; ++g) {
      auto& samples = all.emplace_back(g, std::vector<StepSample>{}).second;
      for (int s = 0; s < 4; ++s)
        samples.push_back(
            {.id = g * 4 + s, .prompt = g, .prompt_tokens = 100, .response_tokens = 50 * (1 + g / 2)});
    }
    return all;
  }

  Profile profile_ = round_profile();
  Job job_ = llama_job(1);
  PoolState pool_{.index = 0,
                  .job = {},
                  .profile = profile_,
                  .prices = {},
                  .placement = {},
                  .ledgers = {},
                  .ledger_of_class = {}};
  RolloutPool rollout_;
};

// Whatever number of groups is waited for, the rest goes on in a second loop from the tokens that it has,
// also a group that had finished but was not taken.
TEST_F(RolloutLoops, WhatIsAbandonedGoesOnElsewhere) {
  for (int wanted = 0; wanted <= 8; ++wanted) {
    RolloutLoop first(rollout_, job_, 1, Seconds(0));
    first.start(groups(), Seconds(0));
    std::set<std::int64_t> ids;
    for (int g = 0; g < wanted; ++g) {
      auto const group = first.next_group(kNever);
      ASSERT_TRUE(group);
      for (SampleLife const& s : first.take(group->number)) {
        EXPECT_EQ(s.generated, s.sample.response_tokens);
        EXPECT_TRUE(ids.insert(s.sample.id).second);
      }
    }
    Groups rest;
    for (SampleLife const& s : first.abandon()) {
      EXPECT_LE(s.sample.generated, s.sample.response_tokens);
      if (rest.empty() || rest.back().first != s.group) rest.push_back({s.group, {}});
      rest.back().second.push_back(s.sample);
    }
    EXPECT_EQ(rest.size(), static_cast<std::size_t>(8 - wanted));
    EXPECT_EQ(first.samples_under_way(), 0);
    RolloutLoop second(rollout_, job_, 1, Seconds(0));
    second.start(rest, Seconds(0));
    while (auto const group = second.next_group(kNever)) {
      for (SampleLife const& s : second.take(group->number)) EXPECT_TRUE(ids.insert(s.sample.id).second);
    }
    EXPECT_EQ(ids.size(), 32u) << wanted << " groups were waited for";
  }
}

}  // namespace
}  // namespace rollcast
