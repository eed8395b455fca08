// Runs that serve: when requests are answered, what adapters cost on the way, and what must hold for all.
#include "sim/serving.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "models/arrivals.hpp"
#include "tests/models/serving_jobs.hpp"
#include "tests/sim/child_process.hpp"
#include "tests/sim/random_jobs.hpp"

namespace rollcast {
namespace {

EventLog run(Job const& job) {
  Scenario s;
  s.name = "serving";
  s.job = job;
  return simulate(s, round_profile(), {.steps = 1, .seed = 1});
}

// Engines of tp 1 on `gpus` H100s of a node, two behind a PCIe switch.
Job llama_serving(int gpus) {
  Job job = test::serving_job(catalog_model("llama-3.1-8b"), gpus);
  job.cluster.node.gpus_per_pcie_switch = 2;
  job.cluster.node.nvme_read = GB_per_s(10);
  job.rollout.max_num_seqs = 64;
  job.serve->adapters.count = 8;
  job.serve->requests = 60;
  job.serve->arrivals.rate = 20;
  return job;
}

void trace(Job& job, std::vector<ServeRequest> rows) {
  job.serve->arrivals.kind = ArrivalKind::trace;
  job.serve->arrivals.trace = std::move(rows);
  job.serve->requests = 0;
}

// Of each request: arrival, first token, finish, engine.
std::vector<double> flat(EventLog const& log) {
  std::vector<double> out;
  EXPECT_EQ(log.outcome, Outcome::completed) << log.outcome_reason;
  if (!log.serving) return out;
  for (ServedRequest const& r : log.serving->requests) {
    for (double v : {r.arrival.value, r.first_token.value, r.finish.value, static_cast<double>(r.engine)})
      out.push_back(v);
  }
  return out;
}

std::vector<double> served(Job const& job) {
  return in_child([&] { return flat(run(job)); });
}

double ttft(std::vector<double> const& flat, std::size_t request) {
  return flat.at(4 * request + 1) - flat.at(4 * request);
}

// 32 x 16 x ((4,096 + 4,096) + (4,096 + 1,024)) x 2 B = 13.6 MB over 51.2 GB/s is less than 128 calls of 5
// us.
constexpr double k8bBytes = 32.0 * 16 * (8192 + 5120) * 2;
constexpr double kPcie = 51.2e9;
constexpr double kCalls = 128 * 5e-6;

// Rank 64: 54.5 MB take longer than the calls.
constexpr double kRank64 = 5e-6 + 4 * k8bBytes / kPcie;

// The adapter comes first, then the same prompt as of the second request, whose adapter is there.
TEST(Serving, AColdAdapterComesBeforeTheFirstToken) {
  for (int rank : {16, 64}) {
    Job job = llama_serving(1);
    job.serve->adapters.variants = {{rank, {"q", "v"}}};
    trace(job, {{Seconds(0), 100, 50, 3}, {Seconds(5), 100, 50, 3}});
    auto const at = served(job);
    EXPECT_NEAR(ttft(at, 0) - ttft(at, 1), rank == 16 ? kCalls : kRank64, 1e-8) << rank;
    // No other token waits.
    EXPECT_NEAR(at.at(2) - at.at(1), at.at(6) - at.at(5), 1e-9) << rank;
  }
}

// Engines 0 and 1 are behind one port, 2 is not: the first two wait for 109 MB over it.
TEST(Serving, LoadsBehindOneSwitchShareIt) {
  Job job = llama_serving(4);
  job.serve->adapters.variants = {{64, {"q", "v"}}};
  std::vector<ServeRequest> rows;
  for (int i = 0; i < 3; ++i) rows.push_back({Seconds(0), 100, 50, i});
  for (int i = 0; i < 3; ++i) rows.push_back({Seconds(5), 100, 50, i});
  trace(job, rows);
  job.rollout.balance = EngineBalance::round_robin;
  job.cluster.node.gpus = 3;
  auto const at = served(job);
  for (std::size_t i = 0; i < 3; ++i) {
    double const load = ttft(at, i) - ttft(at, i + 3);
    EXPECT_NEAR(load, i < 2 ? kRank64 + 4 * k8bBytes / kPcie : kRank64, 1e-8) << i;
  }
}

// What the host does not hold is read at 10 GB/s first.
TEST(Serving, StorageComesBeforeTheHost) {
  Job job = llama_serving(1);
  trace(job, {{Seconds(0), 100, 50, 3}, {Seconds(5), 100, 50, 3}});
  job.serve->adapters.host_adapters = 2;
  auto const at = served(job);
  EXPECT_NEAR(ttft(at, 0) - ttft(at, 1), k8bBytes / 10e9 + kCalls, 1e-8);
}

// 5 requests of 3 users: two come when others are answered.
TEST(Serving, AUserAsksAgainWhenAnswered) {
  Job job = llama_serving(1);
  job.serve->arrivals.kind = ArrivalKind::closed;
  job.serve->arrivals.users = 3;
  job.serve->requests = 50;
  job.workload.response_tokens = {LogNormalLength{3.5, 0.8, 300}, 0, 300};
  auto const at = served(job);
  std::vector<double> finish;
  for (std::size_t i = 0; i < 50; ++i) finish.push_back(at.at(4 * i + 2));
  std::sort(finish.begin(), finish.end());
  for (std::size_t i = 0; i < 50; ++i) EXPECT_DOUBLE_EQ(at.at(4 * i), i < 3 ? 0 : finish[i - 3]) << i;
}

// Without adapters their number, ranks and pools mean nothing; where each engine has one merged for good,
// requests go to the engine of theirs and cost what the base model does.
TEST(Serving, WithoutKernelsItIsThePlainFleet) {
  Job job = llama_serving(2);
  job.serve->adapters.execution = AdapterExecution::none;
  auto const plain = served(job);
  ASSERT_EQ(plain.size(), 4U * 60);
  job.serve->adapters.slots = 3;
  job.serve->adapters.variants = {{64, {"q", "k", "v", "o"}}};
  EXPECT_EQ(served(job), plain);
  job.serve->adapters.execution = AdapterExecution::deployments;
  job.serve->adapters.count = 2;
  auto const apart = served(job);
  auto const requests = serve_requests(*job.serve, job.workload, 1);
  ASSERT_EQ(apart.size(), plain.size());
  for (std::size_t i = 0; i < requests.size(); ++i)
    EXPECT_DOUBLE_EQ(apart.at(4 * i + 3), requests[i].adapter);
  trace(job, {{Seconds(0), 100, 50, 1}});
  auto const merged = served(job);
  job.serve->adapters.execution = AdapterExecution::none;
  EXPECT_DOUBLE_EQ(served(job)[2], merged.at(2));
}

// Requests of -1 load nothing.
TEST(Serving, ARequestForTheBaseModelLoadsNothing) {
  Job job = llama_serving(1);
  trace(job, {{Seconds(0), 100, 50, -1}, {Seconds(5), 100, 50, -1}});
  auto const at = served(job);
  EXPECT_NEAR(ttft(at, 0), ttft(at, 1), 1e-12);
}

// 100 idle seconds between two requests: the GPU is busy while it answers, and only then.
TEST(Serving, AnIdleEngineLeavesNoSpan) {
  Job job = llama_serving(1);
  trace(job, {{Seconds(0), 100, 50, 0}, {Seconds(100), 100, 50, 0}});
  in_child([&] {
    EventLog const log = run(job);
    double computes = 0;
    double waits = 0;
    for (Span const& s : log.spans) {
      (s.activity == Activity::compute ? computes : waits) += (s.end - s.start).value;
    }
    AdapterUse const& use = log.serving->engines.at(0);
    EXPECT_NEAR(computes, use.busy.value, 1e-9);
    EXPECT_NEAR(waits, kCalls, 1e-8);
    EXPECT_EQ(log.steps.size(), 1U);
    EXPECT_EQ(log.steps[0].samples, 2);
    EXPECT_EQ(log.steps[0].prompt_tokens, 200);
    EXPECT_EQ(log.steps[0].response_tokens, 100);
    return std::vector<double>{};
  });
}

// More slots than memory: a refusal, with the number that fit.
TEST(Serving, SlotsBeyondTheMemoryAreARefusal) {
  Job job = llama_serving(1);
  job.serve->adapters.slots = 100'000;
  in_child([&] {
    EventLog const log = run(job);
    EXPECT_EQ(log.outcome, Outcome::refused);
    EXPECT_NE(log.outcome_reason.find("at most"), std::string::npos) << log.outcome_reason;
    return std::vector<double>{};
  });
}

// KV pages that are told as bytes leave no room for 3,000 slots of 13.6 MB, 41 GB, beside 16 GB of weights:
// the driver has no more to give.
TEST(Serving, SlotsBesideToldKvPagesAreAnOom) {
  Job job = llama_serving(1);
  job.serve->adapters.slots = 3000;
  job.rollout.kv_cache_bytes = GB(40);
  in_child([&] {
    EventLog const log = run(job);
    EXPECT_EQ(log.outcome, Outcome::oom);
    EXPECT_EQ(log.ooms.size(), 1U);
    EXPECT_NE(log.outcome_reason.find("rollout kv_pages"), std::string::npos) << log.outcome_reason;
    return std::vector<double>{};
  });
}

// More adapters than the host's memory holds: out of memory, of the host.
TEST(Serving, AdaptersBeyondTheHostsMemory) {
  Job job = llama_serving(1);
  job.serve->adapters.slots = 8;
  job.serve->adapters.count = 200'000;  // 2.7 TB
  in_child([&] {
    EventLog const log = run(job);
    EXPECT_EQ(log.outcome, Outcome::oom);
    EXPECT_NE(log.outcome_reason.find("host memory"), std::string::npos) << log.outcome_reason;
    return std::vector<double>{};
  });
}

Job draw_serving(Draw& draw) {
  Job job = llama_serving(draw.of({1, 2, 8}));
  job.rollout.max_num_seqs = draw.of({2, 8, 64});
  job.rollout.prefix_caching = draw.coin();
  job.rollout.balance = draw.of({EngineBalance::contiguous, EngineBalance::round_robin});
  if (job.cluster.node.gpus > 1) job.rollout.parallel.tp = draw.of({1, 2});
  job.workload.prompt_tokens = {LogNormalLength{5, 1, 2000}, 0, 2000};
  job.workload.response_tokens = {LogNormalLength{3.5, 0.8, 300}, 0, 300};
  ServeOptions& s = *job.serve;
  s.requests = draw.of({1, 7, 200});
  s.order = draw.of({ServeOrder::first_come, ServeOrder::grouped, ServeOrder::fair});
  s.patience = Seconds(draw.of({0.0, 0.5}));
  s.arrivals.kind = draw.of({ArrivalKind::poisson, ArrivalKind::bursts, ArrivalKind::closed});
  s.arrivals.rate = draw.of({1.0, 20.0, 500.0});
  s.arrivals.variation = 3;
  s.arrivals.users = draw.of({1, 16});
  ServedAdapters& a = s.adapters;
  a.count = draw.of({1, 5, 40});
  a.popularity =
      draw.of({Popularity::uniform, Popularity::zipf, Popularity::identical, Popularity::distinct});
  if (draw.coin()) a.variants = {{8, {"q", "v"}}, {64, {"q", "k", "v", "o", "gate", "up", "down"}}};
  a.execution = draw.of({AdapterExecution::none, AdapterExecution::batched, AdapterExecution::batched,
                         AdapterExecution::split, AdapterExecution::merged});
  a.padded_ranks = draw.coin();
  a.pool = draw.of({AdapterPool::fixed, AdapterPool::unified});
  a.slots = draw.of({0, 1, 3});
  a.eviction = draw.of({AdapterEviction::lru, AdapterEviction::popularity});
  a.loading = draw.of({AdapterLoading::blocking, AdapterLoading::overlapped});
  if (a.loading == AdapterLoading::overlapped) a.prefetch = draw.of({0, 4});
  a.host_adapters = draw.of({0, 0, 2});
  a.batch_limit = draw.of({0, 2});
  return job;
}

// Every request is answered once, after it came; engines compute no longer than there is time; the loads are
// those that were begun; the same bytes twice.
TEST(Serving, RandomRuns) {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    Draw draw(seed);
    Job const job = draw_serving(draw);
    auto const once = [&] {
      return in_child([&] {
        EventLog const log = run(job);
        EXPECT_EQ(log.outcome, Outcome::completed) << log.outcome_reason;
        if (!log.serving) return std::vector<double>{};
        std::vector<double> numbers = flat(log);
        double busy = 0;
        for (AdapterUse const& u : log.serving->engines) {
          busy += u.busy.value;
          EXPECT_GE(u.loads, u.storage_loads);
          EXPECT_LE(u.exposed.value, u.load_time.value + 1e-9);
          for (double v : {static_cast<double>(u.loads), static_cast<double>(u.hits), u.moved.value,
                           u.exposed.value, u.kernel_time.value, u.switch_time.value})
            numbers.push_back(v);
        }
        double computes = 0;
        for (Span const& s : log.spans) {
          EXPECT_LE(s.end.value, log.steps.at(0).end.value + 1e-9);
          auto const ranks =
              static_cast<double>(log.rank_classes[static_cast<std::size_t>(s.rank_class)].ranks.size());
          if (s.activity == Activity::compute)
            computes += (s.end - s.start).value * ranks / job.rollout.parallel.tp;
        }
        EXPECT_NEAR(computes, busy, 1e-6 * busy);
        return numbers;
      });
    };
    auto const numbers = once();
    auto const requests = serve_requests(*job.serve, job.workload, 1);
    ASSERT_GE(numbers.size(), 4 * requests.size()) << seed;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      double const arrival = numbers[4 * i];
      EXPECT_LT(arrival, numbers[4 * i + 1]) << seed;
      EXPECT_LE(numbers[4 * i + 1], numbers[4 * i + 2]) << seed;
      EXPECT_GE(arrival, i > 0 ? numbers[4 * (i - 1)] : 0) << seed;
      bool const open = job.serve->arrivals.kind != ArrivalKind::closed;
      EXPECT_DOUBLE_EQ(arrival, open ? requests[i].arrival.value : arrival);
    }
    EXPECT_EQ(once(), numbers) << seed;
    if (HasFailure()) FAIL() << "seed " << seed;
  }
}

}  // namespace
}  // namespace rollcast
