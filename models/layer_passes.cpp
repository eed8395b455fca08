#include "models/layer_passes.hpp"

namespace rollcast {
namespace {

struct Cost {
  double bytes = 0;
  int operations = 0;
};
struct Pair {
  Cost forward;
  Cost backward;
};

// Costs of one element of each pass.
struct Stack {
  Pair rms_norm;
  Pair layer_norm;
  Pair add;
  Cost join;
  Pair rotation;
  Pair head_norm;
  Pair gated;
  Pair ungated;
  Cost attention_forward;  // operations only: itself, copies and views around it
  Cost attention_backward;
};

constexpr Pair kLayerNorm{{4, 1}, {6, 2}};
constexpr Pair kUngated{{4, 1}, {6, 1}};

constexpr Stack kFused{{{4, 1}, {6, 2}}, kLayerNorm,        {{6, 1}, {6, 1}}, {6, 1}, {{4, 2}, {4, 2}},
                       {{4, 1}, {6, 2}}, {{6, 1}, {10, 1}}, kUngated,         {0, 2}, {0, 3}};
constexpr Stack kCompiled{{{4, 1}, {6, 2}}, kLayerNorm,        {{4, 0}, {2, 0}}, {2, 0}, {{4, 1}, {4, 1}},
                          {{0, 1}, {2, 1}}, {{6, 1}, {10, 1}}, kUngated,         {0, 1}, {0, 2}};
constexpr Stack kEager{
    {{36, 8}, {84, 14}}, kLayerNorm,         {{6, 1}, {6, 1}}, {6, 1},  {{20, 10}, {30, 14}},
    {{36, 8}, {84, 14}}, {{10, 2}, {18, 3}}, kUngated,         {0, 23}, {0, 24}};

Stack const& costs_of(KernelStack stack) {
  switch (stack) {
    case KernelStack::fused:
      return kFused;
    case KernelStack::compiled:
      return kCompiled;
    case KernelStack::eager:
      break;
  }
  return kEager;
}

class Count {
 public:
  void stream(Pair const& p, double width, int times) { add(p, width, times, &PassWork::stream_bytes); }
  void inner(Pair const& p, double width, int times = 1) { add(p, width, times, &PassWork::inner_bytes); }

  LayerPasses passes;

 private:
  void add(Pair const& p, double width, int times, double PassWork::*bytes) {
    passes.forward.*bytes += p.forward.bytes * width * times;
    passes.backward.*bytes += p.backward.bytes * width * times;
    passes.forward.operations += p.forward.operations * times;
    passes.backward.operations += p.backward.operations * times;
  }
};

// Projections of the layer's list: q, k and v (or their likes) share the input of the block, gate and up too.
int count_products(Architecture const& a, int layer, bool merged_qkv) {
  int products = 0;
  for (Tensor const& t : layer_tensors(a, layer)) products += t.matmul ? 1 : 0;
  return products - (merged_qkv ? 2 : 0);
}

void add_attention(Count& count, Architecture const& a, Cut cut, Stack const& stack, bool cuts_qkv) {
  double const tp = cut.tp;
  double const qk = a.mla ? a.mla->qk_nope_head_dim + a.mla->qk_rope_head_dim : a.head_dim;
  double const heads = a.heads / tp;
  double const kv_heads = a.mla ? heads : a.kv_heads / static_cast<double>(kv_cut(a, cut.tp));
  double const rotated = a.mla ? (heads + 1) * a.mla->qk_rope_head_dim : (heads + kv_heads) * qk;
  count.inner(stack.rotation, rotated);
  if (a.qk_norm) count.inner(stack.head_norm, rotated);
  if (a.gated_attention) count.inner(stack.gated, heads * (a.mla ? a.mla->v_head_dim : a.head_dim));
  if (cuts_qkv) {
    // The grouped queries are copied out of q, k, v; backward the three are put together again.
    double const queries = a.heads != a.kv_heads && !a.mla ? heads * qk : 0;
    count.inner({{4, 1}, {4, 1}}, queries);
    count.inner({{0, 0}, {4, 1}}, (heads + 2 * kv_heads) * qk);
  }
}

void add_mlp(Count& count, Architecture const& a, int layer, Cut cut, Stack const& stack) {
  Pair const& activation = a.gated_mlp ? stack.gated : stack.ungated;
  if (!is_moe_layer(a, layer)) {
    count.inner(activation, static_cast<double>(a.intermediate) / cut.tp);
    return;
  }
  Moe const& m = *a.moe;
  double const copies = m.experts_per_token * cut.expert_share();
  count.inner(activation, copies * m.expert_intermediate / cut.expert_tp());
  count.inner({{8, 6}, {8, 4}}, copies * a.hidden);
  if (m.shared_intermediate > 0) count.inner(activation, static_cast<double>(m.shared_intermediate) / cut.tp);
}

}  // namespace

LayerPasses layer_passes(Architecture const& a, int layer, Cut cut, KernelStack kind, TrainerKind trainer,
                         bool frozen_base, bool merged_qkv) {
  Stack const& stack = costs_of(kind);
  bool const megatron = trainer == TrainerKind::megatron;
  bool const merged = merged_qkv && !megatron && !a.mla && !is_linear_attention_layer(a, layer);
  Count count;
  count.stream(a.norm_bias ? stack.layer_norm : stack.rms_norm, a.hidden, a.parallel_block ? 1 : 2);
  count.stream(stack.add, a.hidden, 2);
  if (is_linear_attention_layer(a, layer)) {
    LinearAttention const& l = *a.linear_attention;
    double const value = static_cast<double>(l.value_heads) * l.value_head_dim / cut.tp;
    double const key = static_cast<double>(l.key_heads) * l.key_head_dim / cut.tp;
    count.inner(stack.ungated, 2 * key + value);  // convolution with its activation
    count.inner(stack.gated, value);
  } else {
    add_attention(count, a, cut, stack, megatron);
  }
  add_mlp(count, a, layer, cut, stack);
  // One product for q, k, v and one for gate and up leave one input gradient each; apart they are summed.
  if (!megatron) {
    int const of_attention = merged ? 0 : a.mla ? 1 : 2;
    int const joins = of_attention + (a.gated_mlp ? 1 : 0) + (a.parallel_block ? 1 : 0);
    count.stream({{0, 0}, stack.join}, a.hidden, joins);
    double const heads = static_cast<double>(a.heads) / cut.tp;
    double const kv_heads = a.kv_heads / static_cast<double>(kv_cut(a, cut.tp));
    if (merged) count.inner({{0, 0}, {4, 1}}, (heads + 2 * kv_heads) * a.head_dim);
  }
  int const products = megatron ? 4 : count_products(a, layer, merged);
  count.passes.forward.operations += products + stack.attention_forward.operations;
  count.passes.backward.operations += products * (frozen_base ? 1 : 2) + stack.attention_backward.operations;
  return count.passes;
}

void add_kv_copies(LayerPasses& passes, Architecture const& a, int layer, Cut cut) {
  if (a.mla || a.heads == a.kv_heads || is_linear_attention_layer(a, layer)) return;
  double const q = static_cast<double>(a.heads) * a.head_dim / cut.tp;
  double const kv = static_cast<double>(a.kv_heads) * a.head_dim / kv_cut(a, cut.tp);
  double const copied = 2 * (2 * kv + 2 * q);
  passes.forward.inner_bytes += copied;
  passes.backward.inner_bytes += copied;
  passes.forward.operations += 2;
  passes.backward.operations += 2;
}

}  // namespace rollcast
