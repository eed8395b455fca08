#include "reports/sweep_columns.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace rollcast {
namespace {

// One step of 2 s on 8 + 8 GPUs; the second pool is nearer to its capacity (60 of 80 against 10 of 20 GB).
Headline headline() {
  Headline h;
  h.gpus = 16;
  h.steps = 1;
  h.step = Seconds(2);
  h.tokens_per_second_per_gpu = 1.0 / 3;
  h.samples_per_second = 4;
  h.gpu_hours_per_step = 0.5;
  h.mean_response_tokens = 100;
  h.mean_staleness = 1;
  h.preemptions = 3;
  h.sync = Seconds(0.25);
  h.pools = {{"train", 8, 0.5, 0.4, 0, bytes(10e9), bytes(20e9), Phase::update_actor, {}, {}},
             {"gen, too", 8, 1.0, 0, 0.5, bytes(60e9), bytes(80e9), Phase::generate, {}, {}}};
  return h;
}

TEST(SweepCsv, HasALineForEachPointInTheirOrder) {
  Headline infeasible;
  infeasible.outcome = Outcome::infeasible;
  infeasible.reason = "tp: \"3\" is too much";
  EXPECT_EQ(sweep_csv({{"b", {"[1,2]", "x"}}}, {headline(), infeasible}),
            "b,outcome,reason,gpus,steps,step_seconds,tokens_per_second_per_gpu,samples_per_second,"
            "gpu_hours_per_step,dollars_per_step,weight_sync_seconds,busy_fraction,mfu,mean_response_tokens,"
            "mean_staleness,preemptions,peak_memory_pool,peak_memory_phase,peak_memory_bytes,"
            "memory_capacity_bytes\n"
            // busy (8 x 0.5 + 8 x 1) / 16, mfu (8 x 0.4) / 16; no price, so no cost
            "\"[1,2]\",completed,,16,1,2,0.333333333,4,0.5,,0.25,0.75,0.2,100,1,3,\"gen, too\",generate,"
            "60000000000,80000000000\n"
            "x,infeasible,\"tp: \"\"3\"\" is too much\",,0,,,,,,,,,,,,,,,\n");
}

TEST(SweepCsv, NeedsAHeadlineForEachPoint) {
  EXPECT_THROW(sweep_csv({{"a", {"1", "2"}}}, {Headline()}), std::logic_error);
}

}  // namespace
}  // namespace rollcast
