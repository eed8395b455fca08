#include "models/stage_prices.hpp"

#include <algorithm>
#include <utility>

#include "models/activations.hpp"
#include "models/adapter_passes.hpp"
#include "models/gradient_accumulation.hpp"
#include "models/layer_prices.hpp"
#include "models/logit_passes.hpp"
#include "models/stage_work.hpp"
#include "models/switching.hpp"

namespace rollcast {
namespace {

constexpr double kElement = 2;              // activations are bf16
constexpr double kAttentionBackward = 2.5;  // five products against two, the scores computed again
// FlashAttention-3 over FlashAttention-2 on H100: 1.5 to 2.0 times as fast forward, 1.5 to 1.75 backward
// (Shah et al. 2024, section 4.1), where a multiprocessor computes more than the older matrix instructions
// can ask for: 7.5 TFLOP/s of bf16 on H100, 2.9 on A100.
constexpr double kFlash3Forward = 1.75;
constexpr double kFlash3Backward = 1.6;
constexpr double kOldInstructions = 4e12;
constexpr int kVocabularyReductions = 3;  // maximum, target logit, sum

bool outruns_old_instructions(Gpu const& g) { return g.sms > 0 && g.bf16.value > kOldInstructions * g.sms; }

class StagePricer {
 public:
  StagePricer(Profile const& p, CollectivePrices& collectives, Job const& job, MicroBatch const& m)
      : p_(p), collectives_(collectives), job_(job), m_(m), parallel_(job.train.parallel) {
    tokens_ = static_cast<double>(m.tokens) / parallel_.cp;
    pairs_ = m.pairs / parallel_.cp;
    useful_ = m.tokens > 0 ? static_cast<double>(m.useful_tokens) / static_cast<double>(m.tokens) : 0;
    tp_ = placed_group(job.cluster, parallel_.tp, 1);
    cp_ = placed_group(job.cluster, parallel_.cp, parallel_.tp);
    etp_ = placed_group(job.cluster, parallel_.expert_tp(), 1);
    ep_ = placed_group(job.cluster, parallel_.ep, parallel_.expert_tp());
  }

  void add_layers(StageWork::Layers& layers) {
    LayerShape const& shape = layers.shape;
    StageSums forward;
    StageSums backward;
    add_products(shape.matmuls, layers.products, &layers.adapters, layers.last, forward, backward);

    Seconds const measured = attention_time(layers);
    bool const slower = job_.train.flash_attention_2 && outruns_old_instructions(p_.gpu);
    Seconds const attention = measured * (slower ? kFlash3Forward : 1);
    Seconds const attention_backward = measured * backward_over_forward() * (slower ? kFlash3Backward : 1);
    forward.compute += attention;
    backward.compute += attention_backward;
    Flops const recurrence(tokens_ * shape.recurrence_per_token.value);
    forward.compute += recurrence / matrix_rate(p_.attention_forward);
    backward.compute += 2 * recurrence / matrix_rate(p_.attention_backward);
    forward.flops += Flops(pairs_ * shape.attention_per_pair.value) + recurrence;
    backward.flops += 2 * (Flops(pairs_ * shape.attention_per_pair.value) + recurrence);

    forward.compute += passes_time(layers.passes.forward);
    backward.compute += passes_time(layers.passes.backward);
    forward.compute =
        max(forward.compute,
            host_time(layers.forward_operations, layers.hooks.forward_operations) + layers.forward_host);
    backward.compute =
        max(backward.compute, host_time(layers.backward_operations, layers.hooks.backward_operations));

    Seconds const blocks = tensor_parallel_blocks(shape);
    forward.communication = blocks + context_exchange(shape, 1, attention);
    backward.communication = blocks + context_exchange(shape, 2, attention_backward);
    if (job_.train.recompute == Recompute::full) {
      backward.compute += forward.compute;
      backward.communication += forward.communication;
    } else if (job_.train.recompute == Recompute::selective) {
      backward.compute += attention;
    }
    if (job_.train.offload.activations) add_host_copies(layers.example, forward, backward);
    forward.communication += exposed_forward(layers.exchange, forward.compute);
    backward.communication += exposed_backward(layers.exchange, backward.compute);
    add(forward_, forward, layers.count);
    add(backward_, backward, layers.count);
  }

  void add_embedding() {
    Seconds const look_up = stream_time(p_, bytes(2 * job_.model.hidden * kElement * tokens_));
    forward_.compute += look_up;
    backward_.compute += 2 * look_up;
    forward_.communication += tensor_parallel(job_.model.hidden);
  }

