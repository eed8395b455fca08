#include "calibrate/bench/device/attention_graphs.hpp"

#include <cmath>
#include <limits>

namespace rollcast {
namespace {

constexpr cudnnDataType_t kBf16 = CUDNN_DATA_BFLOAT16;
constexpr cudnnDataType_t kFp32 = CUDNN_DATA_FLOAT;
constexpr cudnnDataType_t kInt32 = CUDNN_DATA_INT32;
constexpr cudnnDataType_t kBool = CUDNN_DATA_BOOLEAN;
constexpr std::int64_t kRows = 2;  // axes of [batch, heads, rows, columns]
constexpr std::int64_t kColumns = 3;

// [batch, heads, tokens, width] of a buffer [batch, tokens, heads, width].
TensorShape by_token(std::int64_t batch, std::int64_t heads, std::int64_t tokens, std::int64_t width) {
  return {{batch, heads, tokens, width}, {tokens * heads * width, width, heads * width, 1}};
}

// [batch, heads, rows, columns] of a buffer in that order.
TensorShape packed(std::int64_t batch, std::int64_t heads, std::int64_t rows, std::int64_t columns) {
  return {{batch, heads, rows, columns}, {heads * rows * columns, rows * columns, columns, 1}};
}

// Rows and columns exchanged, the memory as it is.
TensorShape transposed(TensorShape s) {
  std::swap(s.dims[kRows], s.dims[kColumns]);
  std::swap(s.strides[kRows], s.strides[kColumns]);
  return s;
}

TensorShape per_batch(std::int64_t batch) { return {{batch, 1, 1, 1}, {1, 1, 1, 1}}; }

// Chains operations on scores [batch, heads, rows, columns] in fp32. The order of the operations and their
// types follow what cuDNN's attention engines recognise as one kernel.
class Chain {
 public:
  Chain(CudnnGraph& graph, std::int64_t scores) : graph_(graph), at_(scores) {}

  std::int64_t at() const { return at_; }

  void apply(cudnnPointwiseMode_t mode, std::int64_t b = 0) { at_ = pointwise(mode, at_, b, kFp32, kFp32); }

  // Columns after the row's own position become -infinity.
  void mask_future() {
    std::int64_t const r = rows(kFp32);
    std::int64_t const c = columns(kFp32);
    select(pointwise(CUDNN_POINTWISE_CMP_GE, r, c, kBool, kBool));
  }

  // Rows and columns beyond the lengths become -infinity.
  void mask_padding(std::int64_t row_lengths, std::int64_t column_lengths) {
    std::int64_t const r = rows(kInt32);
    std::int64_t const c = columns(kInt32);
    std::int64_t const row = pointwise(CUDNN_POINTWISE_CMP_LT, r, row_lengths, kBool, kBool);
    std::int64_t const column = pointwise(CUDNN_POINTWISE_CMP_LT, c, column_lengths, kBool, kBool);
    select(pointwise(CUDNN_POINTWISE_LOGICAL_AND, row, column, kBool, kBool));
  }

  // Along the columns; the result is bf16. Writes log(sum of exp) to `stats`, 0: nowhere, but the engines
  // recognise the pattern by it.
  void softmax(std::int64_t stats) {
    TensorShape const scores = graph_.shape(at_);
    TensorShape const row = packed(scores.dims[0], scores.dims[1], scores.dims[kRows], 1);
    std::int64_t const top = graph_.intermediate(row, kFp32);
    graph_.reduce(CUDNN_REDUCE_TENSOR_MAX, at_, top);
    apply(CUDNN_POINTWISE_SUB, top);
    apply(CUDNN_POINTWISE_EXP);
    std::int64_t const sum = graph_.intermediate(row, kFp32);
    graph_.reduce(CUDNN_REDUCE_TENSOR_ADD, at_, sum);
    std::int64_t const log = graph_.intermediate(row, kFp32);
    graph_.pointwise({.mode = CUDNN_POINTWISE_LOG, .x = sum, .y = log});
    std::int64_t const to = stats != 0 ? stats : graph_.intermediate(row, kFp32);
    graph_.pointwise({.mode = CUDNN_POINTWISE_ADD, .x = top, .b = log, .y = to});
    at_ = pointwise(CUDNN_POINTWISE_DIV, at_, sum, kFp32, kBf16);
  }

