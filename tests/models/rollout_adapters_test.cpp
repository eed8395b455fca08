// Engines with adapters, small cases worked by hand. Unless said, a step takes one second whatever it holds.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <stdexcept>
#include <vector>

#include "models/rollout_fleet.hpp"
#include "tests/models/load_server.hpp"

namespace rollcast {
namespace {

constexpr Seconds kNever{std::numeric_limits<double>::infinity()};

StepPrices one_second() {
  StepPrices p;
  p.fixed = seconds(1);
  return p;
}

EngineOptions options(int max_running = 8) {
  EngineOptions o;
  o.block_size = 4;
  o.max_num_seqs = max_running;
  o.max_num_batched_tokens = 100;
  return o;
}

AdapterPlan plan_of(int adapters, int slots) {
  AdapterPlan p;
  p.options.count = adapters;
  p.slots = slots;
  p.pages = {3};
  p.merge = {seconds(2)};
  return p;
}

// Prompts of four tokens.
struct Ask {
  double at;
  int adapter;
  int response;
};

struct Served {
  std::map<std::int64_t, double> at;  // of each request: its end
  AdapterUse use;
  EngineCounters counters;
  std::vector<WantedLoad> loads;
};

Served serve(AdapterPlan const& plan, std::vector<Ask> const& asks, double load_time, int max_running = 8,
             std::int64_t pages = 100, StepPrices const& prices = one_second(), double least = 0) {
  RolloutFleet fleet({}, options(max_running), pages, prices, seconds(least),
                     std::make_shared<AdapterPlan const>(plan));
  for (std::size_t i = 0; i < asks.size(); ++i) {
    Request r{static_cast<std::int64_t>(i), -1, 4, asks[i].response};
    r.adapter = asks[i].adapter;
    fleet.submit(r, seconds(asks[i].at));
  }
  LoadServer server(fleet, [&](int, int, int) { return load_time; });
  server.run();
  Served s{{}, fleet.engine(0).adapter_use(), fleet.engine(0).counters(), server.wanted};
  for (FleetCompletion const& c : server.completions) s.at[c.completion.id] = c.completion.time.value;
  return s;
}

// The first runs from 0; the second comes within its second step and needs three seconds of loading.
std::vector<Ask> const kOneMore{{0, -1, 10}, {1.5, 0, 2}};

TEST(RolloutAdapters, ABlockingLoadHoldsTheStepThatAdmits) {
  Served const s = serve(plan_of(1, 1), kOneMore, 3);
  ASSERT_EQ(s.loads.size(), 1U);
  EXPECT_DOUBLE_EQ(s.loads[0].time.value, 2);  // the boundary
  EXPECT_DOUBLE_EQ(s.at.at(1), 5 + 2);
  EXPECT_DOUBLE_EQ(s.at.at(0), 10 + 3);
  EXPECT_DOUBLE_EQ(s.use.load_time.value, 3);
  EXPECT_DOUBLE_EQ(s.use.exposed.value, 3);
  EXPECT_DOUBLE_EQ(s.counters.busy.value, 10);
  EXPECT_EQ(s.use.hits, 0);
  EXPECT_DOUBLE_EQ(s.use.distinct_steps, 2);
}

TEST(RolloutAdapters, AnOverlappedLoadHidesBehindTheOthers) {
  AdapterPlan plan = plan_of(1, 1);
  plan.options.loading = AdapterLoading::overlapped;
  Served const s = serve(plan, kOneMore, 3);
  EXPECT_DOUBLE_EQ(s.at.at(1), 5 + 2);
  EXPECT_DOUBLE_EQ(s.at.at(0), 10);
  EXPECT_DOUBLE_EQ(s.use.load_time.value, 3);
  EXPECT_DOUBLE_EQ(s.use.exposed.value, 0);

  // Of a load from 1.5 to 4.5 in an engine that ended its only step of before at 2, half a second is hidden.
  Served const half = serve(plan, {{0, -1, 2}, {0.5, 0, 1}}, 3);
  EXPECT_DOUBLE_EQ(half.loads[0].time.value, 1);
  EXPECT_DOUBLE_EQ(half.at.at(1), 4 + 1);
  EXPECT_DOUBLE_EQ(half.use.exposed.value, 2);  // 2 to 4
}

TEST(RolloutAdapters, PrefetchLoadsAheadForAFullBatch) {
  // One seat: the second waits until 4 anyway. Without prefetch its load begins then.
  AdapterPlan plan = plan_of(2, 2);
  plan.options.loading = AdapterLoading::overlapped;
  std::vector<Ask> const asks{{0, -1, 4}, {0, 1, 1}};
  EXPECT_DOUBLE_EQ(serve(plan, asks, 3, 1).at.at(1), 4 + 3 + 1);
  plan.options.prefetch = 1;
  Served const s = serve(plan, asks, 3, 1);
  EXPECT_DOUBLE_EQ(s.loads[0].time.value, 0);
  EXPECT_DOUBLE_EQ(s.at.at(1), 5);
  EXPECT_EQ(s.use.hits, 1);
}

TEST(RolloutAdapters, MergingTakesTheOldOneOutAndTheNewOneIn) {
  AdapterPlan plan = plan_of(2, 2);
  plan.options.execution = AdapterExecution::merged;
  Served const s = serve(plan, {{0, 0, 1}, {0, 1, 1}, {0, -1, 1}, {0, 0, 1}}, 0);
  // The fourth joins the first: 2 + 1. Then 2 + 2 + 1; then out, 2 + 1.
  EXPECT_DOUBLE_EQ(s.at.at(0), 3);
  EXPECT_DOUBLE_EQ(s.at.at(3), 3);
  EXPECT_DOUBLE_EQ(s.at.at(1), 8);
  EXPECT_DOUBLE_EQ(s.at.at(2), 11);
  EXPECT_EQ(s.use.switches, 3);
  EXPECT_DOUBLE_EQ(s.use.switch_time.value, 8);
  EXPECT_DOUBLE_EQ(s.counters.busy.value, 11);
}

TEST(RolloutAdapters, WhoWouldBeOneAdapterTooManyIsPassedOver) {
  std::vector<Ask> const asks{{0, 0, 3}, {0, 1, 1}, {0, 0, 1}, {0, -1, 1}};
  AdapterPlan plan = plan_of(2, 2);
  plan.options.batch_limit = 1;
  AdapterPlan const one_slot = plan_of(2, 1);
  for (AdapterPlan const& p : {plan, one_slot}) {
    Served const s = serve(p, asks, 0);
    EXPECT_DOUBLE_EQ(s.at.at(0), 3);
    EXPECT_DOUBLE_EQ(s.at.at(1), 4);
    EXPECT_DOUBLE_EQ(s.at.at(2), 1);
    EXPECT_DOUBLE_EQ(s.at.at(3), 1);
  }
}

TEST(RolloutAdapters, NobodyPassesWhoIsOutOfPatience) {
  // With one slot 1 waits for the end of adapter 0's requests. 2 passes it at 1, 3 would at 2.
  std::vector<Ask> const asks{{0, 0, 4}, {0, 1, 1}, {1, 0, 4}, {2, 0, 1}};
  AdapterPlan plan = plan_of(2, 1);
  EXPECT_DOUBLE_EQ(serve(plan, asks, 0).at.at(3), 3);
  plan.patience = seconds(2);
  Served const s = serve(plan, asks, 0);
  EXPECT_DOUBLE_EQ(s.at.at(2), 5);
  EXPECT_DOUBLE_EQ(s.at.at(1), 6);
  EXPECT_DOUBLE_EQ(s.at.at(3), 7);
}

TEST(RolloutAdapters, EvictsTheLeastRecentlyUsedOrTheLeastPopular) {
  // Two slots; when 2 comes, 0 has been unused for longer, 1 has had fewer requests. Then 1 comes back.
  std::vector<Ask> const asks{{0, 0, 1}, {10, 0, 1}, {20, 1, 1}, {30, 2, 1}, {40, 1, 1}};
  AdapterPlan plan = plan_of(3, 2);
  Served const lru = serve(plan, asks, 0.5);
  EXPECT_EQ(lru.use.loads, 3);
  EXPECT_EQ(lru.use.hits, 2);
  EXPECT_EQ(lru.use.evictions, 1);
  EXPECT_EQ(lru.use.peak_resident, 2);
  plan.options.eviction = AdapterEviction::popularity;
  Served const popular = serve(plan, asks, 0.5);
  EXPECT_EQ(popular.use.loads, 4);  // 1 again, in the place of 2
  EXPECT_EQ(popular.use.hits, 1);
  EXPECT_EQ(popular.use.evictions, 2);
}

TEST(RolloutAdapters, AnUnusedAdapterGoesBeforeASequence) {
  // Ten pages of four tokens, three of them adapter 0's. The second's 4 + 28 tokens of KV need eight.
  AdapterPlan plan = plan_of(1, 0);
  plan.options.pool = AdapterPool::unified;
  Served const s = serve(plan, {{0, 0, 1}, {10, -1, 29}}, 0, 8, 10);
  EXPECT_EQ(s.use.evictions, 1);
  EXPECT_EQ(s.use.peak_pages, 3);
  EXPECT_EQ(s.counters.preemptions, 0);
  EXPECT_EQ(s.counters.peak_blocks, 10);  // seven and the adapter's
  EXPECT_DOUBLE_EQ(s.at.at(1), 39);
  // While it is used it stays, and of two that grow the last is preempted: 3 + 2 x 4 pages are one too many.
  Served const used = serve(plan, {{0, 0, 13}, {0, 0, 13}}, 0, 8, 10);
  EXPECT_EQ(used.use.evictions, 0);
  EXPECT_EQ(used.counters.preemptions, 1);
}

TEST(RolloutAdapters, ATenantThatFloodsWaitsForTheOther) {
  // One seat, two steps each: six of tenant 0, then one of tenant 1.
  std::vector<Ask> asks(6, {0, 0, 2});
  asks.push_back({0, 1, 2});
  AdapterPlan plan = plan_of(2, 2);
  EXPECT_DOUBLE_EQ(serve(plan, asks, 0, 1).at.at(6), 14);
  plan.order = ServeOrder::fair;
  EXPECT_DOUBLE_EQ(serve(plan, asks, 0, 1).at.at(6), 4);  // 0 has been charged 4 + 2 x 2
  // Who comes at 0.5 is lifted to the 8 that 0 has by then: it is its turn once 0 has 16.
  asks.back().at = 0.5;
  EXPECT_DOUBLE_EQ(serve(plan, asks, 0, 1).at.at(6), 6);
}

TEST(RolloutAdapters, GroupedTakesWhatIsThereFirst) {
  // At 1 adapter 0 is in memory, 1 is not.
  std::vector<Ask> const asks{{0, 0, 1}, {0.5, 1, 1}, {0.6, 0, 1}};
  AdapterPlan plan = plan_of(2, 2);
  EXPECT_DOUBLE_EQ(serve(plan, asks, 0, 1).at.at(2), 3);
  plan.order = ServeOrder::grouped;
  EXPECT_DOUBLE_EQ(serve(plan, asks, 0, 1).at.at(2), 2);
}

// One adapter at a time in a batch of two. 4 + 2 x 7,000 and 4 + 2 x 5,000 are charged at 0, so that the
// other tenant begins with 24,008. The flood's third and fourth request pass it, with 0 and 10,004 more; the
// fifth has 20,008 more and waits, and when the fourth ends at 12,000 the batch is empty.
TEST(RolloutAdapters, AFloodLetsItsBatchDrainForWhoCannotJoin) {
  std::vector<Ask> const asks{{0, 0, 7000}, {0, 0, 5000}, {0, 0, 5000}, {0, 0, 5000},
                              {0, 0, 5000}, {0, 0, 5000}, {0.5, 1, 1}};
  AdapterPlan plan = plan_of(2, 2);
  plan.options.batch_limit = 1;
  EXPECT_DOUBLE_EQ(serve(plan, asks, 0, 2, 3000).at.at(6), 17'001);
  plan.order = ServeOrder::fair;
  Served const fair = serve(plan, asks, 0, 2, 3000);
  EXPECT_DOUBLE_EQ(fair.at.at(3), 12'000);
  EXPECT_DOUBLE_EQ(fair.at.at(6), 12'001);
  EXPECT_DOUBLE_EQ(fair.at.at(4), 17'001);
}

TEST(RolloutAdapters, PricesAStepByItsExecution) {
  // 1 s + 0.1 s a token. A kernel in 2 layers: 0.01 s a token, 0.05 s an adapter, and what every kernel
  // takes.
  StepPrices prices = one_second();
  prices.dense = {{0, 1}, {0, 0.1}};
  AdapterPlan plan = plan_of(2, 2);
  plan.kernels.kernels.push_back({2, {}, {{0.01, 0.05, 0}}});
  plan.kernels.plain = plan.kernels.kernels;
  plan.kernels.launches = seconds(0.2);
  double const plain = 2 * kAdapterKernel.value;
  double const both = plain + 2 * 2 * kAdapterSegment.value;
  std::vector<Ask> const asks{{0, 0, 3}, {0, 1, 3}};
  // Prompts: 1 + 0.8 + 2 x (0.08 + 0.1) = 2.16; then twice 1 + 0.2 + 2 x (0.02 + 0.1) = 1.44.
  Served const batched = serve(plan, asks, 0, 8, 100, prices);
  EXPECT_NEAR(batched.at.at(1), 2.16 + 2 * 1.44 + 3 * both, 1e-12);
  EXPECT_NEAR(batched.use.kernel_time.value, 0.36 + 2 * 0.24 + 3 * both, 1e-12);
  EXPECT_DOUBLE_EQ(batched.use.distinct_steps, 6);
  // Launches of 3 s and those of the kernels: 3.2.
  Served const launched = serve(plan, asks, 0, 8, 100, prices, 3);
  EXPECT_NEAR(launched.at.at(1), 3.2 + 2 * (1.44 + both), 1e-12);
  EXPECT_NEAR(launched.use.kernel_time.value, 0.2 + 2 * (0.24 + both), 1e-12);
  // Each alone: 1 + 0.4 + 2 x (0.04 + 0.05) = 1.58, then 1 + 0.1 + 2 x (0.01 + 0.05) = 1.22.
  plan.options.execution = AdapterExecution::split;
  EXPECT_NEAR(serve(plan, asks, 0, 8, 100, prices).at.at(1), 2 * 1.58 + 4 * 1.22 + 6 * plain, 1e-12);
  EXPECT_NEAR(serve(plan, asks, 0, 8, 100, prices, 3).at.at(1), 2 * 3 + 4 * (1.22 + plain), 1e-12);
  // Nothing beside the base model: 1.8 + 2 x 1.2.
  plan.options.execution = AdapterExecution::none;
  Served const none = serve(plan, asks, 0, 8, 100, prices);
  EXPECT_NEAR(none.at.at(1), 1.8 + 2 * 1.2, 1e-12);
  EXPECT_TRUE(none.loads.empty());
}

TEST(RolloutAdapters, OnlyRequestsOfOneAdapterShareAPrompt) {
  EngineOptions o = options(1);
  auto const plan = std::make_shared<AdapterPlan const>(plan_of(2, 2));
  RolloutFleet fleet({}, o, 100, one_second(), {}, plan);
  for (std::int64_t id = 0; id < 4; ++id) {
    Request r{id, 7, 9, 1};  // two full pages before the last token
    r.adapter = id < 2 ? 0 : 1;
    fleet.submit(r, seconds(0));
  }
  LoadServer server(fleet, [](int, int, int) { return 0.0; });
  server.run();
  EXPECT_EQ(fleet.engine(0).counters().cached_tokens, 2 * 8);
}

TEST(RolloutAdapters, RefusesWhatCanNeverRun) {
  auto const submit = [](AdapterPlan const& plan, int adapter) {
    RolloutEngine e(options(), 10, one_second(), {}, std::make_shared<AdapterPlan const>(plan));
    Request r{0, -1, 4, 26};  // 29 tokens: eight pages
    r.adapter = adapter;
    e.submit(r, seconds(0));
  };
  EXPECT_NO_THROW(submit(plan_of(2, 1), 1));
  EXPECT_THROW(submit(plan_of(2, 1), 2), std::logic_error);
  EXPECT_THROW(submit(plan_of(2, 1), -2), std::logic_error);
  EXPECT_THROW(submit(plan_of(2, 0), 1), std::logic_error);
  EXPECT_NO_THROW(submit(plan_of(2, 0), -1));
  AdapterPlan unified = plan_of(2, 0);
  unified.options.pool = AdapterPool::unified;
  EXPECT_THROW(submit(unified, 0), std::logic_error);
  unified.pages = {2};
  EXPECT_NO_THROW(submit(unified, 0));
  unified.pages = {};
  EXPECT_THROW(submit(unified, -1), std::logic_error);
  EXPECT_THROW(submit(plan_of(0, 1), -1), std::logic_error);

  RolloutEngine plain(options(), 10, one_second());
  EXPECT_THROW(plain.adapter_loaded(0, seconds(0)), std::logic_error);
}

TEST(RolloutFleetAdapters, AnswersStepByStep) {
  auto const plan = std::make_shared<AdapterPlan const>(plan_of(4, 4));
  RolloutFleet f({2, EngineBalance::round_robin, 0, 0, true}, options(), 100, one_second(), {}, plan);
  Request r{0, -1, 4, 1};
  r.adapter = 3;
  EXPECT_EQ(f.submit(r, seconds(0)), 1);  // 3 mod 2
  r = {1, -1, 4, 1};
  r.adapter = 2;
  EXPECT_EQ(f.submit(r, seconds(0)), 0);
  r = {2, -1, 4, 1};
  EXPECT_EQ(f.submit(r, seconds(0)), 0);  // no adapter

  std::vector<FleetCompletion> out;
  std::vector<WantedLoad> loads;
  EXPECT_FALSE(f.advance_to_event(seconds(0), out, loads));  // what starts at 0 has not
  EXPECT_TRUE(f.advance_to_event(kNever, out, loads));
  ASSERT_EQ(loads.size(), 2U);  // all of that time
  EXPECT_EQ(loads[0].engine, 0);
  EXPECT_EQ(loads[0].adapter, 2);
  EXPECT_EQ(loads[1].engine, 1);
  EXPECT_DOUBLE_EQ(f.now().value, 0);
  EXPECT_THROW(f.pause(), std::logic_error);
  EXPECT_FALSE(f.advance_to_event(kNever, out, loads));  // both engines wait
  EXPECT_FALSE(f.advance_to_event(seconds(2), out, loads));
  EXPECT_THROW(f.adapter_loaded(0, 3), std::logic_error);
  f.adapter_loaded(0, 2);
  EXPECT_THROW(f.adapter_loaded(0, 2), std::logic_error);

  EXPECT_TRUE(f.advance_to_event(kNever, out, loads));  // 2 to 3
  ASSERT_EQ(out.size(), 2U);
  EXPECT_DOUBLE_EQ(out[0].completion.time.value, 3);
  r = {3, -1, 4, 1};
  r.adapter = 0;
  f.submit(r, seconds(3));  // in answer to a completion
  EXPECT_TRUE(f.advance_to_event(kNever, out, loads));
  ASSERT_EQ(loads.size(), 3U);
  EXPECT_DOUBLE_EQ(loads[2].time.value, 3);
  EXPECT_THROW(f.submit({4, -1, 4, 1}, seconds(3)), std::logic_error);  // what starts at 3 has started
  EXPECT_NO_THROW(f.submit({4, -1, 4, 1}, seconds(3.5)));
  f.adapter_loaded(0, 0);  // at once
  f.adapter_loaded(1, 3);
  out.clear();
  f.run_to_end(out);
  ASSERT_EQ(out.size(), 3U);
  EXPECT_DOUBLE_EQ(f.now().value, 5);
}

}  // namespace
}  // namespace rollcast