  void add_head(StageWork& work) {
    LogitBytes const logit = logit_bytes(job_, m_);
    double const tp = parallel_.tp;
    Seconds const norm = stream_time(p_, bytes(2 * job_.model.hidden * kElement / stream_cut() * tokens_));
    forward_.compute += norm;
    backward_.compute += 2 * norm;
    StageSums product;
    add_products(work.head, work.head_products, nullptr, work.last_head, product, backward_);
    add(forward_, product, 1);
    if (recomputes_logits(job_.train)) backward_.compute += product.compute;
    double const logits = tokens_ * job_.model.vocab / tp;
    forward_.compute += stream_time(p_, bytes(logits * logit.forward));
    backward_.compute += stream_time(p_, bytes(logits * logit.backward));
    LossKernels const loss = loss_kernels(job_, m_);
    forward_.compute += eager_host() * loss.forward;
    backward_.compute += eager_host() * loss.backward;
    forward_.communication +=
        collectives_.at(CollectiveKind::all_reduce, tp_, bytes(4 * tokens_)).total() * kVocabularyReductions;
    backward_.communication += tensor_parallel(job_.model.hidden);
  }

  StageTimes times() const {
    StageTimes t;
    t.forward = forward_.compute + forward_.communication;
    t.backward = backward_.compute + backward_.communication;
    t.forward_communication = forward_.communication;
    t.backward_communication = backward_.communication;
    t.forward_flops = forward_.flops * useful_;
    t.backward_flops = backward_.flops * useful_;
    return t;
  }

 private:
  static void add(StageSums& sum, StageSums const& part, int count) {
    sum.compute += part.compute * count;
    sum.communication += part.communication * count;
    sum.flops += part.flops * count;
  }

  Seconds passes_time(PassWork const& w) const {
    return stream_time(p_, bytes(tokens_ * (w.stream_bytes / stream_cut() + w.inner_bytes)));
  }

  // Python, autograd and dispatcher of one operation, while the GPU waits.
  Seconds eager_host() const { return Seconds(p_.kernel_launch.value) * p_.eager_launches.value; }

  Seconds host_per_operation() const {
    return job_.train.kernels == KernelStack::eager ? eager_host() : Seconds(p_.kernel_launch.value);
  }

  // Hooks are Python in every stack.
  Seconds host_time(int operations, int hooks) const {
    return host_per_operation() * operations + eager_host() * hooks;
  }

  double stream_cut() const { return job_.train.sequence_parallel ? parallel_.tp : 1; }

  FlopsPerSecond matrix_rate(Cited const& share) const {
    return p_.gpu.bf16 * share.value * p_.sustained_clock.value;
  }

  // Sequences of equal length with as many tokens and pairs: what they cost is what the pack costs, as far as
  // a sequence costs a share for itself, one for its tokens and one for its pairs.
  Seconds attention_time(StageWork::Layers const& layers) const {
    if (pairs_ <= 0) return Seconds(0);
    if (!layers.attention)
      return Flops(pairs_ * layers.shape.attention_per_pair.value) / matrix_rate(p_.attention_forward);
    double const length = std::max(1.0, 2 * pairs_ / tokens_ - 1);
    return layers.attention->at(tokens_ / length, length) / p_.sustained_clock.value;
  }

  double backward_over_forward() const {
    Cited const& measured = p_.attention_backward_over_forward;
    if (!measured.source.empty()) return measured.value;
    return kAttentionBackward * p_.attention_forward.value / p_.attention_backward.value;
  }

  // What depends on the tokens alone is kept for the next micro-batch, which often has as many.
  // adapters: of a layer; null for lm_head, which has none and is not quantized.
  void add_products(std::vector<Matmul> const& tensors, LayerProducts const& products,
                    std::vector<AdapterPair> const* adapters, ProductSums& last, StageSums& forward,
                    StageSums& backward) const {
    if (last.tokens < tokens_ || tokens_ < last.tokens) {
      last = {tokens_, {}, {}};
      price_products(tensors, products, last.forward, last.backward);
      if (adapters != nullptr) price_adapters(tensors, *adapters, last.forward, last.backward);
    }
    add(forward, last.forward, 1);
    add(backward, last.backward, 1);
  }

