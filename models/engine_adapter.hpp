// An adapter that a rollout engine keeps apart from the weights (adapter-only weight sync). A merged one
// costs nothing here.
#pragma once

#include "models/job.hpp"
#include "models/profile.hpp"
#include "models/step_prices.hpp"

namespace rollcast {

// The same prices with the adapter's kernels (models/adapter_kernels.hpp) on top of every step.
StepPrices with_adapter(StepPrices prices, Profile const& p, Architecture const& a, EngineOptions const& e,
                        Adapter const& adapter);

// What their launches keep the host busy with in a step without CUDA graphs.
Seconds adapter_launches(Profile const& p, Architecture const& a, EngineOptions const& e,
                         Adapter const& adapter);

}  // namespace rollcast