 private:
  std::int64_t pointwise(cudnnPointwiseMode_t mode, std::int64_t x, std::int64_t b, cudnnDataType_t compute,
                         cudnnDataType_t type, std::int64_t axis = -1) {
    std::int64_t const y = graph_.intermediate(graph_.shape(x), type);
    graph_.pointwise({.mode = mode, .x = x, .b = b, .y = y, .compute = compute, .axis = axis});
    return y;
  }
  std::int64_t rows(cudnnDataType_t compute) {
    return pointwise(CUDNN_POINTWISE_GEN_INDEX, at_, 0, compute, kInt32, kRows);
  }
  std::int64_t columns(cudnnDataType_t compute) {
    return pointwise(CUDNN_POINTWISE_GEN_INDEX, at_, 0, compute, kInt32, kColumns);
  }
  void select(std::int64_t mask) {
    std::int64_t const y = graph_.intermediate(graph_.shape(at_), kFp32);
    graph_.pointwise({.mode = CUDNN_POINTWISE_BINARY_SELECT,
                      .x = at_,
                      .b = graph_.constant(-std::numeric_limits<float>::infinity()),
                      .t = mask,
                      .y = y});
    at_ = y;
  }

  CudnnGraph& graph_;
  std::int64_t at_;
};

float scale_of(AttentionShape const& s) { return 1 / std::sqrt(static_cast<float>(s.head_dim)); }

}  // namespace

CudnnGraph prefill_graph(AttentionShape const& s, bool with_stats) {
  CudnnGraph g;
  TensorShape const kv = by_token(s.batch, s.kv_heads, s.length, s.head_dim);
  g.tensor(kQuery, by_token(s.batch, s.heads, s.length, s.head_dim), kBf16);
  g.tensor(kKey, transposed(kv), kBf16);
  g.tensor(kValue, kv, kBf16);
  g.tensor(kOutput, by_token(s.batch, s.heads, s.length, s.head_dim), kBf16);
  if (with_stats) g.tensor(kStats, packed(s.batch, s.heads, s.length, 1), kFp32);

  Chain chain(g, g.intermediate(packed(s.batch, s.heads, s.length, s.length), kFp32));
  g.matmul({.a = kQuery, .b = kKey, .c = chain.at()});
  chain.apply(CUDNN_POINTWISE_MUL, g.constant(scale_of(s)));
  chain.mask_future();
  chain.softmax(with_stats ? std::int64_t{kStats} : 0);
  g.matmul({.a = chain.at(), .b = kValue, .c = kOutput});
  return g;
}

CudnnGraph decode_graph(AttentionShape const& s) {
  CudnnGraph g;
  std::int64_t const pages = s.batch * s.pages_per_sequence();
  TensorShape const table{{s.batch, 1, s.pages_per_sequence(), 1},
                          {s.pages_per_sequence(), s.pages_per_sequence(), 1, 1}};
  g.tensor(kQuery, by_token(s.batch, s.heads, 1, s.head_dim), kBf16);
  g.tensor(kKey, packed(pages, s.kv_heads, s.page, s.head_dim), kBf16);
  g.tensor(kValue, packed(pages, s.kv_heads, s.page, s.head_dim), kBf16);
  g.tensor(kOutput, by_token(s.batch, s.heads, 1, s.head_dim), kBf16);
  g.tensor(kQueryLengths, per_batch(s.batch), kInt32);
  g.tensor(kContextLengths, per_batch(s.batch), kInt32);
  g.tensor(kKeyPages, table, kInt32);
  g.tensor(kValuePages, table, kInt32);

  TensorShape const cache = packed(s.batch, s.kv_heads, s.length, s.head_dim);
  std::int64_t const key = g.intermediate(transposed(cache), kBf16);
  g.load_pages(kKey, kKeyPages, kContextLengths, key);
  Chain chain(g, g.intermediate(packed(s.batch, s.heads, 1, s.length), kFp32));
  g.matmul(
      {.a = kQuery, .b = key, .c = chain.at(), .m_override = kQueryLengths, .n_override = kContextLengths});
  chain.apply(CUDNN_POINTWISE_MUL, g.constant(scale_of(s)));
  chain.mask_padding(kQueryLengths, kContextLengths);
  chain.softmax(0);
  std::int64_t const value = g.intermediate(cache, kBf16);
  g.load_pages(kValue, kValuePages, kContextLengths, value);
  g.matmul({.a = chain.at(),
            .b = value,
            .c = kOutput,
            .m_override = kQueryLengths,
            .k_override = kContextLengths});
  return g;
}

CudnnGraph backward_graph(AttentionShape const& s) {
  CudnnGraph g;
  TensorShape const q = by_token(s.batch, s.heads, s.length, s.head_dim);
  TensorShape const kv = by_token(s.batch, s.kv_heads, s.length, s.head_dim);
  TensorShape const row = packed(s.batch, s.heads, s.length, 1);
  TensorShape const scores = packed(s.batch, s.heads, s.length, s.length);
  for (std::int64_t const uid : {kQuery, kOutput, kOutputGradient, kQueryGradient}) g.tensor(uid, q, kBf16);
  for (std::int64_t const uid : {kKey, kValue}) g.tensor(uid, transposed(kv), kBf16);
  for (std::int64_t const uid : {kKeyGradient, kValueGradient}) g.tensor(uid, kv, kBf16);
  for (std::int64_t const uid : {kStats, kSoftmaxSum}) g.tensor(uid, row, kFp32);
  g.tensor(kQueryGradient32, packed(s.batch, s.heads, s.length, s.head_dim), kFp32);

  // softmax sum = sum over the width of dO x O
  std::int64_t const product = g.intermediate(q, kFp32);
  g.pointwise({.mode = CUDNN_POINTWISE_MUL, .x = kOutputGradient, .b = kOutput, .y = product});
  std::int64_t const summed = g.intermediate(row, kFp32);
  g.reduce(CUDNN_REDUCE_TENSOR_ADD, product, summed);
  g.pointwise({.mode = CUDNN_POINTWISE_MUL, .x = summed, .b = g.constant(1.0F), .y = kSoftmaxSum});

  // The probabilities again: p = exp(scale q k^T - stats), causal.
  std::int64_t const scale = g.constant(scale_of(s));
  Chain p(g, g.intermediate(scores, kFp32));
  g.matmul({.a = kQuery, .b = kKey, .c = p.at()});
  p.apply(CUDNN_POINTWISE_MUL, scale);
  p.apply(CUDNN_POINTWISE_SUB, kStats);
  p.mask_future();
  p.apply(CUDNN_POINTWISE_EXP);

  // to[kv heads] = transpose(of) x b, the query heads of a group added up.
  auto const gradient = [&](std::int64_t of, std::int64_t b, std::int64_t to) {
    std::int64_t const turned = g.intermediate(transposed(scores), kBf16);
    g.reshape(of, turned);
    if (s.heads == s.kv_heads) {
      g.matmul({.a = turned, .b = b, .c = to});
      return;
    }
    std::int64_t const every_head = g.intermediate(packed(s.batch, s.heads, s.length, s.head_dim), kBf16);
    g.matmul({.a = turned, .b = b, .c = every_head});
    g.reduce(CUDNN_REDUCE_TENSOR_ADD, every_head, to);
  };
  gradient(p.at(), kOutputGradient, kValueGradient);

  // dS = scale p (dO v^T - softmax sum)
  Chain ds(g, g.intermediate(scores, kFp32));
  g.matmul({.a = kOutputGradient, .b = kValue, .c = ds.at()});
  ds.apply(CUDNN_POINTWISE_SUB, kSoftmaxSum);
  ds.apply(CUDNN_POINTWISE_MUL, p.at());
  ds.apply(CUDNN_POINTWISE_MUL, scale);
  gradient(ds.at(), kQuery, kKeyGradient);

  std::int64_t const key = g.intermediate(kv, kBf16);
  g.reshape(kKey, key);
  g.matmul({.a = ds.at(), .b = key, .c = kQueryGradient32});
  g.pointwise({.mode = CUDNN_POINTWISE_IDENTITY, .x = kQueryGradient32, .y = kQueryGradient});
  return g;
}

}  // namespace rollcast
