// What adapters add to the steps of an engine that holds them apart from the weights.
//
// Beside each product y = x W^T that an adapter targets run two kernels that pick each token's adapter
// (Punica; BGMV in decode, SGMV over prompts): shrink, x[t, k] to [t, rank], and expand, added to y[t, n].
// With t tokens of D distinct adapters:
//   shrink  2 B x (t k + D rank k) + 4 B x t rank      expand  4 B x t rank + 2 B x (D rank n + 2 t n)
// at the bandwidth of memory passes, each at least kAdapterKernel; k or n cut by tp as the product is.
#pragma once

#include <span>
#include <vector>

#include "models/job.hpp"
#include "models/profile.hpp"

namespace rollcast {

// Of one variant in one step.
struct AdapterCounts {
  double tokens = 0;
  double distinct = 0;  // adapters
};

// One kernel of one product, in all layers alike. Vectors are by variant; 0 where it does not target the
// product.
struct AdapterKernel {
  double layers = 0;
  double floor = 0;                  // s
  std::vector<double> per_token;     // s
  std::vector<double> per_distinct;  // s
};

struct AdapterKernels {
  std::vector<AdapterKernel> kernels;
};

AdapterKernels adapter_kernels(Profile const& p, Architecture const& a, EngineOptions const& e,
                               ServedAdapters const& adapters);

// All layers of a step. 0 where no token has an adapter.
Seconds adapter_step_time(AdapterKernels const& k, std::span<AdapterCounts const> of_variants);

// What the launches of a step without CUDA graphs keep the host busy with.
Seconds adapter_host_time(AdapterKernels const& k);

// Two plain products beside each target, for the tokens of one adapter of this variant.
Seconds adapter_split_time(AdapterKernels const& k, int variant, double tokens);

// B A added to the weights of one rank, or taken from them.
Seconds merge_time(Profile const& p, Architecture const& a, EngineOptions const& e, AdapterVariant const& v);

}  // namespace rollcast
