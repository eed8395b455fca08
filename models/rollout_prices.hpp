// The tables a rollout engine runs on, from profile, architecture and engine options; and how much KV it has.
#pragma once

#include "models/job.hpp"
#include "models/profile.hpp"
#include "models/step_prices.hpp"

namespace rollcast {

// cluster gives the tensor-parallel group its interconnect.
StepPrices rollout_step_prices(Profile const& p, Architecture const& a, EngineOptions const& e,
                               ClusterSpec const& c);

// FLOPs and HBM bytes of one rank for `tokens` dense tokens and `context` KV tokens read in `steps` steps:
// for MFU and MBU.
struct RolloutWork {
  Flops flops;
  Bytes hbm;
};
RolloutWork rollout_work(Architecture const& a, EngineOptions const& e, double dense_tokens,
                         double decode_context_sum, double steps);

}  // namespace rollcast
