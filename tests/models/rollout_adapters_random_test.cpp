// Engines with adapters against the token-by-token reference, and against themselves, on random workloads.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <vector>

#include "models/rollout_fleet.hpp"
#include "tests/models/load_server.hpp"
#include "tests/models/random_adapters.hpp"
#include "tests/models/reference_serving.hpp"

namespace rollcast {
namespace {

struct RandomServing {
  RandomWorkload workload;
  std::shared_ptr<AdapterPlan const> plan;
  double least = 0;
  int engines = 1;
  bool by_adapter = false;
  std::vector<std::pair<double, Request>> requests;
  std::uint64_t seed = 0;
  int load_kind = 0;

  double load_time(int engine, int adapter, int n) const {
    auto const who = static_cast<std::uint32_t>(100 * engine + adapter);
    double const u = uniform({seed, Purpose::jitter, 1000 + who, static_cast<std::uint64_t>(n)});
    return load_kind == 0 ? 0 : load_kind == 1 ? 3 : 20 * u * u;
  }
  RolloutFleet fleet() const {
    return RolloutFleet({engines, EngineBalance::round_robin, 0, 0, by_adapter}, workload.options,
                        workload.kv_blocks, workload.prices, seconds(least), plan);
  }
};

RandomServing random_serving(std::uint64_t seed) {
  Draw d{seed};
  RandomServing s;
  s.seed = seed;
  s.workload = random_workload(d);
  AdapterPlan const plan = random_plan(d);
  if (plan.options.pool == AdapterPool::unified)
    s.workload.kv_blocks += *std::max_element(plan.pages.begin(), plan.pages.end());
  s.plan = std::make_shared<AdapterPlan const>(plan);
  s.least = d.often(0.5) ? 0 : 2 * d.real();
  s.engines = d.often(0.6) ? 1 : d.whole(2, 3);
  s.by_adapter = d.often(0.3);
  s.load_kind = d.often(0.1) ? 0 : d.often(0.2) ? 1 : 2;
  double const span = d.often(0.3) ? 0 : 100 * d.real();
  int const requests = s.workload.requests * d.whole(1, 3);
  for (int i = 0; i < requests; ++i) {
    Request r = random_request(d, s.workload, i);
    r.adapter = d.often(0.3) ? d.whole(-1, 0) : d.whole(-1, plan.options.count - 1);
    s.requests.emplace_back(span * d.real(), r);
  }
  return s;
}

void expect_near(double a, double b) { EXPECT_NEAR(a, b, 1e-9 * std::max(1.0, std::fabs(b))); }

void expect_same(AdapterUse const& a, AdapterUse const& b) {
  EXPECT_EQ(a.loads, b.loads);
  EXPECT_EQ(a.hits, b.hits);
  EXPECT_EQ(a.evictions, b.evictions);
  EXPECT_EQ(a.switches, b.switches);
  EXPECT_EQ(a.peak_resident, b.peak_resident);
  EXPECT_EQ(a.peak_pages, b.peak_pages);
  EXPECT_NEAR(a.load_time.value, b.load_time.value, 1e-7);
  EXPECT_NEAR(a.exposed.value, b.exposed.value, 1e-7);
  EXPECT_NEAR(a.switch_time.value, b.switch_time.value, 1e-7);
  EXPECT_NEAR(a.kernel_time.value, b.kernel_time.value, 1e-7);
  EXPECT_DOUBLE_EQ(a.distinct_steps, b.distinct_steps);
}

TEST(RolloutAdaptersProperty, AgreesWithTheReferenceOnRandomWorkloads) {
  AdapterUse sum;
  std::int64_t preemptions = 0;
  std::array<int, 5> executions{};
  for (std::uint64_t seed = 0; seed < 3000 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    RandomServing const s = random_serving(seed);
    RolloutFleet fleet = s.fleet();
    std::vector<std::vector<std::pair<double, Request>>> of(static_cast<std::size_t>(s.engines));
    for (auto const& [at, r] : s.requests)
      of[static_cast<std::size_t>(fleet.submit(r, seconds(at)))].emplace_back(at, r);
    LoadServer server(fleet, [&](int e, int a, int n) { return s.load_time(e, a, n); });
    server.run();
    ASSERT_EQ(server.completions.size(), s.requests.size());
    ++executions[static_cast<std::size_t>(s.plan->options.execution)];

    for (int e = 0; e < s.engines; ++e) {
      SCOPED_TRACE(e);
      ReferenceServing reference(s.workload.options, s.workload.kv_blocks, s.workload.prices, s.least,
                                 *s.plan, [&](int a, int n) { return s.load_time(e, a, n); });
      for (auto const& [at, r] : of[static_cast<std::size_t>(e)]) reference.submit(r, at);
      std::vector<Completion> wanted;
      reference.run_to_end(wanted);
      EXPECT_TRUE(reference.all_returned());
      std::size_t found = 0;
      for (FleetCompletion const& c : server.completions) {
        if (c.engine != e) continue;
        ASSERT_LT(found, wanted.size());
        ASSERT_EQ(c.completion.id, wanted[found].id) << "completion " << found;
        expect_near(c.completion.time.value, wanted[found++].time.value);
      }
      EXPECT_EQ(found, wanted.size());
      EngineCounters const& a = fleet.engine(e).counters();
      EngineCounters const& b = reference.counters();
      EXPECT_EQ(a.steps, b.steps);
      EXPECT_EQ(a.generated_tokens, b.generated_tokens);
      EXPECT_EQ(a.prefill_tokens, b.prefill_tokens);
      EXPECT_EQ(a.cached_tokens, b.cached_tokens);
      EXPECT_EQ(a.preemptions, b.preemptions);
      EXPECT_EQ(a.peak_blocks, b.peak_blocks);
      expect_near(a.busy.value, b.busy.value);
      expect_same(fleet.engine(e).adapter_use(), reference.use());
      std::vector<WantedLoad> loads;
      for (WantedLoad const& w : server.wanted)
        if (w.engine == e) loads.push_back(w);
      ASSERT_EQ(loads.size(), reference.wanted().size());
      for (std::size_t i = 0; i < loads.size(); ++i) {
        EXPECT_EQ(loads[i].adapter, reference.wanted()[i].adapter);
        expect_near(loads[i].time.value, reference.wanted()[i].time.value);
      }

      ServedAdapters const& o = s.plan->options;
      if (o.execution == AdapterExecution::batched || o.execution == AdapterExecution::split) {
        EXPECT_LE(reference.most_in_batch(), o.batch_limit > 0 ? o.batch_limit : o.count);
        EXPECT_LE(reference.use().peak_resident, o.pool == AdapterPool::fixed ? s.plan->slots : o.count);
      }
      preemptions += b.preemptions;
      sum.loads += reference.use().loads;
      sum.hits += reference.use().hits;
      sum.evictions += reference.use().evictions;
      sum.switches += reference.use().switches;
    }
  }
  // The workloads must reach what they are for.
  EXPECT_GT(preemptions, 5000);
  EXPECT_GT(sum.loads, 10'000);
  EXPECT_GT(sum.hits, 10'000);
  EXPECT_GT(sum.evictions, 5000);
  EXPECT_GT(sum.switches, 2000);
  for (int const n : executions) EXPECT_GT(n, 400);
}

bool same_bits(double a, double b) { return !(a < b) && !(b < a); }

TEST(RolloutAdaptersProperty, WhereTheTimeIsCutChangesNothing) {
  for (std::uint64_t seed = 50'000; seed < 51'500 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    RandomServing const s = random_serving(seed);
    RolloutFleet whole = s.fleet();
    for (auto const& [at, r] : s.requests) whole.submit(r, seconds(at));
    RolloutFleet cut = whole;
    auto const load_time = [&](int e, int a, int n) { return s.load_time(e, a, n); };
    LoadServer at_once(whole, load_time);
    LoadServer in_slices(cut, load_time);
    at_once.run();
    Draw d{seed + 1};
    in_slices.run_in_slices([&] { return d.real(); });
    std::set<std::int64_t> ids;
    ASSERT_EQ(at_once.completions.size(), s.requests.size());
    ASSERT_EQ(in_slices.completions.size(), s.requests.size());
    for (std::size_t i = 0; i < s.requests.size(); ++i) {
      Completion const& a = at_once.completions[i].completion;
      Completion const& b = in_slices.completions[i].completion;
      ids.insert(a.id);
      EXPECT_EQ(at_once.completions[i].engine, in_slices.completions[i].engine);
      EXPECT_EQ(a.id, b.id);
      EXPECT_TRUE(same_bits(a.time.value, b.time.value));
      EXPECT_TRUE(same_bits(a.first_token.value, b.first_token.value));
    }
    EXPECT_EQ(ids.size(), s.requests.size());
    EXPECT_EQ(whole.in_flight(), 0);
    for (int e = 0; e < s.engines; ++e) {
      AdapterUse const& a = whole.engine(e).adapter_use();
      AdapterUse const& b = cut.engine(e).adapter_use();
      EXPECT_EQ(a.loads, b.loads);
      EXPECT_EQ(a.hits, b.hits);
      EXPECT_EQ(a.evictions, b.evictions);
      EXPECT_TRUE(same_bits(a.load_time.value, b.load_time.value));
      EXPECT_TRUE(same_bits(a.exposed.value, b.exposed.value));
      EXPECT_TRUE(same_bits(a.switch_time.value, b.switch_time.value));
      EXPECT_TRUE(same_bits(a.kernel_time.value, b.kernel_time.value));
      EXPECT_EQ(whole.engine(e).counters().events, cut.engine(e).counters().events);
      EXPECT_EQ(whole.engine(e).curve().size(), cut.engine(e).curve().size());
      if (whole.engine(e).curve().empty()) continue;  // it had no request
      // What is not held by adapters, which nobody uses any more, is free.
      EXPECT_LE(whole.engine(e).curve().back().used_blocks, a.peak_pages);
      EXPECT_EQ(whole.engine(e).curve().back().running, 0);
      EXPECT_EQ(whole.engine(e).curve().back().waiting, 0);
    }
  }
}

}  // namespace
}  // namespace rollcast
