// The matrix products of a model under a parallel layout, as the benchmark of matrix products takes them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/architecture.hpp"
#include "models/layer_prices.hpp"
#include "scenarios/problem.hpp"

namespace rollcast {

// Forward y[t,o] = x[t,i] W[o,i]^T of t tokens; gradients dx = dy W and dW = dy^T x.
enum class GemmPass { forward, dgrad, wgrad };
std::string_view name_of(GemmPass p);

// One product y[m,n] = x[m,k] W[n,k]^T in the dimensions of calibrate/sample.hpp. A gradient stands in the
// dimensions of the product it is: forward (t, o, i), dgrad (t, i, o), wgrad (o, i, t); which operand is
// transposed in memory follows from the pass.
struct GemmShape {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  GemmPass pass = GemmPass::forward;
  std::string tensor;  // the first of the model's that has this product; "" where none is known
};

struct GemmWork {
  Cut cut;
  std::vector<std::int64_t> tokens;  // of one rank
  bool gradients = false;            // dgrad and wgrad beside the forward
};

// Every distinct product of a layer of each kind and of lm_head, for each number of tokens, in the order of
// the model. n and k are rounded to whole numbers where a cut does not divide them. An expert's product has
// the mean number of rows that reach one expert, at least one: kernels of single experts, not the grouped
// one.
std::vector<GemmShape> gemm_shapes(Architecture const& a, GemmWork const& work);

// A text of lines "m,n,k,pass,tensor" (the last two may be missing), "#" starts a comment, the header line of
// shapes_text is skipped. Dimensions are whole numbers from 1 to 2^31 - 1.
struct ShapesRead {
  std::vector<GemmShape> shapes;
  std::vector<Problem> problems;
};
ShapesRead read_shapes(std::string_view text, std::string const& file);

// The text that read_shapes reads back.
std::string shapes_text(std::vector<GemmShape> const& shapes);

}  // namespace rollcast
