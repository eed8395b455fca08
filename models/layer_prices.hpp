// One decoder layer as one rank computes it: its matrix products and the bytes of its memory passes. Training
// and rollout prices are composed from this.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/architecture.hpp"
#include "models/kernels.hpp"
#include "models/prices.hpp"

namespace rollcast {

// How a layer is cut over ranks.
struct Cut {
  int tp = 1;
  int ep = 1;
  // Experts under ep: false (trainers): each rank holds experts / ep of them, each cut by etp. true (rollout
  // engines): ep > 1 gives each rank whole experts, tp no longer cuts them.
  bool whole_experts = false;
  int etp = 0;  // trainers: ranks that cut each expert; 0: tp

  int expert_tp() const { return etp > 0 ? etp : tp; }
  // Tokens that etp ranks work on together over those of tp ranks: under sequence parallelism a rank brings
  // 1 / tp of its replica's tokens to the experts.
  double expert_share() const { return static_cast<double>(expert_tp()) / tp; }
};
// As a trainer of this layout cuts its layers.
Cut trainer_cut(Parallel const& p);

// y[m, n] = x[m, k] W[n, k]^T on one rank, m = tokens x rows_per_token. Experts are one grouped product: the
// rank holds `copies` matrices, of which a batch reads copies x (1 - (1 - hit)^(tokens x arrivals)).
struct Matmul {
  std::string tensor;  // name in the architecture's list
  double n = 0;
  double k = 0;
  double rows_per_token = 1;
  double copies = 1;
  double hit = 1;       // chance that one token is routed to a given expert
  double arrivals = 1;  // tokens that may be routed here, per token of this rank
  bool expert = false;
  bool whole = false;  // on every tensor-parallel rank
};

// Expected matrices of `m` that a batch reads: copies for a dense product.
double matrices_read(Matmul const& m, double tokens);

// A memory pass: rows_per_token rows of `width` elements for each token.
struct Pass {
  ElementwisePass kind = ElementwisePass::norm;
  double width = 0;
  double rows_per_token = 1;
  bool stream = false;  // on the residual stream, cut by sequence parallelism
  // Of a mixture: the experts' activation, which is part of what their table measured; routed tokens to their
  // experts' order and back, which in engines is, too.
  enum class Part { layer, experts, routing };
  Part part = Part::layer;
};

struct LayerShape {
  std::vector<Matmul> matmuls;
  std::vector<Pass> passes;
  // Bytes of all memory passes of one token's forward in bf16. On the residual stream (two norms, two adds;
  // cut by sequence parallelism) and inside the tensor-parallel part (rope, head norms, activation, routing).
  Bytes stream_bytes;
  Bytes inner_bytes;
  Flops attention_per_pair;    // scores and weighted sum of one (query, key) pair, this rank's heads
  Flops recurrence_per_token;  // linear attention: the state's update and read, this rank's heads
  Bytes kv_per_token;          // bf16 K and V that attention reads, this rank's heads
  int kernels = 0;             // launches of a forward
  bool moe = false;
  std::optional<HeadShape> heads;   // of this rank; not for MLA and linear attention, which no table holds
  std::optional<MoeShape> experts;  // of a mixture, as an engine or a trainer without ep runs them
  int expert_ranks = 1;             // trainers: ranks that share the experts (ep)
};

// Fuses nothing: products that share their input read it once each.
LayerShape layer_shape(Architecture const& a, int layer, Cut cut);

// Which products that share their input run as one: q, k and v; gate and up too (engines and Megatron).
enum class Fusion { none, qkv, all };
std::vector<Matmul> fused(std::vector<Matmul> const& matmuls, Fusion fusion);

// lm_head on one rank (with OPT-350M's projection).
std::vector<Matmul> lm_head_matmuls(Architecture const& a, int tp);

// Layers [first, first + count) grouped by what they are made of: an example and how many.
struct LayerKind {
  int example = 0;
  int count = 0;
};
std::vector<LayerKind> layer_kinds(Architecture const& a, int first, int count);

// Forward of one product, as gemm_time; experts by the roofline. clock multiplies the matrix rate (1: burst).
Seconds matmul_time(Profile const& p, Matmul const& m, double tokens, DType dtype, double clock);

// The products of a layer as they run, ready to be priced.
struct LayerProducts {
  std::vector<Matmul> matmuls;       // without the experts where those are measured as a whole
  std::optional<MoePrices> experts;  // gate, up and down of all tokens that are routed here
  MoeShape expert_shape;
  double arrivals = 1;  // tokens that may be routed here, per token of this rank
  int expert_ranks = 1;
};
LayerProducts layer_products(Profile const& p, LayerShape const& s, DType dtype, Fusion fusion);

// Forward of all of them.
Seconds products_time(Profile const& p, LayerProducts const& products, double tokens, DType dtype,
                      double clock);
// Of measured experts alone, else zero; slowed as gemm_time is, fp32 twice bf16.
// Engines (whole_experts): the table at the cut, for the tokens of all ranks that share the experts: their
// kernel runs over all of them and skips what is not here. Trainers: the tokens were sent to their experts
// first. ep ranks together have all experts and all tokens, each its part of either, with as many rows at an
// expert as if one rank had everything: the table without ep for the tokens of all of them, over ep.
Seconds experts_time(Profile const& p, LayerProducts const& products, double tokens, DType dtype,
                     double clock);

// Forward of the memory passes: measured laws, else bytes over bandwidth. stream_cut: ranks over which
// sequence parallelism cuts the residual stream. fuse: each add runs in one kernel with a norm, as in
// engines.
// measured_experts: their table holds the experts' activation and, in engines (fuse), the routing.
Seconds passes_time(Profile const& p, LayerShape const& s, double tokens, double stream_cut, bool fuse,
                    bool measured_experts);

// Whether the adapter has matrices beside this tensor ("q" targets "self_attn.q_proj.weight").
bool is_target(Adapter const& adapter, std::string const& tensor);

// Ranks that hold different k and v projections: tp, but not more than there are kv heads.
int kv_cut(Architecture const& a, int tp);

}  // namespace rollcast
