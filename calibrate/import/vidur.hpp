// Tables of vidur: times in ms, the median of each row is taken.
//
//   mlp.csv (time_stats.<op>.median by num_tokens and num_tensor_parallel_workers): gemm of attn_pre_proj
//     (n = q + k + v), attn_post_proj, mlp_up_proj (gate and up together) and mlp_down_proj; memory_pass of
//     norms, rope, activation, add and embedding. width: elements of one token that the pass writes, a
//     rotated head counted whole. Where all were timed, of a gated MLP, also layer_gemm and layer of the row,
//     the residual add twice.
//     Products are sustained: no short bursts at locked clocks.
//   all_reduce.csv, send_recv.csv (size in bytes): collectives; nodes = num_workers / devices_per_node.
//
// An operation without a time in a row is skipped.
#pragma once

#include <string>
#include <vector>

#include "calibrate/import/imported.hpp"

namespace rollcast {

bool is_vidur_layers(std::vector<std::string> const& columns);
void read_vidur_layers(SourceText const& source, Imported& out);

bool is_vidur_network(std::vector<std::string> const& columns);
void read_vidur_network(SourceText const& source, Imported& out);

}  // namespace rollcast
