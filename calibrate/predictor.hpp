// What a profile says of a measured point: the seam between profiles and checks.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "calibrate/sample.hpp"
#include "models/profile.hpp"

namespace rollcast {

struct Predictor {
  std::string operation;
  // nullopt: this predictor has no price for such a sample; a later one of the same operation may.
  std::function<std::optional<Seconds>(Sample const&)> price;
  // Whether the price at this shape is one that the fit was given, not one between; empty: never.
  std::function<bool(Sample const&)> is_knot;
};

// Rooflines of the data sheet with the shares of `p` (models/prices.hpp):
//   gemm                gemm_time
//   attention_prefill   4 x heads x head_dim FLOPs per pair of tokens at attention_forward
//   attention_backward  the same and 2.5 times as much at attention_backward; the backward alone unless the
//                       variant says "forward"
//   attention_decode    K and V of the context over decode_attention of the memory bandwidth
//   moe                 two products of the experts that the tokens reach, rows spread evenly
//   memory_pass         bytes_of_pass over memory_pass of the memory bandwidth
//   collectives         collective_price on the first node of the catalog with this GPU; engines' own graphed
//                       all-reduce with engine_all_reduce_alpha, others of theirs have no price; nor have
//                       those on several nodes of an unknown fabric
//   copy                copy_time; peer over NVLink
//   launch              kernels x kernel_launch, of streams
// A matrix product whose variant ends in "sustained" is slowed by sustained_clock (sustained_time).
// ep_dispatch and ep_combine have no price.
std::vector<Predictor> datasheet_predictors(Profile const& p);

// Bytes that a memory pass of `elements` moves (bytes_per_element of models/pass_prices.hpp), of a sustained
// run too. nullopt for another variant.
std::optional<Bytes> bytes_of_pass(std::string const& variant, double elements);

// `nodes` of the first node of the catalog with this GPU, on the sample's fabric (without one the node's
// own); nullopt: the catalog lacks one of them.
std::optional<ClusterSpec> cluster_of(Gpu const& gpu, Sample const& s, int nodes);

// Tokens of the sliding window that the variant names; infinity without one.
double window_of(std::string const& variant);

// The first price of a predictor of the sample's operation.
std::optional<Seconds> predicted(std::vector<Predictor> const& predictors, Sample const& s);

// A knot of the first predictor that has a price.
bool is_knot(std::vector<Predictor> const& predictors, Sample const& s);

}  // namespace rollcast
