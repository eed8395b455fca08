// Attention as cuDNN graphs: causal prefill, decode over a paged cache, backward of the causal prefill. bf16
// in and out, fp32 inside; heads may share KV heads.
#pragma once

#include <cstdint>

#include "calibrate/bench/device/cudnn_graph.hpp"

namespace rollcast {

struct AttentionShape {
  std::int64_t batch = 0;
  std::int64_t length = 0;  // tokens per sequence; of decode: in the cache
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t page = 0;  // decode: tokens per page

  std::int64_t pages_per_sequence() const { return (length + page - 1) / page; }
};

// uids of the tensors in memory.
enum AttentionTensor : std::int64_t {
  kQuery = 1,       // [batch, length, heads, head_dim] bf16; decode: [batch, 1, heads, head_dim]
  kKey,             // [batch, length, kv_heads, head_dim] bf16; decode: [pages, kv_heads, page, head_dim]
  kValue,           // as kKey
  kOutput,          // as kQuery
  kStats,           // [batch, heads, length] fp32, log of the softmax sum; of a forward with stats, backward
  kQueryLengths,    // [batch] int32, ones; decode
  kContextLengths,  // [batch] int32; decode
  kKeyPages,        // [batch, pages per sequence] int32; decode
  kValuePages,
  kOutputGradient,  // as kQuery; backward
  kQueryGradient,
  kKeyGradient,  // as kKey
  kValueGradient,
  kSoftmaxSum,       // [batch, heads, length] fp32, scratch of backward
  kQueryGradient32,  // [batch, heads, length, head_dim] fp32, sums of backward: zero before each
};

CudnnGraph prefill_graph(AttentionShape const& s, bool with_stats);
CudnnGraph decode_graph(AttentionShape const& s);
CudnnGraph backward_graph(AttentionShape const& s);

}  // namespace rollcast
