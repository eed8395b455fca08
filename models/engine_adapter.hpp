// An adapter that a rollout engine keeps apart from the weights (adapter-only weight sync). A merged one
// costs nothing here.
//
// Beside each product y = x W^T that the adapter targets run two kernels in the manner of Punica: shrink,
// x[t, k] to [t, rank], and expand, added to y[t, n]. Each takes at least kAdapterKernel and the bytes it
// moves:
//   shrink  2 B x (t k + rank k) + 4 B x t rank      expand  4 B x t rank + 2 B x (rank n + 2 t n)
// at the bandwidth of memory passes, k or n cut by tp as the product is. Early releases of vLLM lose more
// than that between the steps (M01 of the published runs: a third of the throughput at rank 8).
#pragma once

#include "models/job.hpp"
#include "models/profile.hpp"
#include "models/step_prices.hpp"

namespace rollcast {

// One of the two: punica-ai/punica issue 27, Yi-34B with rank 32 on seven products of 60 layers, one
// sequence: 5 steps take 163.5 ms with the adapter and 102 ms without, 12.3 ms a step for 840 kernels.
inline constexpr Seconds kAdapterKernel = us(14.6);

// All layers, for `tokens` tokens of the engine.
Seconds adapter_time(Profile const& p, Architecture const& a, EngineOptions const& e, Adapter const& adapter,
                     double tokens);

// The same prices with that on top of every step.
StepPrices with_adapter(StepPrices prices, Profile const& p, Architecture const& a, EngineOptions const& e,
                        Adapter const& adapter);

}  // namespace rollcast
