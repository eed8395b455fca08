#include "models/engine_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "models/engine_layout.hpp"
#include "models/engine_versions.hpp"
#include "models/layer_prices.hpp"
#include "models/sharding.hpp"
#include "models/training.hpp"

namespace rollcast {
namespace {

// Experts hold the same bytes whether they are cut by tp or spread over ep = tp ranks.
Parallel engine_cut(EngineOptions const& e, Tensor const& t) {
  return {t.expert ? e.parallel.tp : engine_layout(e).own.tp, e.parallel.pp, 1, 1};
}

double bytes_per_element(Tensor const& t, bool in_layer, EngineOptions const& e) {
  if (e.weights != DType::fp8) return size_of(e.weights).value;
  return size_of(in_layer && t.matmul ? DType::fp8 : DType::bf16).value;
}

Bytes stage_weights(Architecture const& a, Stage const& s, EngineOptions const& e) {
  double sum = 0;
  auto const add = [&](std::vector<Tensor> const& tensors, bool in_layer, int times) {
    for (Tensor const& t : tensors) {
      auto const held = static_cast<double>(shard_count(t, a, engine_cut(e, t)));
      sum += times * held * bytes_per_element(t, in_layer, e);
    }
  };
  for (LayerKind const& kind : layer_kinds(a, s.first_layer, s.layers))
    add(layer_tensors(a, kind.example), true, kind.count);
  add(outer_tensors(a, s, Head::vocabulary), false, 1);
  return bytes(sum);
}

// Elements per token that are alive at once around the widest pair of projections, on a rank that cuts them
// by tp and the experts by expert_tp.
double widest_layer(Architecture const& a, int tp, int expert_tp) {
  double const q = static_cast<double>(a.heads) * a.head_dim;
  double const kv = static_cast<double>(a.kv_heads) * a.head_dim;
  double const attention = (q + 2 * kv + q) / tp;
  double const gate = a.gated_mlp ? 3 : 2;
  double mlp = a.moe && a.moe->first_dense_layers == 0 ? 0 : gate * a.intermediate / tp;
  if (a.moe) {
    double const chosen = a.moe->experts_per_token;
    double const routed = chosen * a.hidden + gate * chosen * a.moe->expert_intermediate / expert_tp;
    mlp = std::max(mlp, routed + gate * a.moe->shared_intermediate / tp);
  }
  return std::max(attention, mlp);
}

Bytes layer_kv(Architecture const& a, int layer, EngineOptions const& e) {
  auto elements = static_cast<double>(kv_elements_per_token(a, layer));
  EngineLayout const layout = engine_layout(e);
  int const heads_per_gpu = (a.kv_heads + layout.own.tp - 1) / layout.own.tp;
  if (!a.mla) elements = elements / a.kv_heads * heads_per_gpu;
  return elements / layout.groups * size_of(e.kv_cache);
}

// Those of the layers that are in one byte, on the largest stage.
Bytes fp8_weights(Architecture const& a, EngineOptions const& e) {
  Bytes largest;
  for (Stage const& s : pipeline_stages(a, e.parallel.pp)) {
    double sum = 0;
    for (LayerKind const& kind : layer_kinds(a, s.first_layer, s.layers)) {
      for (Tensor const& t : layer_tensors(a, kind.example)) {
        if (t.matmul) sum += kind.count * static_cast<double>(shard_count(t, a, engine_cut(e, t)));
      }
    }
    largest = max(largest, bytes(sum));
  }
  return largest;
}

// Name of the tensor that vLLM fuses this one into.
std::string fused(Tensor const& t) {
  std::string name = t.name;
  for (auto const& [part, fusion] :
       {std::pair("q_proj", "qkv_proj"), std::pair("k_proj", "qkv_proj"), std::pair("v_proj", "qkv_proj"),
        std::pair("gate_proj", "gate_up_proj"), std::pair("up_proj", "gate_up_proj")}) {
    std::size_t const at = name.find(std::string(".") + part);
    if (at != std::string::npos) return name.replace(at + 1, std::string(part).size(), fusion);
  }
  return name;
}

double whole(double bytes, double unit) { return std::ceil(bytes / unit) * unit; }

double power_of_two(double bytes) { return std::exp2(std::ceil(std::log2(bytes))); }

// Pinned bytes of allocations of these sizes.
double pinned(std::vector<double> const& allocations) {
  double sum = 0;
  double small = 0;  // up to 1 MiB: in segments of 2 MiB
  double middle = 0;
  for (double b : allocations) {
    if (b <= MiB(1).value) {
      small += b;
    } else if (b < MiB(10).value) {
      middle += b;
    } else {
      sum += power_of_two(whole(b, MiB(2).value));
    }
  }
  return sum + whole(small, MiB(2).value) +
         whole(middle, MiB(20).value) / MiB(20).value * power_of_two(MiB(20).value);
}

Bytes stage_sleeping(Architecture const& a, Stage const& s, EngineOptions const& e) {
  std::vector<double> allocations;
  auto const add = [&](std::vector<Tensor> const& tensors, bool in_layer, int times) {
    std::map<std::string, double> merged;
    for (Tensor const& t : tensors) {
      merged[fused(t)] +=
          static_cast<double>(shard_count(t, a, engine_cut(e, t))) * bytes_per_element(t, in_layer, e);
    }
    for (auto const& [name, amount] : merged)
      allocations.insert(allocations.end(), static_cast<std::size_t>(times), amount);
  };
  for (LayerKind const& kind : layer_kinds(a, s.first_layer, s.layers))
    add(layer_tensors(a, kind.example), true, kind.count);
  add(outer_tensors(a, s, Head::vocabulary), false, 1);
  return bytes(pinned(allocations));
}

// The draft of speculative decoding is one layer more (speculative.hpp).
bool drafts(EngineOptions const& e) { return draft_tokens(e) > 0; }

Bytes draft_weights(Architecture const& a, EngineOptions const& e) {
  double sum = 2.0 * a.hidden * a.hidden * size_of(e.weights).value;
  for (Tensor const& t : layer_tensors(a, a.layers - 1))
    sum += static_cast<double>(shard_count(t, a, engine_cut(e, t))) * bytes_per_element(t, true, e);
  return bytes(sum);
}

}  // namespace

Bytes engine_weights(Architecture const& a, EngineOptions const& e) {
  Bytes largest;
  for (Stage const& s : pipeline_stages(a, e.parallel.pp)) largest = max(largest, stage_weights(a, s, e));
  return drafts(e) ? largest + draft_weights(a, e) : largest;
}

Bytes engine_activations(Architecture const& a, EngineOptions const& e, ProcessMemory const& m) {
  double const element = 2;
  EngineLayout const layout = engine_layout(e);
  double const groups = layout.groups;
  double const tokens = e.max_num_batched_tokens / groups;
  double const hidden = element * a.hidden * tokens;
  double const widest = widest_layer(a, layout.own.tp, groups > 1 ? 1 : e.parallel.tp);
  Bytes const forward = bytes(2 * hidden + element * widest * tokens);
  double const logits = std::min(e.max_num_seqs, e.max_num_batched_tokens) / groups * a.vocab;
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
  return drafts(e) ? largest + layer_kv(a, a.layers - 1, e) : largest;
}

KvBudget kv_budget(Architecture const& a, EngineOptions const& e, EngineSite const& site,
                   ProcessMemory const& m) {
  bool const communicates = e.parallel.tp * e.parallel.pp > 1;
  Bytes const communicators = communicates ? m.engine_communicators.value : Bytes(0);
  Bytes const weights = engine_weights(a, e);
  KvBudget b;
  b.free_at_start = site.capacity - site.held - m.cuda_context.value - communicators;
  b.asked = e.gpu_memory_utilization * site.capacity;
  if (e.kv_cache_bytes.value > 0) {
    b.left = e.kv_cache_bytes;
    b.formula = fmt::format("kv_cache_bytes {}", format(b.left));
    return b;
  }
  auto const take = [&](char const* what, Bytes amount) {
    if (!(amount.value > 0)) return;
    b.left -= amount;
    b.formula += fmt::format(" - {} {}", what, format(amount));
  };
  if (e.kind == EngineKind::sglang) {
    b.asked = b.left = e.gpu_memory_utilization * b.free_at_start;
    b.formula = fmt::format("{:g} x {} free at the start", e.gpu_memory_utilization, format(b.free_at_start));
    take("weights", weights);
    return b;
  }
  KvSizing const sizing = kv_sizing(e.kind, e.version);
  b.left = b.asked;
  b.formula = fmt::format("{:g} x {}", e.gpu_memory_utilization, format(site.capacity));
  take("weights", weights);
  take("activation peak", engine_activations(a, e, m));
  take("growth outside PyTorch", m.engine_non_torch.value + communicators);
  if (sizing.whole_card) {
    take("context", m.cuda_context.value);
    take("held by others", site.held);
  }
  if (sizing.graphs && e.cuda_graphs) take("CUDA graphs", m.cuda_graphs.value);
  if (sizing.replaced_weights_count_twice && site.sleep_pool && e.weights == DType::fp8) {
    Bytes const replaced = fp8_weights(a, e);
    b.left += replaced;
    b.formula += fmt::format(" + replaced fp8 weights {}", format(replaced));
  }
  return b;
}

Bytes sleeping_copy(Architecture const& a, EngineOptions const& e) {
  if (e.kind != EngineKind::vllm) return engine_weights(a, e);
  Bytes largest;
  for (Stage const& s : pipeline_stages(a, e.parallel.pp)) largest = max(largest, stage_sleeping(a, s, e));
  return drafts(e) ? largest + draft_weights(a, e) : largest;
}

Bytes kv_page(Architecture const& a, EngineOptions const& e) {
  return e.block_size * kv_bytes_per_token(a, e);
}

}  // namespace rollcast
