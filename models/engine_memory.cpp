#include "models/engine_memory.hpp"

#include <algorithm>

#include "models/sharding.hpp"
#include "models/training.hpp"

namespace rollcast {
namespace {

Parallel engine_cut(EngineOptions const& e) { return {e.parallel.tp, e.parallel.pp, 1, 1}; }

double bytes_per_element(Tensor const& t, bool in_layer, EngineOptions const& e) {
  if (e.weights != DType::fp8) return size_of(e.weights).value;
  return size_of(in_layer && t.matmul ? DType::fp8 : DType::bf16).value;
}

Bytes stage_weights(Architecture const& a, Stage const& s, EngineOptions const& e) {
  double sum = 0;
  auto const add = [&](std::vector<Tensor> const& tensors, bool in_layer) {
    for (Tensor const& t : tensors) {
      sum += static_cast<double>(shard_count(t, a, engine_cut(e))) * bytes_per_element(t, in_layer, e);
    }
  };
  add(layer_tensors(a, s), true);
  add(outer_tensors(a, s, Head::vocabulary), false);
  return bytes(sum);
}

// Elements per token that are alive at once around the widest pair of projections.
double widest_layer(Architecture const& a, int tp) {
  double const q = static_cast<double>(a.heads) * a.head_dim;
  double const kv = static_cast<double>(a.kv_heads) * a.head_dim;
  double const attention = (q + 2 * kv + q) / tp;
  double const gate = a.gated_mlp ? 3 : 2;
  double mlp = a.moe && a.moe->first_dense_layers == 0 ? 0 : gate * a.intermediate / tp;
  if (a.moe) {
    double const chosen = a.moe->experts_per_token;
    double const routed = chosen * a.hidden + gate * chosen * a.moe->expert_intermediate / tp;
    mlp = std::max(mlp, routed + gate * a.moe->shared_intermediate / tp);
  }
  return std::max(attention, mlp);
}

Bytes layer_kv(Architecture const& a, int layer, EngineOptions const& e) {
  auto elements = static_cast<double>(kv_elements_per_token(a, layer));
  int const heads_per_gpu = (a.kv_heads + e.parallel.tp - 1) / e.parallel.tp;
  if (!a.mla) elements = elements / a.kv_heads * heads_per_gpu;
  return elements * size_of(e.kv_cache);
}

}  // namespace

Bytes engine_weights(Architecture const& a, EngineOptions const& e) {
  Bytes largest;
  for (Stage const& s : pipeline_stages(a, e.parallel.pp)) largest = max(largest, stage_weights(a, s, e));
  return largest;
}

Bytes engine_activations(Architecture const& a, EngineOptions const& e, ProcessMemory const& m) {
  double const element = 2;
  double const tokens = e.max_num_batched_tokens;
  double const hidden = element * a.hidden * tokens;
  Bytes const forward = bytes(2 * hidden + element * widest_layer(a, e.parallel.tp) * tokens);
  double const logits = static_cast<double>(std::min(e.max_num_seqs, e.max_num_batched_tokens)) * a.vocab;
  Bytes const sampler = bytes(hidden) + logits * m.sampler_per_logit.value;
  return max(forward, sampler);
}

Bytes kv_bytes_per_token(Architecture const& a, EngineOptions const& e) {
  Bytes largest;
  for (Stage const& s : pipeline_stages(a, e.parallel.pp)) {
    Bytes sum;
    for (int layer = s.first_layer; layer < s.first_layer + s.layers; ++layer) sum += layer_kv(a, layer, e);
    largest = max(largest, sum);
  }
  return largest;
}

Bytes kv_budget(Architecture const& a, EngineOptions const& e, Bytes capacity, ProcessMemory const& m) {
  Bytes const communicators = e.parallel.tp * e.parallel.pp > 1 ? m.engine_communicators.value : Bytes(0);
  Bytes const share = e.gpu_memory_utilization * capacity - engine_weights(a, e) - communicators;
  if (e.kind == EngineKind::sglang) return share - m.cuda_context.value;
  return share - engine_activations(a, e, m) - m.engine_non_torch.value;
}

Bytes kv_page(Architecture const& a, EngineOptions const& e) {
  return e.block_size * kv_bytes_per_token(a, e);
}

}  // namespace rollcast
