// Element-wise work of one decoder layer in training, as the operations of a software stack do it.
#pragma once

#include "models/architecture.hpp"
#include "models/job.hpp"
#include "models/layer_prices.hpp"

namespace rollcast {

// Of one rank: bytes that one token's passes read and write, on the residual stream (cut by sequence
// parallelism) and inside the tensor-parallel part, and operations that the host dispatches for a
// micro-batch, matrix products and attention included.
struct PassWork {
  double stream_bytes = 0;
  double inner_bytes = 0;
  int operations = 0;
};
struct LayerPasses {
  PassWork forward;
  PassWork backward;
};

// Bytes per element, forward + backward (bf16 values, 2 B; fp32 where the stack casts up):
//                     fused (Megatron core,      compiled (torch.compile     eager (Hugging Face
//                     transformers, Transformer Engine, Liger) of each decoder layer)      one kernel per
//                     operation)
//   RMS norm          4 + 6                      4 + 6, residual add in      36 + 84
//                                                the same kernel
//   layer norm        4 + 6                      4 + 6                       4 + 6
//   residual add      6 + 6                      4 + 2                       6 + 6
//   joining the input gradients of products that share an input (each beyond the first)
//                     fused q, k, v: 0           2                           6
//                     (else 6)
//   rotary embedding  4 + 4                      4 + 4                       20 + 30
//   head norm (q, k)  4 + 6                      0 + 2 (with the rotation)   as RMS norm
//   SwiGLU, of i      6 + 10                     6 + 10                      10 + 18
//   ungated MLP, of i 4 + 6                      4 + 6                       4 + 6
//   q, k, v cut apart 2 q + q, k, v (4 B each, Megatron only)
//   routed tokens     8 + 8 of each copy: to the order of their experts and back
// RMS norm in eager mode: to fp32 6, square 8, mean 4, scale 8, to bf16 6, weight 4; backward its gradients
// in the same steps (modeling_llama.py, LlamaRMSNorm; torch autograd's pow, mul and mean formulas). Rotation:
// two products, negation, concatenation, sum (apply_rotary_pos_emb). A frozen norm weight saves nothing here.
// Kernels: counted in the same way, matrix products one forward and two backward (one with an adapter: the
// base has no weight gradient). merged_qkv (of softmax attention without latent projections; Megatron's is
// told by its trainer): one product instead of three; backward puts their gradients together, 4 B of q, k and
// v, instead of joining three input gradients.
LayerPasses layer_passes(Architecture const& a, int layer, Cut cut, KernelStack stack, TrainerKind trainer,
                         bool frozen_base, bool merged_qkv = false);

// Keys and values copied to every query head (TrainerOptions::expand_kv): each read once, 2 k, and written as
// wide as the queries, 2 q; backward the other way round. One operation each. Nothing where the widths are
// equal.
void add_kv_copies(LayerPasses& passes, Architecture const& a, int layer, Cut cut);

}  // namespace rollcast
