// One measured point of one operation, from any source.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "models/units.hpp"

namespace rollcast {

// Dimensions by operation, in this order:
//   gemm                     m, n, k: y[m,n] = x[m,k] W[n,k]^T
//   attention_prefill        batch, length, prefix, heads, kv_heads, head_dim; causal, prefix: cached tokens
//   attention_decode         batch, context, heads, kv_heads, head_dim; one new token per sequence
//   attention_backward       batch, length, heads, kv_heads, head_dim; with the forward where the variant
//                            says "forward"
//   moe                      tokens, hidden, intermediate, experts, top_k, tp, ep; local expert MLP
//   memory_pass              tokens, width (elements that a token writes); variant: norm, rope, activation,
//                            add, embedding, log_softmax, adam
//   layer_gemm, layer        tokens, hidden, heads, kv_heads, head_dim, intermediate, tp; the products of one
//                            transformer layer on one rank, or all its parts, one after the other; variant:
//                            fused, apart (calibrate/layers.hpp)
//   all_reduce, all_gather, reduce_scatter, broadcast, all_to_all, send_recv
//                            bytes, ranks, nodes; bytes as models/prices.hpp counts them
//   ep_dispatch, ep_combine  tokens (of a rank), hidden, experts, top_k, ranks, nodes; expert parallelism
//   copy                     bytes; variant: h2d, d2h, peer, "peer staged" (through the host)
//   launch                   kernels, empty ones in a row; variant: enqueue, stream, graph
//   served_ttft, served_tpot prompt, response, concurrency, tp, pp, ep; time to the first token and per token
//                            after it, means over the requests of a closed loop (models/served_load.hpp);
//                            variant: engine and model; dtype of the weights
// A variant that ends in "sustained" was measured at the clock that the GPU holds under load, not in short
// bursts with the clock locked high; one that ends in "window N" with a sliding window of N tokens.
struct Sample {
  std::string gpu;  // catalog name
  std::string operation;
  std::string variant;  // kernel or distribution, "" where there is one only
  std::string dtype;    // bf16, fp8, fp8_block, int8, fp16, fp32; of the KV cache for attention
  std::vector<double> shape;
  Seconds seconds;
  std::string source;   // file or log it comes from, relative
  std::string version;  // software
  std::string fabric;   // catalog name, of a collective on several nodes; "" where it is not known
  double spread = 0;    // (p90 - p10) / median of the repeats; 0: not known
};

// Names of the dimensions of an operation; empty for one that is not known.
std::vector<std::string> dimensions_of(std::string const& operation);

// Every operation, in the order above.
std::vector<std::string> const& operations();

// Why there is no such shape: "n is 0, not a whole number from 1 to 1e+12"; empty if there is. Dimensions are
// whole and at least 1, but a prefix may be 0 and ranks are at least 2; at most 65,536 heads, experts, ranks,
// nodes and requests at once, 4,096 parts of a model and 1,048,576 tokens of a served request; top_k is at
// most experts, nodes at most ranks, kv_heads at most heads. std::logic_error for a shape of another length.
std::string shape_problem(Sample const& s);

bool is_collective(std::string const& operation);

// The dimension by name; std::logic_error where the operation has none of that name.
double dimension(Sample const& s, std::string const& name);

}  // namespace rollcast
