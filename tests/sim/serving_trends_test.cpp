// How ways to serve many adapters compare, as trends of whole runs that must hold whatever the prices. One
// engine, 64 users, 512 + 128 tokens in the mean.
//
//   unified paging, skewed popularity  from 5 to 2,000 adapters throughput changes by a tenth at most (Sheng
//                                      et al. 2024, S-LoRA: thousands of adapters at a small overhead)
//   batches split by adapter           lose four fifths and more with 50 active adapters
//   merge and swap                     hundreds of milliseconds a switch at 70B with all projections
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/simulate.hpp"
#include "tests/models/serving_jobs.hpp"
#include "tests/sim/child_process.hpp"

namespace rollcast {
namespace {

Job tenants(std::string const& model, int tp, int count, Popularity popularity) {
  Job job = test::serving_job(catalog_model(model), tp);
  job.rollout.parallel.tp = tp;
  job.rollout.max_num_seqs = 256;
  job.workload.prompt_tokens = {LogNormalLength{5.74, 1, 4096}, 0, 4096};
  job.workload.response_tokens = {LogNormalLength{4.35, 1, 1024}, 0, 1024};
  job.serve->requests = 2000;
  job.serve->arrivals.kind = ArrivalKind::closed;
  job.serve->arrivals.users = 64;
  job.serve->adapters.count = count;
  job.serve->adapters.popularity = popularity;
  return job;
}

struct Served {
  double requests_per_second = 0;
  double switches = 0;
  double switch_seconds = 0;
};

Served serve_all(Job const& job) {
  std::vector<double> const v = in_child([&] {
    Scenario s;
    s.name = "tenants";
    s.job = job;
    EventLog const log = simulate(s, round_profile(), {.steps = 1, .seed = 1});
    EXPECT_EQ(log.outcome, Outcome::completed) << log.outcome_reason;
    Seconds last;
    for (ServedRequest const& r : log.serving->requests) last = max(last, r.finish);
    AdapterUse const& use = log.serving->engines.at(0);
    return std::vector<double>{static_cast<double>(log.serving->requests.size()) / last.value,
                               static_cast<double>(use.switches), use.switch_time.value};
  });
  return {v.at(0), v.at(1), v.at(2)};
}

TEST(ServingTrends, UnifiedPagingHardlyMindsTheNumberOfAdapters) {
  std::vector<double> rates;
  for (int count : {5, 50, 500, 2000}) {
    Job job = tenants("llama-2-7b", 1, count, Popularity::zipf);
    job.serve->adapters.pool = AdapterPool::unified;
    job.serve->adapters.loading = AdapterLoading::overlapped;
    rates.push_back(serve_all(job).requests_per_second);
  }
  auto const [least, most] = std::minmax_element(rates.begin(), rates.end());
  EXPECT_GT(*least, 0.9 * *most);
}

TEST(ServingTrends, SplittingBatchesLosesMoreThanFourFifths) {
  Job job = tenants("llama-2-7b", 1, 50, Popularity::uniform);
  double const batched = serve_all(job).requests_per_second;
  job.serve->adapters.execution = AdapterExecution::split;
  EXPECT_LT(serve_all(job).requests_per_second, 0.2 * batched);
  job.serve->adapters.execution = AdapterExecution::none;
  EXPECT_GT(serve_all(job).requests_per_second, batched);
}

TEST(ServingTrends, ASwitchOf70BTakesHundredsOfMilliseconds) {
  Job job = tenants("llama-3-70b", 4, 50, Popularity::zipf);
  job.serve->requests = 200;
  job.serve->adapters.variants = {{16, {"q", "k", "v", "o", "gate", "up", "down"}}};
  double const batched = serve_all(job).requests_per_second;
  job.serve->adapters.execution = AdapterExecution::merged;
  Served const merged = serve_all(job);
  ASSERT_GT(merged.switches, 20);
  EXPECT_GT(merged.switch_seconds / merged.switches, 0.1);
  EXPECT_LT(merged.switch_seconds / merged.switches, 1.0);
  EXPECT_LT(merged.requests_per_second, batched);
}

}  // namespace
}  // namespace rollcast
