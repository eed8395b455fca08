// How long adapters are under way: alone, beside others, from storage.
//
// The node: eight H100s, two behind a PCIe switch, four on a NUMA node; PCIe 0.8 x 64 = 51.2 GB/s, host
// memory 200 GB/s, drives read 10 GB/s. The adapter: Llama-3-70B with square q and v, rank 16, 83,886,080 B,
// 320 factors; a call takes 5 us.
#include "sim/adapter_loads.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/models/serving_jobs.hpp"
#include "tests/sim/child_process.hpp"

namespace rollcast {
namespace {

constexpr double k70b = 83'886'080;
constexpr double kPcie = 51.2e9;
constexpr double kCall = 5e-6;
constexpr double kFlow = 2e-9;  // flows are exact to this

Job job_of(int tp) {
  Architecture a = catalog_model("llama-3-70b");
  a.kv_heads = a.heads;
  Job job = test::serving_job(a, 8);
  job.cluster.node.gpus_per_pcie_switch = 2;
  job.cluster.node.host_memory_bandwidth = GB_per_s(200);
  job.cluster.node.nvme_read = GB_per_s(10);
  job.rollout.parallel.tp = tp;
  job.serve->adapters.count = 8;
  return job;
}

struct Wanted {
  double at = 0;
  int engine = 0;
  int adapter = 0;
};

// When each adapter is there, in the order of `wanted`; then loads from storage of all engines.
std::vector<double> arrivals(Job const& job, std::vector<Wanted> const& wanted) {
  return in_child([&] {
    Profile const profile = round_profile();
    Engine engine;
    AdapterRoutes const routes = adapter_routes(engine, job, profile);
    AdapterLoads loads(engine, routes, job.serve->adapters);
    std::vector<double> at(wanted.size(), -1);
    for (Wanted const& w : wanted)
      engine.at(Seconds(w.at), [&loads, w] { loads.start(w.engine, w.adapter); });
    engine.spawn("test", [&] {
      for (std::size_t left = wanted.size(); left > 0;) {
        engine.wait(loads.arrived());
        for (AdapterLoads::Loaded const& l : loads.take()) {
          for (std::size_t i = 0; i < wanted.size(); ++i) {
            if (wanted[i].engine == l.engine && wanted[i].adapter == l.adapter && at[i] < 0) {
              at[i] = engine.now().value;
              break;
            }
          }
          --left;
        }
      }
    });
    EXPECT_TRUE(engine.run().leftovers.empty());
    EXPECT_FALSE(loads.under_way());
    double from_storage = 0;
    for (int e = 0; e < rollout_engines(job); ++e)
      from_storage += static_cast<double>(loads.storage_loads(e));
    at.push_back(from_storage);
    return at;
  });
}

// 83.9 MB at 51.2 GB/s: 1.64 ms, behind one call.
TEST(AdapterLoads, FromHostMemory) {
  auto const at = arrivals(job_of(1), {{0.25, 0, 3}});
  EXPECT_NEAR(at[0], 0.25 + kCall + k70b / kPcie, kFlow);
  EXPECT_DOUBLE_EQ(at[1], 0);
}

// Over PCIe 4 x16, of which nvbandwidth gets 0.81 x 32 GB/s on an A100 node: 3.24 ms and a call.
TEST(AdapterLoads, OverPcie4) {
  Job job = job_of(1);
  job.cluster.node.gpu = *find_gpu(builtin_catalog(), "a100-sxm-80gb");
  double const told = in_child([&] {
    Profile profile = round_profile();
    profile.pcie.value = 0.81;
    Engine engine;
    return std::vector<double>{cold_load(adapter_routes(engine, job, profile), 0).value};
  })[0];
  EXPECT_NEAR(told, kCall + k70b / 25.92e9, kFlow);
  EXPECT_NEAR(told, 3.24e-3, 0.01e-3);
}

// GPUs 0 and 1 are behind one switch, whose port to the host is as fast as one of theirs; GPU 2 is not.
TEST(AdapterLoads, TwoBehindOneSwitchShareItsPort) {
  auto const at = arrivals(job_of(1), {{0, 0, 0}, {0, 1, 1}, {0, 2, 2}});
  EXPECT_NEAR(at[0], kCall + 2 * k70b / kPcie, kFlow);
  EXPECT_NEAR(at[1], kCall + 2 * k70b / kPcie, kFlow);
  EXPECT_NEAR(at[2], kCall + k70b / kPcie, kFlow);
}

// A second load half way through the first: half of it is left, at half the rate.
TEST(AdapterLoads, ALaterLoadSlowsTheFirst) {
  double const alone = k70b / kPcie;
  auto const at = arrivals(job_of(1), {{0, 0, 0}, {alone / 2, 1, 1}});
  EXPECT_NEAR(at[0], kCall + 1.5 * alone, kFlow);
  EXPECT_NEAR(at[1], kCall + 2 * alone, kFlow);
}

// At tp 2 a rank gets A whole and half of B, 80 x 2 x 16 x (8,192 + 4,096) x 2 B = 62.9 MB, and both ranks of
// an engine are behind one port.
TEST(AdapterLoads, RanksOfAnEngineShareAPort) {
  double const rank = 80.0 * 2 * 16 * (8192 + 4096) * 2;
  auto const at = arrivals(job_of(2), {{0, 0, 0}, {0, 1, 1}});
  EXPECT_NEAR(at[0], kCall + 2 * rank / kPcie, kFlow);
  EXPECT_NEAR(at[1], kCall + 2 * rank / kPcie, kFlow);
}

// A rank-1 adapter is 5.2 MB, 0.1 ms; its 320 calls take 1.6 ms.
TEST(AdapterLoads, CallsOfSmallFactorsTakeLonger) {
  Job job = job_of(1);
  job.serve->adapters.variants = {{1, {"q", "v"}}};
  EXPECT_NEAR(arrivals(job, {{0, 0, 0}})[0], 320 * kCall, kFlow);
}

// The whole adapter from the drives at 10 GB/s, 8.39 ms, then over PCIe. What is there afterwards need not be
// read again; engine 2 joins a read under way.
TEST(AdapterLoads, StorageFirst) {
  Job job = job_of(1);
  job.serve->adapters.host_adapters = 2;
  double const read = k70b / 10e9;
  double const copy = kCall + k70b / kPcie;
  auto const at = arrivals(job, {{0, 0, 0}, {read / 2, 2, 0}, {1, 4, 0}});
  EXPECT_NEAR(at[0], read + copy, kFlow);
  EXPECT_NEAR(at[1], read + copy, kFlow);
  EXPECT_NEAR(at[2], 1 + copy, kFlow);
  EXPECT_DOUBLE_EQ(at[3], 2);
}

// The host holds two: adapter 0 was used last when 2 comes, so 1 goes.
TEST(AdapterLoads, TheHostForgetsWhatWasUsedLeastRecently) {
  Job job = job_of(1);
  job.serve->adapters.host_adapters = 2;
  double const copy = kCall + k70b / kPcie;
  double const cold = k70b / 10e9 + copy;
  auto const at =
      arrivals(job, {{0, 0, 0}, {1, 0, 1}, {2, 2, 0}, {3, 0, 2}, {4, 4, 0}, {5, 2, 2}, {6, 2, 1}});
  EXPECT_NEAR(at[2], 2 + copy, kFlow);
  EXPECT_NEAR(at[3], 3 + cold, kFlow);
  EXPECT_NEAR(at[4], 4 + copy, kFlow);
  EXPECT_NEAR(at[5], 5 + copy, kFlow);
  EXPECT_NEAR(at[6], 6 + cold, kFlow);
  EXPECT_DOUBLE_EQ(at[7], 4);
}

// Room for one: the second read begins when the first adapter has been copied.
TEST(AdapterLoads, AReadWaitsForRoom) {
  Job job = job_of(1);
  job.serve->adapters.host_adapters = 1;
  double const cold = k70b / 10e9 + kCall + k70b / kPcie;
  auto const at = arrivals(job, {{0, 0, 0}, {0, 2, 1}});
  EXPECT_NEAR(at[0], cold, kFlow);
  EXPECT_NEAR(at[1], 2 * cold, 2 * kFlow);
}

// Engines of 12 ranks, 0 on nodes 0 and 1, 1 on nodes 1 and 2, room for one adapter on each node. While
// engine 1 copies adapter 0, engine 0 wants adapter 1, which finds room on node 0 alone, and then adapter 0,
// which node 1 has: it must not keep it there from adapter 1, which holds node 0. So one comes after the
// other. Of 27 layers of 80 a rank gets A whole and a quarter of B, 17.7 MB, two behind a port.
TEST(AdapterLoads, LoadsOfSeveralNodesDoNotWaitForEachOther) {
  Job job = job_of(4);
  job.cluster.nodes = 3;
  job.rollout.parallel.pp = 3;
  job.serve->adapters.host_adapters = 1;
  double const read = k70b / 10e9;
  double const cold = read + kCall + 2 * 27.0 * 2 * 16 * (8192 + 2048) * 2 / kPcie;
  auto const at = arrivals(job, {{0, 1, 0}, {read * 1.01, 0, 1}, {read * 1.02, 0, 0}});
  EXPECT_NEAR(at[0], cold, kFlow);
  EXPECT_NEAR(at[1], 2 * cold, 2 * kFlow);
  EXPECT_NEAR(at[2], 3 * cold, 3 * kFlow);
  EXPECT_DOUBLE_EQ(at[3], 3);
}

TEST(AdapterLoads, ColdLoadIsThatOfAnEngineAlone) {
  for (int tp : {1, 2, 4, 8}) {
    Job const job = job_of(tp);
    double const told = in_child([&] {
      Profile const profile = round_profile();
      Engine engine;
      return std::vector<double>{cold_load(adapter_routes(engine, job, profile), 0).value};
    })[0];
    EXPECT_NEAR(arrivals(job, {{0, 0, 0}})[0], told, kFlow) << tp;
  }
}

}  // namespace
}  // namespace rollcast