  // Time by the products as they run, FLOPs by the tensors.
  void price_products(std::vector<Matmul> const& tensors, LayerProducts const& products, StageSums& forward,
                      StageSums& backward) const {
    double const clock = p_.sustained_clock.value;
    auto const& adapter = job_.algorithm.adapter;
    DType const dtype = job_.train.weights;
    forward.compute += products_time(p_, products, tokens_, dtype, clock);
    for (Matmul const& m : products.matmuls) {
      double const rows = tokens_ * m.rows_per_token;
      forward.compute += block_scaling(m, rows, m.n, m.k);
      backward.compute += block_scaling(m, rows, m.k, m.n);
      if (!adapter) backward.compute += block_scaling(m, m.n, m.k, rows);
    }
    // Of the experts each gradient costs what the forward costs.
    Seconds const experts = experts_time(p_, products, tokens_, dtype, clock);
    backward.compute += experts;
    if (!adapter && products.experts) backward.compute += experts + expert_accumulation(tensors);
    for (Matmul const& m : products.matmuls) {
      backward.compute += input_gradient(m);
      if (!adapter) backward.compute += weight_gradient(m);
    }
    for (Matmul const& m : tensors) {
      Flops const flops(2 * tokens_ * m.rows_per_token * m.n * m.k);
      forward.flops += flops;
      backward.flops += flops * (adapter ? 1 : 2);
    }
  }

  void price_adapters(std::vector<Matmul> const& tensors, std::vector<AdapterPair> const& adapters,
                      StageSums& forward, StageSums& backward) const {
    auto const& adapter = job_.algorithm.adapter;
    if (adapter && adapter->kind == AdapterKind::qlora) {
      for (Matmul const& m : tensors) add_dequantization(m, forward, backward);
    }
    for (AdapterPair const& pair : adapters) add_adapter(pair, forward, backward);
  }

  // What a product costs more with scales per block than per tensor.
  Seconds block_scaling(Matmul const& product, double m, double n, double k) const {
    bool const block = job_.train.weights == DType::fp8 && job_.train.fp8_scaling == Fp8Scaling::block;
    if (!block || product.expert || m <= 0 || k <= 0) return Seconds(0);
    double const clock = p_.sustained_clock.value;
    return gemm_time_of_kind(p_, m, n, k, GemmKind::fp8_block, clock) -
           gemm_time(p_, m, n, k, DType::fp8, clock);
  }

  // dX[m,k] = dY[m,n] W[n,k].
  Seconds input_gradient(Matmul m) const {
    std::swap(m.n, m.k);
    return matmul_time(p_, m, tokens_, job_.train.weights, p_.sustained_clock.value);
  }

  // Of the weights that this micro-batch's gradients reach.
  Seconds accumulation(Matmul const& m) const {
    return stream_time(p_, bytes(matrices_read(m, tokens_) * m.n * m.k * accumulation_bytes(job_)));
  }

  Seconds expert_accumulation(std::vector<Matmul> const& tensors) const {
    Seconds sum;
    for (Matmul const& m : tensors) {
      if (m.expert) sum += accumulation(m);
    }
    return sum;
  }

  // dW[n,k] = dY[m,n]^T X[m,k], added to the buffer of gradients.
  Seconds weight_gradient(Matmul const& m) const {
    double const rows = tokens_ * m.rows_per_token;
    double const clock = p_.sustained_clock.value;
    DType const dtype = job_.train.weights;
    if (!m.expert && rows > 0) return gemm_time(p_, m.n, m.k, rows, dtype, clock) + accumulation(m);
    Flops const work(2 * rows * m.n * m.k);
    Bytes const moved = size_of(dtype) * (rows * (m.n + m.k) + matrices_read(m, tokens_) * m.n * m.k);
    return max(work / (matmul_rate(p_, dtype) * clock), moved / matmul_bandwidth(p_)) + accumulation(m);
  }

  void add_dequantization(Matmul const& m, StageSums& forward, StageSums& backward) const {
    DequantizationWork const work =
        dequantization_work(*job_.algorithm.adapter, job_.train.kernels, job_.train.weights);
    BytesPerSecond const rate = p_.gpu.memory_bandwidth * p_.dequantization.value;
    double const weights = m.copies * m.n * m.k;
    forward.compute += bytes(work.forward_bytes * weights) / rate;
    backward.compute += bytes(work.backward_bytes * weights) / rate;
  }

