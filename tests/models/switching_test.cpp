#include "models/switching.hpp"

#include <gtest/gtest.h>

#include "tests/models/price_fixtures.hpp"

namespace rollcast {
namespace {

// A rank with 4 GB of trainer weights, 6 GB + 12 GB of optimizer, 16 GB of engine weights.
RankLedger rank() {
  RankLedger l;
  auto const add = [&](Role role, MemoryCategory category, double gigabytes, bool host = false) {
    LedgerLine line;
    line.role = role;
    line.category = category;
    line.bytes = GB(gigabytes);
    line.host = host;
    l.lines.push_back(line);
  };
  add(Role::actor, MemoryCategory::weights, 4);
  add(Role::actor, MemoryCategory::weights, 4, true);  // a host copy does not count
  add(Role::actor, MemoryCategory::master_weights, 6);
  add(Role::actor, MemoryCategory::optimizer_states, 12);
  add(Role::rollout, MemoryCategory::weights, 16);
  return l;
}

Job colocated() {
  Job job = llama_job(1);
  job.framework.reference_on_host = true;
  job.framework.optimizer_offload = true;
  job.framework.parameters_offload = true;
  job.framework.sleep_fixed = seconds(0.4);
  job.framework.wake_fixed = seconds(0.6);
  job.rollout.sleep_level = 1;
  return job;
}

double sum(std::vector<HostCopy> const& copies, Direction direction) {
  double bytes = 0;
  for (HostCopy const& c : copies) {
    if (c.direction == direction) bytes += c.bytes.value;
  }
  return bytes;
}

TEST(Switching, EngineWeightsLeaveAndComeBack) {
  Job job = colocated();
  Switching const sleep = switching(job, rank(), Phase::sleep);
  EXPECT_DOUBLE_EQ(sum(sleep.before, Direction::device_to_host), 16e9);
  EXPECT_DOUBLE_EQ(sleep.fixed.value, 0.4);
  Switching const wake = switching(job, rank(), Phase::wake);
  EXPECT_DOUBLE_EQ(sum(wake.before, Direction::host_to_device), 16e9);
  EXPECT_DOUBLE_EQ(wake.fixed.value, 0.6);
  job.rollout.sleep_level = 2;  // dropped, and sent again by the sync
  EXPECT_TRUE(switching(job, rank(), Phase::sleep).before.empty());
  EXPECT_TRUE(switching(job, rank(), Phase::wake).before.empty());
}

// Over a whole step as many bytes come to the GPU as leave it.
TEST(Switching, AStepBringsEverythingBackWhereItWas) {
  Job const job = colocated();
  double in = 0;
  double out = 0;
  for (Phase phase : {Phase::generate, Phase::sleep, Phase::old_logprob, Phase::reference,
                      Phase::update_actor, Phase::weight_sync, Phase::wake}) {
    Switching const s = switching(job, rank(), phase);
    in += sum(s.before, Direction::host_to_device) + sum(s.after, Direction::host_to_device);
    out += sum(s.before, Direction::device_to_host) + sum(s.after, Direction::device_to_host);
  }
  EXPECT_GT(in, 0);
  // The reference weights come in and are overwritten, 4 GB that do not go back.
  EXPECT_DOUBLE_EQ(in, out + 4e9);
}

TEST(Switching, WithoutOffloadTheTrainerMovesNothing) {
  Job job = colocated();
  job.framework.reference_on_host = false;
  job.framework.optimizer_offload = false;
  job.framework.parameters_offload = false;
  for (Phase phase : {Phase::old_logprob, Phase::reference, Phase::update_actor, Phase::weight_sync}) {
    Switching const s = switching(job, rank(), phase);
    EXPECT_TRUE(s.before.empty() && s.after.empty()) << name_of(phase);
  }
}

}  // namespace
}  // namespace rollcast
