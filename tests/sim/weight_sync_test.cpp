// A weight sync in a run: its phase takes what its parts come to, at the same time on both pools, and its
// spans tell the parts.
#include "models/weight_sync.hpp"

#include <gtest/gtest.h>

#include <map>

#include "sim/simulate.hpp"
#include "tests/models/price_fixtures.hpp"
#include "tests/sim/child_process.hpp"

namespace rollcast {
namespace {

// A node that trains and one that generates, taking turns; 291 tensors.
Scenario two_pools(WeightSyncOptions const& options) {
  Scenario s;
  s.name = "small";
  Job& job = s.job;
  job = llama_job(2);
  using enum Phase;
  job.framework.order = {generate, score, old_logprob, update_actor, weight_sync};
  job.framework.optimizer_offload = job.framework.parameters_offload = false;
  job.framework.reference_on_host = false;
  job.framework.sync_per_tensor = us(50);
  job.pools = {{"train", h100_cluster(1), false}, {"rollout", h100_cluster(1), false}};
  job.role_pools.rollout = 1;
  job.algorithm = {.prompts = 16, .group_size = 8, .train_batch = 128, .dynamic_sampling = {}, .adapter = {}};
  job.workload.prompt_tokens = {FixedLength{128}, 0, 0};
  job.workload.response_tokens = {FixedLength{128}, 0, 0};
  job.train.recompute = Recompute::full;
  job.train.distributed_optimizer = true;
  job.weight_sync = options;
  return s;
}

// Seconds of the first sync on one rank class of each pool, by label; "" is the window.
std::vector<double> times(WeightSyncOptions const& options, std::vector<SyncCause> const& causes) {
  return in_child([&] {
    EventLog const log = simulate(two_pools(options), round_profile(), {.steps = 1, .seed = 3});
    EXPECT_EQ(log.outcome, Outcome::completed) << log.outcome_reason;
    std::vector<double> out;
    for (int pool : {0, 1}) {
      for (PhaseWindow const& w : log.phases) {
        if (w.phase == Phase::weight_sync && w.pool == pool) out.push_back((w.end - w.start).value);
      }
      for (SyncCause const cause : causes) {
        double sum = 0;
        for (Span const& s : log.spans) {
          bool const here = log.rank_classes[static_cast<std::size_t>(s.rank_class)].pool == pool;
          bool const first =
              s.rank_class == 0 || log.rank_classes[static_cast<std::size_t>(s.rank_class) - 1].pool != pool;
          if (s.phase == Phase::weight_sync && here && first &&
              log.labels[static_cast<std::size_t>(s.label)] == name_of(cause))
            sum += (s.end - s.start).value;
        }
        out.push_back(sum);
      }
    }
    return out;
  });
}

// Loading 291 tensors of 20 ms is the slowest: 5.82 s, the walks of 30 buckets on top; the wire of 16 GB over
// one NIC of 45 GB/s runs beside it.
TEST(WeightSyncInARun, PartsRunBesideEachOtherOnBothPools) {
  auto const t =
      times({.load_per_tensor = ms(20)}, {SyncCause::load, SyncCause::wire, SyncCause::per_tensor});
  ASSERT_EQ(t.size(), 8U);
  for (std::size_t pool : {0U, 4U}) {
    EXPECT_NEAR(t[pool], t[pool + 1], 1e-9);
    EXPECT_NEAR(t[pool + 1], 291 * 20e-3, 0.03);
    EXPECT_NEAR(t[pool + 2], 2 * 8030261248.0 / 45e9, 1e-3);
    EXPECT_NEAR(t[pool + 3], 291 * 50e-6, 1e-9);
  }
}

TEST(WeightSyncInARun, InTurnThePartsAddUp) {
  std::vector<SyncCause> const causes = {SyncCause::setup, SyncCause::per_tensor, SyncCause::calls,
                                         SyncCause::wire,  SyncCause::load,       SyncCause::copy};
  auto const t = times({.method = SyncMethod::tensors,
                        .overlap = false,
                        .load_per_tensor = ms(1),
                        .call = ms(1),
                        .setup = seconds(1)},
                       causes);
  ASSERT_EQ(t.size(), 14U);
  double sum = 0;
  for (std::size_t i = 1; i <= causes.size(); ++i) sum += t[i];
  EXPECT_NEAR(t[0], sum, 1e-9);
  EXPECT_GT(t[0], 1 + 291 * 8 * 1e-3);
}

}  // namespace
}  // namespace rollcast