  void add_adapter(AdapterPair const& pair, StageSums& forward, StageSums& backward) const {
    Matmul const& m = pair.product;
    Adapter const& adapter = *job_.algorithm.adapter;
    double const rows = tokens_ * m.rows_per_token;
    double const clock = p_.sustained_clock.value;
    double const rank = adapter.rank;
    double const first = rank * pair.blocks;
    Seconds const products = gemm_time(p_, rows, first, m.k, DType::bf16, clock) +
                             gemm_time(p_, rows, m.n, rank, DType::bf16, clock);
    AdapterWork const work = adapter_work(job_.train.kernels, pair, adapter.dropout);
    Flops const flops(2 * rows * (rank * m.n + first * m.k));
    forward.compute += products + stream_time(p_, bytes(rows * work.forward_bytes));
    backward.compute += 2 * products + stream_time(p_, bytes(rows * work.backward_bytes));
    forward.flops += flops;
    backward.flops += 2 * flops;
  }

  // Kept activations leave during their layer's forward and come back during the backward of the layer above;
  // what lasts longer than the layer's work is exposed.
  void add_host_copies(int layer, StageSums& forward, StageSums& backward) const {
    TrainerOptions const& t = job_.train;
    Bytes const kept = kept_activations(job_.model, layer, t, t.recompute, job_.algorithm.adapter, tokens_);
    Node const& node = job_.cluster.node;
    auto const exposed = [&](Direction direction, Seconds compute) {
      return max(Seconds(0), shared_copy_time(p_, node, {direction, kept, "activations", true}) - compute);
    };
    forward.communication += exposed(Direction::device_to_host, forward.compute);
    backward.communication += exposed(Direction::host_to_device, backward.compute);
  }

  // Attention's and the MLP's. Where each rank has tokens of its own, of a mixture's only its shared experts
  // are the replica's business.
  Seconds tensor_parallel_blocks(LayerShape const& shape) const {
    if (job_.model.parallel_block) return tensor_parallel(job_.model.hidden);
    Seconds const attention = tensor_parallel(attention_width(shape));
    Seconds const mlp = tensor_parallel(job_.model.hidden);
    if (!shape.moe) return attention + mlp;
    bool const own_tokens = job_.train.sequence_parallel || parallel_.tp == 1;
    if (!own_tokens) return attention + mlp + all_to_alls(tokens_);
    return attention + (job_.model.moe->shared_intermediate > 0 ? mlp : Seconds(0)) + routed_tokens();
  }

  // What is gathered of each token before attention's tensor-parallel part: with a latent, that.
  double attention_width(LayerShape const& shape) const {
    if (!job_.model.mla || shape.recurrence_per_token.value > 0) return job_.model.hidden;
    Mla const& m = *job_.model.mla;
    return (m.q_lora_rank > 0 ? m.q_lora_rank : job_.model.hidden) + m.kv_lora_rank + m.qk_rope_head_dim;
  }

  // One all-reduce of the hidden states, or a gather of so many numbers of each token and a scatter.
  Seconds tensor_parallel(double gathered) const {
    if (parallel_.tp == 1) return Seconds(0);
    // In as many chunks as ranks, each beside the product of the one before.
    double const exposed = job_.train.overlap_tensor_parallel ? 1.0 / parallel_.tp : 1;
    auto const price = [&](CollectiveKind kind, double width) {
      return collectives_.at(kind, tp_, bytes(tokens_ * width * kElement)).total();
    };
    double const hidden = job_.model.hidden;
    if (!job_.train.sequence_parallel) return price(CollectiveKind::all_reduce, hidden);
    return (price(CollectiveKind::reduce_scatter, hidden) + price(CollectiveKind::all_gather, gathered)) *
           exposed;
  }

  // To their experts and back.
  Seconds routed_tokens() const {
    double const own = tokens_ / stream_cut();
    double const hidden = job_.model.hidden;
    double const copies = job_.model.moe->experts_per_token;
    if (job_.train.expert_dispatch == ExpertDispatch::deepep) {
      Group const block = placed_group(job_.cluster, parallel_.expert_block(), 1);
      auto const price = [&](ExchangeDirection d) {
        return collectives_
            .expert_exchange({ExchangeMode::normal, d, block, own, hidden, copies * parallel_.expert_tp(),
                              /*fp8=*/false})
            .total();
      };
      return price(ExchangeDirection::dispatch) + price(ExchangeDirection::combine);
    }
    Bytes const gathered = bytes(own * copies * hidden * kElement * parallel_.expert_tp());
    return all_to_alls(own) + collectives_.at(CollectiveKind::all_gather, etp_, gathered).total() +
           collectives_.at(CollectiveKind::reduce_scatter, etp_, gathered).total();
  }

