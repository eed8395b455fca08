#include "models/switching.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/models/price_fixtures.hpp"

namespace rollcast {
namespace {

Node catalog_node(char const* name) { return *find_node(builtin_catalog(), name); }

double seconds_per_gb(Node const& node) {
  Profile p = round_profile();
  p.gpu = node.gpu;
  return shared_copy_time(p, node, {Direction::host_to_device, GB(1), "test"}).value;
}

// Hopper and Blackwell boards give every GPU an uplink of its own; two A100 share one; the memory of a socket
// (4 GPUs on 307 and 205 GB/s) keeps up. A Grace has 512 GB/s for two GPUs whose link could take 0.8 x 450
// GB/s each.
TEST(SharedCopyTime, IsThatOfTheNarrowestSharedPart) {
  EXPECT_NEAR(seconds_per_gb(catalog_node("hgx-h100")), 1 / (0.8 * 64), 1e-12);
  EXPECT_NEAR(seconds_per_gb(catalog_node("hgx-h200")), 1 / (0.8 * 64), 1e-12);
  EXPECT_NEAR(seconds_per_gb(catalog_node("hgx-b200")), 1 / (0.8 * 64), 1e-12);
  EXPECT_NEAR(seconds_per_gb(catalog_node("hgx-a100")), 2 / (0.8 * 32), 1e-12);
  EXPECT_NEAR(seconds_per_gb(catalog_node("gb200-tray")), 2 / 512.0, 1e-12);
  Node slow = catalog_node("hgx-h100");
  slow.host_memory_bandwidth = GB_per_s(160);  // 4 GPUs of a socket: 40 GB/s each
  EXPECT_NEAR(seconds_per_gb(slow), 1 / 40.0, 1e-12);
  slow.numa_nodes = 1;  // all eight
  EXPECT_NEAR(seconds_per_gb(slow), 1 / 20.0, 1e-12);
  slow.host_memory_bandwidth = BytesPerSecond(0);  // not known
  EXPECT_NEAR(seconds_per_gb(slow), 1 / (0.8 * 64), 1e-12);
  slow.gpus_per_pcie_switch = 100;  // the node still has eight
  EXPECT_NEAR(seconds_per_gb(slow), 8 / (0.8 * 64), 1e-12);
}

Job nemo_rl_job() {
  Job job = llama_job(2);
  job.algorithm.kl_reference = true;
  job.rollout.sleep_level = 1;
  job.framework.order = {Phase::generate,     Phase::score,       Phase::sleep,
                         Phase::advantage,    Phase::old_logprob, Phase::reference,
                         Phase::update_actor, Phase::weight_sync, Phase::wake};
  return job;
}

RankLedger small_ledger() {
  RankLedger l;
  l.lines = {{Role::actor, MemoryCategory::weights, GB(8), false, {}, "", ""},
             {Role::actor, MemoryCategory::weights, GB(8), true, {}, "", ""},
             {Role::actor, MemoryCategory::gradients, GB(7), false, {}, "", ""},
             {Role::actor, MemoryCategory::master_weights, GB(2), false, {}, "", ""},
             {Role::actor, MemoryCategory::optimizer_states, GB(4), false, {}, "", ""},
             {Role::reference, MemoryCategory::weights, GB(5), false, {}, "", ""},
             {Role::rollout, MemoryCategory::weights, GB(16), false, {}, "", ""}};
  return l;
}

// "< 8" is 8 GB to the host, "> 8" from it; a bar stands between before and after.
std::string copies(Job const& job, Phase phase) {
  Switching const s = switching(job, small_ledger(), phase);
  std::string text;
  auto const add = [&](std::vector<HostCopy> const& list) {
    for (HostCopy const& c : list) {
      text += c.direction == Direction::host_to_device ? ">" : "<";
      text += std::to_string(static_cast<int>(c.bytes.value / 1e9));
    }
  };
  add(s.before);
  text += "|";
  add(s.after);
  return text;
}

// NeMo-RL: gradients are dropped, never copied; the trainer's weights make way for the reference's and come
// back; masters and states (2 + 4 GB) return for the update alone.
TEST(Switching, MovesWhatTheFrameworkOffloads) {
  Job job = nemo_rl_job();
  EXPECT_EQ(copies(job, Phase::generate), "|");
  EXPECT_EQ(copies(job, Phase::sleep), "<16|");
  EXPECT_EQ(copies(job, Phase::old_logprob), ">8|");
  EXPECT_EQ(copies(job, Phase::reference), "<8>8|>8");
  EXPECT_EQ(copies(job, Phase::update_actor), ">6|");
  EXPECT_EQ(copies(job, Phase::weight_sync), "<6|<8");
  EXPECT_EQ(copies(job, Phase::wake), ">16|");
  job.rollout.sleep_level = 2;
  EXPECT_EQ(copies(job, Phase::sleep), "|");
  EXPECT_EQ(copies(job, Phase::wake), "|");
}

// An eager engine has no graphs to capture or map anew.
TEST(Switching, GraphsCostAWakeWhereThereAreAny) {
  Job job = nemo_rl_job();
  job.framework.wake_fixed = seconds(2);
  job.framework.wake_graphs = seconds(118);
  EXPECT_DOUBLE_EQ(switching(job, small_ledger(), Phase::wake).fixed.value, 120);
  job.rollout.cuda_graphs = false;
  EXPECT_DOUBLE_EQ(switching(job, small_ledger(), Phase::wake).fixed.value, 2);
}

// The trainer's weights come back when it first computes, wherever the step begins.
TEST(Switching, BringsTheTrainerBackWhenItIsNeeded) {
  using enum Phase;
  Job job = nemo_rl_job();
  job.framework.order = {weight_sync, wake, generate, sleep, reference, update_actor};
  EXPECT_EQ(copies(job, reference), ">8|>8");
  EXPECT_EQ(copies(job, update_actor), ">6|");
  job.framework.reference_on_host = false;
  EXPECT_EQ(copies(job, reference), ">8|");
  job.algorithm.kl_reference = false;
  EXPECT_EQ(copies(job, update_actor), ">8>6|");
  job.framework.parameters_offload = false;
  EXPECT_EQ(copies(job, update_actor), ">6|");
}

// What leaves the GPU in one step comes back in it.
TEST(Switching, BringsBackWhatItTakes) {
  Job job = nemo_rl_job();
  for (int options = 0; options < 8; ++options) {
    job.framework.parameters_offload = (options & 1) != 0;
    job.framework.optimizer_offload = (options & 2) != 0;
    job.framework.reference_on_host = false;
    job.rollout.sleep_level = (options & 4) != 0 ? 1 : 2;
    Bytes in;
    Bytes out;
    for (Phase p : {Phase::generate, Phase::sleep, Phase::old_logprob, Phase::reference, Phase::update_actor,
                    Phase::weight_sync, Phase::wake}) {
      Switching const s = switching(job, small_ledger(), p);
      for (auto const* list : {&s.before, &s.after}) {
        for (HostCopy const& c : *list) (c.direction == Direction::host_to_device ? in : out) += c.bytes;
      }
    }
    EXPECT_DOUBLE_EQ(in.value, out.value) << options;
  }
}

}  // namespace
}  // namespace rollcast
