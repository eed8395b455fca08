// One transformer layer as the sum of its parts: samples and prices of "layer_gemm" and "layer".
//
// Variants say what was timed:
//   fused  q, k and v one product, gate and up another; of a "layer" also two norms, rope, activation and two
//          residual adds, no attention
//   apart  q, k, v, gate and up a product each; of a "layer" also two norms, rope, activation and the
//          attention of one sequence of all tokens, no residual add
// Both run at the sustained clock. A rank has at least one KV head.
#pragma once

#include <string_view>
#include <vector>

#include "calibrate/predictor.hpp"
#include "calibrate/sample.hpp"

namespace rollcast {

// Gated MLP. None for an unknown variant or another operation.
std::vector<Sample> parts_of_layer(Sample const& layer);

// Appends predictors of both operations, the sum over the parts priced by those before it; no price where a
// part has none.
void add_layer_predictors(std::vector<Predictor>& predictors);

// Where kernels differ.
enum class TokenRange { all, few, some, many };  // to 128, to 1,024, more
TokenRange token_range_of(Sample const& s);      // all for what is no layer
std::string_view name_of(TokenRange r);          // "1-128 tokens"; empty for all

}  // namespace rollcast