  Seconds all_to_alls(double own) const {
    Bytes const sent = bytes(own * job_.model.moe->experts_per_token * job_.model.hidden * kElement);
    return 2 * collectives_.at(CollectiveKind::all_to_all, ep_, sent).total();
  }

  // tensors: 1 forward, 2 backward.
  Seconds context_exchange(LayerShape const& shape, int tensors, Seconds attention) const {
    if (parallel_.cp == 1 || shape.kv_per_token.value <= 0) return Seconds(0);
    if (job_.train.context_parallel == ContextParallel::ulysses) return head_exchange(shape);
    Seconds const hop =
        collectives_.at(CollectiveKind::send_recv, cp_, shape.kv_per_token * (tokens_ * tensors)).total();
    return max(Seconds(0), hop * (parallel_.cp - 1) - attention);
  }

  // Tokens for heads and back: queries, keys, values, then the output; keys and values of fewer heads than
  // ranks are repeated.
  Seconds head_exchange(LayerShape const& shape) const {
    double const repeats = shape.heads ? std::max(1.0, parallel_.cp / shape.heads->kv_heads) : 1;
    double const head_dim = shape.heads ? shape.heads->head_dim : job_.model.head_dim;
    double const heads =
        shape.heads ? shape.heads->heads : static_cast<double>(job_.model.heads) / parallel_.tp;
    Bytes const queries = bytes(tokens_ * heads * head_dim * kElement);
    Bytes const keys = shape.kv_per_token * (tokens_ * repeats / 2);
    auto const price = [&](Bytes b) { return collectives_.at(CollectiveKind::all_to_all, cp_, b).total(); };
    return 2 * price(queries) + 2 * price(keys);
  }

  Profile const& p_;
  CollectivePrices& collectives_;
  Job const& job_;
  MicroBatch const& m_;
  Parallel const& parallel_;
  double tokens_ = 0;  // of one rank
  double pairs_ = 0;
  double useful_ = 0;
  Group tp_;
  Group cp_;
  Group etp_;
  Group ep_;
  StageSums forward_;
  StageSums backward_;
};

std::vector<StageTimes> price(Profile const& p, CollectivePrices& collectives, Job const& job, Stage const& s,
                              std::vector<MicroBatch> const& batches) {
  StageWork work = stage_work(p, collectives, job, s);
  std::vector<StageTimes> times;
  times.reserve(batches.size());
  for (MicroBatch const& m : batches) {
    StagePricer pricer(p, collectives, job, m);
    if (s.has_embedding) pricer.add_embedding();
    for (StageWork::Layers& layers : work.layers) pricer.add_layers(layers);
    if (s.has_lm_head) pricer.add_head(work);
    times.push_back(pricer.times());
  }
  return times;
}

}  // namespace

std::vector<Stage> pipeline_stages(Architecture const& a, int pp) {
  std::vector<Stage> stages;
  int first = 0;
  for (int i = 0; i < pp; ++i) {
    int const layers = a.layers / pp + (i < a.layers % pp ? 1 : 0);
    stages.push_back({first, layers, i == 0, i == pp - 1});
    first += layers;
  }
  return stages;
}

std::vector<StageTimes> stage_times(Profile const& p, CollectivePrices& collectives, Job const& job,
                                    Stage const& s, std::vector<MicroBatch> const& batches) {
  return price(p, collectives, job, s, batches);
}

std::vector<StageTimes> logprob_times(Profile const& p, CollectivePrices& collectives, Job const& job,
                                      Stage const& s, std::vector<MicroBatch> const& batches) {
  std::vector<StageTimes> times = price(p, collectives, job, s, batches);
  for (StageTimes& t : times) {
    t.backward = Seconds(0);
    t.backward_flops = Flops(0);
    t.backward_communication = Seconds(0);
  }
  return times;
}

StageTimes stage_times(Profile const& p, Job const& job, Stage const& s, MicroBatch const& m) {
  CollectivePrices collectives(p, job.cluster);
  return stage_times(p, collectives, job, s, {m}).front();
}

StageTimes logprob_times(Profile const& p, Job const& job, Stage const& s, MicroBatch const& m) {
  CollectivePrices collectives(p, job.cluster);
  return logprob_times(p, collectives, job, s, {m}).front();
}

Bytes stage_transfer_bytes(Job const& job, MicroBatch const& m) {
  double const tokens = static_cast<double>(m.tokens) / job.train.parallel.cp;
  double const cut = job.train.sequence_parallel ? job.train.parallel.tp : 1;
  return bytes(tokens * job.model.hidden * kElement / cut);
}

}  // namespace rollcast
