#include "models/activations.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "models/arrivals.hpp"

namespace rollcast {
namespace {

// Elements per token of a replica, cut by tp or not, and fp32 elements.
struct Kept {
  double whole = 0;
  double cut = 0;
  double whole_fp32 = 0;
  double cut_fp32 = 0;
  double at_experts = 0;  // of the tokens that etp ranks bring together
};

Bytes bytes_of(Kept const& k, TrainerOptions const& t, double element, double tokens) {
  int const tp = t.parallel.tp;
  double const whole_cut = t.sequence_parallel ? tp : 1;
  bool const own_tokens = t.sequence_parallel || tp == 1;
  double const experts_cut = own_tokens ? static_cast<double>(tp) / t.parallel.expert_tp() : 1;
  return bytes(tokens * ((element * k.whole + 4 * k.whole_fp32) / whole_cut +
                         element * k.at_experts / experts_cut + (element * k.cut + 4 * k.cut_fp32) / tp));
}

double activation_element(TrainerOptions const& t) { return std::max(2.0, size_of(t.weights).value); }

using Names = std::initializer_list<char const*>;

int targets(Adapter const& adapter, Names products) {
  return static_cast<int>(std::count_if(products.begin(), products.end(), [&](char const* p) {
    return std::find(adapter.targets.begin(), adapter.targets.end(), p) != adapter.targets.end();
  }));
}

bool learns(std::optional<Adapter> const& adapter, Names products) {
  return !adapter || targets(*adapter, products) > 0;
}

// bitsandbytes' products save the input beside the weight.
bool keeps_frozen_inputs(Adapter const& a) {
  return a.kind == AdapterKind::qlora &&
         (a.quantization == Quantization::nf4 || a.quantization == Quantization::nf4_fp16);
}

// Elements that products reading one tensor of this width keep of it: their input, and the adapters' copies,
// masks and results of A. kept_anyway: without the input itself, which another operation keeps.
double input_elements(TrainerOptions const& t, std::optional<Adapter> const& adapter, double width,
                      Names products, bool kept_anyway = false) {
  if (!adapter) return kept_anyway ? 0 : width;
  int const with = targets(*adapter, products);
  // A copy of its own per adapter: what dropout left, or a cast. A merged product reads it once.
  bool const own = adapter->dropout > 0 || (adapter->weights && *adapter->weights != t.weights);
  bool const merged = t.merged_qkv && products.size() == 3;
  double const copies = !own ? 0 : merged ? std::min(with, 1) : with;
  double const mask = adapter->dropout > 0 ? copies * width / activation_element(t) : 0;
  int const pairs = merged && with == 3 ? 1 : with;
  bool const itself = keeps_frozen_inputs(*adapter) || (with > 0 && !own);
  return (itself && !kept_anyway ? width : 0) + copies * width + mask + pairs * adapter->rank;
}

// Whole k or v heads per rank, at least one, times tp.
double kv_width(Architecture const& a, int tp) {
  int const heads = (a.kv_heads + tp - 1) / tp;
  return static_cast<double>(heads) * a.head_dim * tp;
}

// What an RMS norm keeps beside its output. One operation each: the fp32 copy of its input, and the
// normalised value where its weight learns.
struct NormKept {
  double elements = 0;
  double fp32 = 0;
};
NormKept norm_kept(Architecture const& a, TrainerOptions const& t, std::optional<Adapter> const& adapter) {
  if (t.kernels != KernelStack::eager || a.norm_bias) return {1, 0};
  return {adapter ? 0.0 : 1.0, 1};
}

void add_grouped_attention(Kept& k, Architecture const& a, TrainerOptions const& t,
                           std::optional<Adapter> const& adapter) {
  double const q = static_cast<double>(a.heads) * a.head_dim;
  double const kv = kv_width(a, t.parallel.tp);
  k.cut += q + 2 * (t.expand_kv ? q : kv) + q;
  if (a.qk_norm) {
    NormKept const norm = norm_kept(a, t, adapter);
    k.cut += norm.elements * (q + kv);
    k.cut_fp32 += norm.fp32 * (q + kv);
  }
  if (a.gated_attention) k.cut += learns(adapter, {"o"}) ? 2 * q : q;
  k.cut += input_elements(t, adapter, q, {"o"}, true);
  k.cut_fp32 += a.heads;
  if (!t.merged_qkv || t.expand_kv) return;
  k.cut += q + kv;
  // Adapters on a part: their result, to be spread over all of the product.
  if (adapter && targets(*adapter, {"q", "k", "v"}) < 3)
    k.cut += q * targets(*adapter, {"q"}) + kv * targets(*adapter, {"k", "v"});
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

void add_mlp(Kept& k, Architecture const& a, TrainerOptions const& t, double width,
             std::optional<Adapter> const& adapter) {
  bool const activated_gate = t.kernels == KernelStack::eager && a.gated_mlp;
  k.cut += ((a.gated_mlp ? 2 : 1) + (activated_gate ? 1 : 0)) * width;
  k.cut += input_elements(t, adapter, width, {"down"});
}

void add_experts(Kept& k, Architecture const& a, TrainerOptions const& t,
                 std::optional<Adapter> const& adapter) {
  Moe const& m = *a.moe;
  double const chosen = m.experts_per_token;
  k.cut_fp32 += m.experts;
  k.at_experts += input_elements(t, adapter, chosen * a.hidden, {"gate", "up"});
  // Expert outputs, for the gradient of the scores, which reaches the hidden states under frozen routers too.
  (t.kernels == KernelStack::eager ? k.whole_fp32 : k.whole) += chosen * a.hidden;
  add_mlp(k, a, t, chosen * m.expert_intermediate, adapter);
  if (m.shared_intermediate > 0) add_mlp(k, a, t, m.shared_intermediate, adapter);
}

void add_norm(Kept& k, Architecture const& a, TrainerOptions const& t,
              std::optional<Adapter> const& adapter) {
  NormKept const norm = norm_kept(a, t, adapter);
  k.whole += norm.elements * a.hidden;
  k.whole_fp32 += norm.fp32 * a.hidden;
}

Kept kept_elements(Architecture const& a, int layer, TrainerOptions const& t,
                   std::optional<Adapter> const& adapter) {
  Kept k;
  add_norm(k, a, t, adapter);
  k.whole += input_elements(t, adapter, a.hidden, {"q", "k", "v"});
  if (is_linear_attention_layer(a, layer)) {
    add_linear_attention(k, a);
  } else if (a.mla) {
    add_latent_attention(k, a);
  } else {
    add_grouped_attention(k, a, t, adapter);
  }
  if (!a.parallel_block) {
    add_norm(k, a, t, adapter);
    k.whole += input_elements(t, adapter, a.hidden, {"gate", "up"});
  } else {
    k.whole += input_elements(t, adapter, a.hidden, {"gate", "up"}, true);
  }
  if (is_moe_layer(a, layer)) {
    add_experts(k, a, t, adapter);
  } else {
    add_mlp(k, a, t, a.intermediate, adapter);
  }
  return k;
}

// Gradients of activations while an MLP's product goes back. A compiled kernel writes one of the two
// gradients where the product's stood.
double mlp_gradients(Architecture const& a, KernelStack stack) {
  return a.gated_mlp && stack != KernelStack::compiled ? 2 : 1;
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
  Kept k;
  if (recompute == Recompute::full) {
    bool const fp32 = adapter && adapter->unquantized == DType::fp32;
    (fp32 ? k.whole_fp32 : k.whole) = a.hidden;
  } else {
    k = kept_elements(a, layer, t, adapter);
    if (recompute == Recompute::selective && !is_linear_attention_layer(a, layer)) k.cut_fp32 -= a.heads;
  }
  return bytes_of(k, t, activation_element(t), tokens);
}

Bytes recomputed_activations(Architecture const& a, int layer, TrainerOptions const& t,
                             std::optional<Adapter> const& adapter, double tokens) {
  Kept k = kept_elements(a, layer, t, adapter);
  if (norm_kept(a, t, adapter).fp32 <= 0) k.whole -= a.hidden;
  return bytes_of(k, t, activation_element(t), tokens);
}

Bytes activation_gradients(Architecture const& a, int layer, TrainerOptions const& t, double tokens) {
  Kept k;
  k.whole = a.hidden;
  double const each = mlp_gradients(a, t.kernels);
  if (!is_moe_layer(a, layer)) {
    k.cut = each * a.intermediate;
  } else if (t.kernels == KernelStack::eager) {
    k.whole_fp32 = 3.0 * a.moe->experts_per_token * a.hidden;
  } else {
    k.whole += static_cast<double>(a.moe->experts_per_token) * a.hidden;
    k.cut = each * a.moe->experts_per_token * a.moe->expert_intermediate;
  }
  return bytes_of(k, t, activation_element(t), tokens);
}

Bytes forward_working_set(Architecture const& a, int layer, TrainerOptions const& t, double tokens) {
  double const products = a.gated_mlp ? 3 : 2;
  Kept k;
  if (is_moe_layer(a, layer)) {
    Moe const& m = *a.moe;
    double const copies = static_cast<double>(m.experts_per_token) * a.hidden;
    k.whole = 2.0 * a.hidden + copies;
    k.cut = products * m.experts_per_token * m.expert_intermediate;
    k.cut_fp32 = m.experts;
    if (t.kernels == KernelStack::eager) {
      k.whole_fp32 = 2 * copies;
      k.cut = 0;  // gone when the outputs are weighted by their scores
    }
  } else {
    k.whole = 2.0 * a.hidden;
    k.cut = products * a.intermediate;
  }
  Kept attention;
  attention.whole = 2.0 * a.hidden;
  double const q = static_cast<double>(a.heads) * a.head_dim;
  attention.cut = 2 * q + 2 * (t.expand_kv ? q : kv_width(a, t.parallel.tp));
  double const element = activation_element(t);
  return max(bytes_of(k, t, element, tokens), bytes_of(attention, t, element, tokens));
}

Bytes retained_by_dispatcher(Architecture const& a, int layer, TrainerOptions const& t, double tokens) {
  if (t.kind != TrainerKind::megatron || !is_moe_layer(a, layer)) return Bytes(0);
  double const cut = t.sequence_parallel ? t.parallel.tp : 1;
  return bytes(tokens / cut * (5.0 * a.moe->experts + 8.0 * a.moe->experts_per_token));
}

Bytes kept_by_head(Architecture const& a, TrainerOptions const& t, double tokens) {
  double const cut = t.sequence_parallel ? t.parallel.tp : 1;
  return bytes(tokens * 2 * activation_element(t) * a.hidden / cut);
}

int in_flight(int stage, int pp, std::int64_t micro_batches) {
  return static_cast<int>(std::min<std::int64_t>(pp - stage, micro_batches));
}

std::int64_t longest_sequence(Job const& job) {
  if (job.rollout.max_model_len > 0) return job.rollout.max_model_len;
  Workload const& w = job.workload;
  if (job.serve && job.serve->arrivals.kind == ArrivalKind::trace) return longest_request(*job.serve, w);
  if (unbounded(w.prompt_tokens) || unbounded(w.response_tokens)) return job.model.max_context;
  return static_cast<std::int64_t>(longest(w.prompt_tokens)) + longest(w.response_tokens);
}

double micro_batch_tokens(Job const& job, int sequences) {
  std::int64_t const each = job.train.packing ? pack_budget(job) : longest_sequence(job);
  double const all = static_cast<double>(each) * sequences * sequences_per_sample(job);
  return std::ceil(all / job.train.parallel.cp);
}

MicroBatchTokens allowed_micro_batches(Job const& job) {
  TrainerOptions const& t = job.train;
  if (!t.dynamic_batching)
    return {micro_batch_tokens(job, t.logprob_micro_batch), micro_batch_tokens(job, t.micro_batch)};
  double const one = std::ceil(static_cast<double>(longest_sequence(job)) / t.parallel.cp);
  return {std::max(one, static_cast<double>(t.logprob_tokens_per_micro_batch)),
          std::max(one, static_cast<double>(t.tokens_per_micro_batch))};
}

std::int64_t micro_batches_per_step(Job const& job) {
  double const samples = std::ceil(static_cast<double>(job.algorithm.train_batch) / data_parallel(job));
  double count = samples / job.train.micro_batch;
  if (job.train.packing) count *= mean_sequence(job) / static_cast<double>(pack_budget(job));
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(count)));
}

}  // namespace rollcast
