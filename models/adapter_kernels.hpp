// What adapters add to the steps of an engine that holds them apart from the weights, and what merging one
// costs.
//
// Beside a product y = x W^T run two kernels that pick each token's adapter (Punica; BGMV in decode, SGMV
// over prompts): shrink, x[t, k] to [t, rank], and expand, added to y[t, n]. With t tokens of D distinct
// adapters each takes
//   kAdapterKernel + D kAdapterSegment + max(moved, computed)
//   shrink  moved 2 B t k + 4 B t rank + D rank k     computed 2 t k rank
//   expand  moved 4 B t rank + 2 x 2 B t n + D rank n    computed 2 t rank n
// rows at the bandwidth of memory passes, matrices (2 B an element) at kAdapterGather of the card's,
// FLOPs at the rate of bf16 products. Column-parallel: n is cut by tp, A is whole; row-parallel: k is cut, B
// is whole; fully sharded: the other factor is cut too, for an exchange of the shrunk rows, as long as a
// kernel (assumed). Of experts every (adapter, expert) pair that a batch touches is read.
//
// Which products that are, and which share their kernels, is the engine's (adapter_release in
// engine_versions.hpp). vLLM runs them beside all projections that it wraps, zeros where an adapter has none;
// experts are counted where an adapter targets them (assumed). Padded ranks: the largest for all.
//
// Against Punica's own figure 9 (A100, one product of 4096 x 4096, 64 requests with an adapter each, two
// kernels): rank 8, 16, 32, 64 take 72, 75, 89, 118 us; here 11 to 16 us less, as with one request (29 of
// 42): launches outside a graph.
#pragma once

#include <span>
#include <vector>

#include "models/job.hpp"
#include "models/layer_prices.hpp"
#include "models/profile.hpp"

namespace rollcast {

// punica-ai/punica issue 27, Yi-34B with rank 32 on seven products of 60 layers, one sequence: 5 steps take
// 163.5 ms with the adapter and 102 ms without, 12.3 ms a step for 840 kernels. vLLM's expand kernel takes 10
// to 14 us (pull 32425).
inline constexpr Seconds kAdapterKernel = us(14.6);
// Of each distinct adapter in a kernel, and the share of the data sheet's bandwidth at which its matrix
// comes: Punica (Chen et al. 2023), figure 9, 64 distinct adapters against one: 30, 33, 47, 76 us more at
// rank 8, 16, 32, 64, a line through (bytes of A and B, time) with 18 us at 0 and 1.16 TB/s.
inline constexpr Seconds kAdapterSegment = us(0.145);
inline constexpr double kAdapterGather = 0.57;

// Of one variant in one step.
struct AdapterCounts {
  double tokens = 0;
  double distinct = 0;  // adapters
};

// What one variant costs in a kernel. s
struct AdapterShare {
  double rows = 0;    // a token's activations
  double matrix = 0;  // an adapter's matrix (of one expert)
  double flops = 0;   // a token's FLOPs
};

// One kernel of all layers of a kind.
struct AdapterKernel {
  double layers = 0;
  Matmul product;                        // for the experts that a batch touches
  std::vector<AdapterShare> of_variant;  // zeros: not run for it
};

struct AdapterKernels {
  std::vector<AdapterKernel> kernels;
  std::vector<AdapterKernel> plain;  // two products beside each target, at each adapter's own rank
  double groups = 1;                 // ranks that have tokens of their own
  double exchanges = 0;              // of shrunk rows (fully sharded)
  Seconds launches;                  // host time outside CUDA graphs
};

AdapterKernels adapter_kernels(Profile const& p, Architecture const& a, EngineOptions const& e,
                               ServedAdapters const& adapters);

// All layers of a step; of_variants as many as there are variants. 0 where no token has an adapter.
Seconds adapter_step_time(AdapterKernels const& k, std::span<AdapterCounts const> of_variants);

// What the launches of a step without CUDA graphs keep the host busy with, if a token has an adapter.
Seconds adapter_host_time(AdapterKernels const& k);

// Two plain products beside each target, for the tokens of one adapter of this variant.
Seconds adapter_split_time(AdapterKernels const& k, int variant, double tokens);

// B A added to the weights of one rank, or taken from them, as PEFT does it (peft/tuners/lora/layer.py, merge
// and unmerge; adapters are fp32 unless told otherwise, pull 1706): the product is written, scaled (read,
// written) and added (both read, the weights written); taken off it is cast before (read, written). So of an
// element 16 B and the weight twice to add, 20 B and the weight twice to take off; the mean of the two, which
// a switch has one of each. Or, if longer, the host's time for three eager operations a target.
Seconds merge_time(Profile const& p, Architecture const& a, EngineOptions const& e, AdapterVariant const& v);

}  // namespace rollcast
