#include "models/activations.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>

namespace rollcast {
namespace {

// Elements per token of a replica, cut by tp or not, and fp32 elements cut by tp.
struct Kept {
  double whole = 0;
  double cut = 0;
  double cut_fp32 = 0;
  double at_experts = 0;  // of the tokens that etp ranks bring together
};

double activation_element(TrainerOptions const& t) { return std::max(2.0, size_of(t.weights).value); }

bool learns(std::optional<Adapter> const& adapter, std::initializer_list<char const*> layers) {
  if (!adapter) return true;
  return std::any_of(layers.begin(), layers.end(), [&](char const* layer) {
    return std::find(adapter->targets.begin(), adapter->targets.end(), layer) != adapter->targets.end();
  });
}

// Whole k or v heads per rank, at least one, times tp.
double kv_width(Architecture const& a, int tp) {
  int const heads = (a.kv_heads + tp - 1) / tp;
  return static_cast<double>(heads) * a.head_dim * tp;
}

void add_grouped_attention(Kept& k, Architecture const& a, int tp, std::optional<Adapter> const& adapter) {
  double const q = static_cast<double>(a.heads) * a.head_dim;
  double const kv = kv_width(a, tp);
  k.cut += q + 2 * kv + q;
  if (a.qk_norm) k.cut += q + kv;
  if (a.gated_attention) k.cut += learns(adapter, {"o"}) ? 2 * q : q;
  k.cut_fp32 += a.heads;
}

void add_latent_attention(Kept& k, Architecture const& a) {
  Mla const& m = *a.mla;
  double const qk = static_cast<double>(a.heads) * (m.qk_nope_head_dim + m.qk_rope_head_dim);
  double const v = static_cast<double>(a.heads) * m.v_head_dim;
  k.whole += 2.0 * m.q_lora_rank + 2.0 * m.kv_lora_rank + m.qk_rope_head_dim;
  k.cut += 2 * qk + 2 * v;
  k.cut_fp32 += a.heads;
}

void add_linear_attention(Kept& k, Architecture const& a) {
  LinearAttention const& l = *a.linear_attention;
  double const key = static_cast<double>(l.key_heads) * l.key_head_dim;
  double const value = static_cast<double>(l.value_heads) * l.value_head_dim;
  double const projected = 2 * key + 2 * value;
  double const convolved = 2 * key + value;
  k.cut += projected + convolved + 2 * value;
  k.cut_fp32 += 2.0 * l.value_heads;
}

void add_mlp(Kept& k, Architecture const& a, double width, std::optional<Adapter> const& adapter) {
  k.cut += (a.gated_mlp ? 2 : 1) * width;
  if (learns(adapter, {"down"})) k.cut += width;
}

void add_experts(Kept& k, Architecture const& a, std::optional<Adapter> const& adapter) {
  Moe const& m = *a.moe;
  double const chosen = m.experts_per_token;
  k.cut_fp32 += m.experts;
  if (learns(adapter, {"gate", "up"})) k.at_experts += chosen * a.hidden;
  if (!adapter) k.whole += chosen * a.hidden;  // expert outputs, for the gradient of the router
  add_mlp(k, a, chosen * m.expert_intermediate, adapter);
  add_mlp(k, a, m.shared_intermediate, adapter);
}

Kept kept_elements(Architecture const& a, int layer, int tp, std::optional<Adapter> const& adapter) {
  Kept k;
  k.whole += a.hidden;
  if (learns(adapter, {"q", "k", "v"})) k.whole += a.hidden;
  if (is_linear_attention_layer(a, layer)) {
    add_linear_attention(k, a);
  } else if (a.mla) {
    add_latent_attention(k, a);
  } else {
    add_grouped_attention(k, a, tp, adapter);
  }
  if (!a.parallel_block) {
    k.whole += a.hidden;
    if (learns(adapter, {"gate", "up"})) k.whole += a.hidden;
  }
  if (is_moe_layer(a, layer)) {
    add_experts(k, a, adapter);
  } else {
    add_mlp(k, a, a.intermediate, adapter);
  }
  return k;
}

double mean_sequence(Job const& job) {
  return mean(job.workload.prompt_tokens, 0) + mean(job.workload.response_tokens, 0);
}

bool unbounded(Lengths const& l) { return longest(l) == 0 && !std::holds_alternative<FixedLength>(l.shape); }

int sequences_per_sample(Job const& job) { return job.algorithm.kind == AlgorithmKind::dpo ? 2 : 1; }

std::int64_t pack_budget(Job const& job) {
  return std::max(static_cast<std::int64_t>(job.train.pack_tokens), longest_sequence(job));
}

}  // namespace

Bytes kept_activations(Architecture const& a, int layer, TrainerOptions const& t, Recompute recompute,
                       std::optional<Adapter> const& adapter, double tokens) {
  int const tp = t.parallel.tp;
  double const element = activation_element(t);
  double const whole_cut = t.sequence_parallel ? tp : 1;
  if (recompute == Recompute::full) return bytes(tokens * element * a.hidden / whole_cut);
  Kept const k = kept_elements(a, layer, tp, adapter);
  double const row_sums =
      recompute == Recompute::selective && !is_linear_attention_layer(a, layer) ? a.heads : 0;
  bool const own_tokens = t.sequence_parallel || tp == 1;
  double const experts_cut = own_tokens ? static_cast<double>(tp) / t.parallel.expert_tp() : 1;
  return bytes(tokens * (element * (k.whole / whole_cut + k.at_experts / experts_cut) + element * k.cut / tp +
                         4 * (k.cut_fp32 - row_sums) / tp));
}

Bytes kept_by_head(Architecture const& a, TrainerOptions const& t, double tokens) {
  double const cut = t.sequence_parallel ? t.parallel.tp : 1;
  return bytes(tokens * 2 * activation_element(t) * a.hidden / cut);
}

LogitsKept logits_kept(Architecture const& a, TrainerOptions const& t, bool backward) {
  bool const linear = t.cross_entropy == CrossEntropy::linear;
  int const width = linear ? std::min(a.hidden, a.vocab) : a.vocab;
  LogitsKept k{std::ceil(static_cast<double>(width) / t.parallel.tp), 1, 0};
  if (t.cross_entropy == CrossEntropy::chunked || t.cross_entropy == CrossEntropy::fused) return k;
  if (linear && t.kernels == KernelStack::fused) return k;
  if (t.kind == TrainerKind::megatron) {
    k.fp32_copies = 2;
  } else if (t.logits == LogitsPrecision::weights) {
    k.copies = backward ? 4 : 2;
  } else if (t.logits == LogitsPrecision::autocast) {
    k.copies = backward ? 2 : 1;
    k.fp32_copies = 2;
  } else {
    k.fp32_copies = backward ? 4 : 2;
  }
  return k;
}

Bytes logits_bytes(LogitsKept const& k, TrainerOptions const& t) {
  return bytes(k.entries * k.copies * activation_element(t));
}

Bytes fp32_logits_bytes(LogitsKept const& k) { return bytes(k.entries * 4 * k.fp32_copies); }

int in_flight(int stage, int pp, std::int64_t micro_batches) {
  return static_cast<int>(std::min<std::int64_t>(pp - stage, micro_batches));
}

std::int64_t longest_sequence(Job const& job) {
  if (job.rollout.max_model_len > 0) return job.rollout.max_model_len;
  Workload const& w = job.workload;
  if (unbounded(w.prompt_tokens) || unbounded(w.response_tokens)) return job.model.max_context;
  return static_cast<std::int64_t>(longest(w.prompt_tokens)) + longest(w.response_tokens);
}

double micro_batch_tokens(Job const& job, int sequences) {
  std::int64_t const each = job.train.packing ? pack_budget(job) : longest_sequence(job);
  double const all = static_cast<double>(each) * sequences * sequences_per_sample(job);
  return std::ceil(all / job.train.parallel.cp);
}

std::int64_t micro_batches_per_step(Job const& job) {
  double const samples = std::ceil(static_cast<double>(job.algorithm.train_batch) / data_parallel(job));
  double count = samples / job.train.micro_batch;
  if (job.train.packing) count *= mean_sequence(job) / static_cast<double>(pack_budget(job));
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(count)));
}

}  // namespace rollcast
