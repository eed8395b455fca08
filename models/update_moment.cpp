#include "models/update_moment.hpp"

#include <algorithm>
#include <stdexcept>

#include "models/activations.hpp"
#include "models/adapter.hpp"
#include "models/logit_copies.hpp"
#include "models/pools.hpp"
#include "models/stage_layers.hpp"
#include "models/state_bytes.hpp"
#include "models/update_buffers.hpp"

namespace rollcast {
namespace {

Bytes sum_of(std::vector<UpdateBuffer> const& buffers) {
  Bytes sum;
  for (UpdateBuffer const& b : buffers) sum += b.bytes;
  return sum;
}

// gradient: of one parameter, on the GPU.
Bytes weigh(UpdateMoment const& m, Bytes gradient, Bytes logits) {
  Bytes const gradients = gradient * m.gradient_parameters;
  return m.kept + m.head_inputs + m.recomputed + m.activation_gradients + m.weight_gradient + gradients +
         (m.logits ? logits : Bytes(0));
}

}  // namespace

std::string_view name_of(Moment m) {
  switch (m) {
    case Moment::loss:
      return "at the loss";
    case Moment::last_layer:
      return "as the last layer goes back";
    case Moment::first_layer:
      return "as the first layer goes back";
    case Moment::step:
      return "in the optimizer's step";
  }
  throw std::logic_error("no such Moment");
}

bool gradients_by_autograd(Job const& job) {
  TrainerKind const kind = job.train.kind;
  return kind == TrainerKind::fsdp2 || (kind == TrainerKind::ddp && data_parallel(job) == 1);
}

bool gradients_come_fresh(Job const& job) {
  return gradients_by_autograd(job) && micro_batches_per_step(job) == 1;
}

GradientCounts gradient_counts(Job const& job, ModelRole const& r, int stage) {
  Architecture const& a = architecture_of(job, r.role);
  Stage const s = pipeline_stages(a, job.train, 1)[static_cast<std::size_t>(stage)];
  Head const head = has_value_head(r.role) ? Head::scalar : Head::vocabulary;
  auto const adapter = adapter_of(job, r);
  RankParameters const n = rank_parameters(a, s, head, job.train.parallel, adapter);
  bool const cut = zero_stage(job.train) >= 2;
  double const dense = cut ? shard_ranks(job) : 1;
  double const experts = cut ? expert_shard_ranks(job) : 1;
  if (adapter) {
    double const all = n.adapter_dense / dense + n.adapter_experts / experts;
    return {all, 0, all / std::max(1, s.layers), 0, 0};
  }
  double const of_head = s.has_lm_head && !has_value_head(r.role) ? n.largest_outer : 0;
  double const layer = job.train.kind == TrainerKind::fsdp2 ? n.largest_layer : n.largest_matrix;
  return {n.dense / dense + n.experts / experts, of_head / dense, layer / dense, n.largest_matrix, of_head};
}

UpdateMoment largest_moment(Job const& job, ModelRole const& r, int stage, double tokens,
                            GradientCounts const& g) {
  TrainerOptions const& t = job.train;
  Architecture const& a = architecture_of(job, r.role);
  Stage const s = pipeline_stages(a, t, 1)[static_cast<std::size_t>(stage)];
  auto const adapter = adapter_of(job, r);
  Bytes all, one, recomputed, gradients;
  for (int layer = s.first_layer; layer < s.first_layer + s.layers; ++layer) {
    Bytes const kept = kept_activations(a, layer, t, t.recompute, adapter, tokens);
    all += kept;
    one = max(one, kept);
    if (t.recompute == Recompute::full)
      recomputed = max(recomputed, recomputed_activations(a, layer, t, adapter, tokens));
    gradients = max(gradients, activation_gradients(a, layer, t, tokens));
  }
  all = all * in_flight(stage, t.parallel.pp, micro_batches_per_step(job));
  bool const has_logits = s.has_lm_head && !has_value_head(r.role);
  Bytes logits;
  if (has_logits) {
    LogitsKept const kept = logits_kept(a, t, adapter, true);
    logits = tokens * (logits_bytes(kept, t) + fp32_logits_bytes(kept));
  }
  bool const fresh = gradients_come_fresh(job);

  UpdateMoment loss;
  loss.kept = t.offload.activations ? one : all;
  loss.kept_on_host = all - loss.kept;
  if (s.has_lm_head) loss.head_inputs = kept_by_head(a, t, tokens);
  loss.logits = has_logits;
  loss.gradient_parameters = t.optimizer_in_backward || fresh ? g.head : g.all;
  bool const plain = t.kind == TrainerKind::ddp;
  bool const adds = plain && !fresh;
  bool const head_adds = adds || (plain && t.cross_entropy == CrossEntropy::chunked);
  if (head_adds) loss.weight_gradient = size_of(t.weights) * g.whole_head;

  UpdateMoment last = loss;
  last.moment = Moment::last_layer;
  last.head_inputs = Bytes(0);
  last.logits = false;
  last.recomputed = recomputed;
  last.activation_gradients = gradients;
  last.weight_gradient = adds ? size_of(t.weights) * g.matrix : Bytes(0);
  // A tied head's gradient waits for the embedding's.
  if (t.optimizer_in_backward) last.gradient_parameters = g.one + (a.tied_embeddings ? g.head : 0);

  UpdateMoment first = last;
  first.moment = Moment::first_layer;
  first.kept = one;
  first.kept_on_host = Bytes(0);
  if (!t.optimizer_in_backward) first.gradient_parameters = g.all;

  Bytes const gradient =
      t.offload.gradients ? Bytes(0) : trained_bytes_per_parameter(adapter_types(adapter, t)).gradients;
  UpdateMoment largest = loss;
  for (UpdateMoment const& m : {last, first}) {
    if (weigh(m, gradient, logits) > weigh(largest, gradient, logits)) largest = m;
  }
  UpdateMoment step;
  step.moment = Moment::step;
  step.gradient_parameters = g.all;
  Bytes const of_step = sum_of(step_buffers(job, r, stage)) + weigh(step, gradient, logits);
  Bytes const of_passes = sum_of(pass_buffers(job, r, stage)) + weigh(largest, gradient, logits);
  // An optimizer in the backward pass has no step of its own.
  return !t.optimizer_in_backward && of_step > of_passes ? step : largest;
}

}  // namespace rollcast
