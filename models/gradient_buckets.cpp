#include "models/gradient_buckets.hpp"

#include <algorithm>

#include "models/host_optimizer.hpp"
#include "models/layer_prices.hpp"

namespace rollcast {
namespace {

struct Counts {
  double dense = 0;
  double experts = 0;
};

double cut_of(Architecture const& a, Tensor const& t, Parallel const& parallel) {
  if (t.expert) return parallel.expert_tp();
  return t.kv ? kv_cut(a, parallel.tp) : parallel.tp;
}

double on_rank(Architecture const& a, Tensor const& t, Parallel const& parallel) {
  double const count = static_cast<double>(t.count()) / (t.expert ? parallel.ep : 1);
  if (t.split == Split::replicated) return count;
  return count / cut_of(a, t, parallel);
}

// Rows and columns of the adapters' matrices beside this tensor, on one rank.
double adapter_on_rank(Architecture const& a, Tensor const& t, Parallel const& parallel,
                       Adapter const& adapter) {
  double const cut = cut_of(a, t, parallel);
  double const rows = static_cast<double>(t.rows) / (t.split == Split::rows ? cut : 1);
  double const columns = static_cast<double>(t.columns) / (t.split == Split::columns ? cut : 1);
  return 1.0 * adapter.count * adapter.rank * (rows + columns) * static_cast<double>(t.copies) /
         (t.expert ? parallel.ep : 1);
}

double trained_on_rank(Job const& job, Tensor const& t) {
  auto const& adapter = job.algorithm.adapter;
  if (!adapter) return on_rank(job.model, t, job.train.parallel);
  if (!is_target(*adapter, t.name)) return 0;
  return adapter_on_rank(job.model, t, job.train.parallel, *adapter);
}

bool is_embedding(Tensor const& t) {
  return t.name.starts_with("embed_") || t.name.starts_with("project_in");
}

// The tensors outside the layers that this stage holds, in the order of the forward pass.
struct Outer {
  std::vector<Tensor> before;
  std::vector<Tensor> after;
};
Outer outer_of(Job const& job, Stage const& s) {
  Outer outer;
  Tensor table;
  for (Tensor const& t : outer_tensors(job.model)) {
    if (t.name.starts_with("embed_tokens")) table = t;
    if (is_embedding(t)) {
      if (s.has_embedding) outer.before.push_back(t);
    } else if (s.has_lm_head) {
      outer.after.push_back(t);
    }
  }
  if (job.model.tied_embeddings && s.has_lm_head && !s.has_embedding) outer.after.push_back(table);
  return outer;
}

// Calls f(tensor, FLOPs of its product per token, whether the last of its layer in the backward pass) for the
// tensors of a stage as the backward pass reaches them.
template <class F>
void backward_order(Job const& job, Stage const& s, F const& f) {
  auto const flops = [&](Tensor const& t) {
    double const used = t.expert ? static_cast<double>(job.model.moe->experts_per_token) : 1;
    return t.matmul ? 2.0 * static_cast<double>(t.rows * t.columns) * used : 0;
  };
  auto const reversed = [&](std::vector<Tensor> const& list) {
    for (auto t = list.rbegin(); t != list.rend(); ++t) f(*t, flops(*t), std::next(t) == list.rend());
  };
  Outer const outer = outer_of(job, s);
  reversed(outer.after);
  for (int layer = s.first_layer + s.layers - 1; layer >= s.first_layer; --layer) {
    reversed(layer_tensors(job.model, layer));
  }
  reversed(outer.before);
}

template <class Count>
Counts count_stage(Job const& job, Stage const& s, Count const& count) {
  Counts sum;
  auto const add = [&](std::vector<Tensor> const& list, double times) {
    for (Tensor const& t : list) (t.expert ? sum.experts : sum.dense) += times * count(t);
  };
  Outer const outer = outer_of(job, s);
  add(outer.before, 1);
  add(outer.after, 1);
  for (LayerKind const& kind : layer_kinds(job.model, s.first_layer, s.layers)) {
    add(layer_tensors(job.model, kind.example), kind.count);
  }
  return sum;
}

Counts held(Job const& job, Stage const& s) {
  return count_stage(job, s, [&](Tensor const& t) { return on_rank(job.model, t, job.train.parallel); });
}

Counts trained(Job const& job, Stage const& s) {
  return count_stage(job, s, [&](Tensor const& t) { return trained_on_rank(job, t); });
}

bool sharded_optimizer(TrainerOptions const& t) {
  return t.kind == TrainerKind::fsdp2 || t.distributed_optimizer || t.zero_stage >= 1;
}

int sharing_ranks(Job const& job) { return std::max(1, data_parallel(job) * job.train.parallel.cp); }

// Parameters whose states one rank holds.
double optimizer_shard(Job const& job, Stage const& s) {
  Counts const c = trained(job, s);
  if (!sharded_optimizer(job.train)) return c.dense + c.experts;
  double const ranks = sharing_ranks(job);
  return c.dense / ranks + c.experts / expert_data_parallel(job);
}

}  // namespace

std::vector<GradientBucket> gradient_buckets(Job const& job, Stage const& s) {
  // A tied lm_head has no tensor of its own; its gradient is added to the embedding's, the last of all.
  double done = job.model.tied_embeddings && s.has_lm_head ? lm_head_flops_per_token(job.model).value : 0;
  double total = done;
  backward_order(job, s, [&](Tensor const&, double flops, bool) { total += flops; });

  std::vector<GradientBucket> buckets;
  GradientBucket open;
  GradientBucket open_experts;
  open_experts.experts = true;
  auto const close = [&](GradientBucket& b) {
    b.ready = total > 0 ? std::min(1.0, done / total) : 1.0;
    if (b.bytes.value > 0) buckets.push_back(b);
    b.bytes = Bytes(0);
  };
  bool const apart = has_expert_groups(job);
  backward_order(job, s, [&](Tensor const& t, double flops, bool layer_ends) {
    done += flops;
    GradientBucket& b = apart && t.expert ? open_experts : open;
    b.bytes += size_of(job.train.gradients) * trained_on_rank(job, t);
    if (job.train.kind != TrainerKind::fsdp2) {
      if (b.bytes >= job.train.bucket) close(b);
    } else if (layer_ends) {
      close(open_experts);
      close(open);
    }
  });
  close(open_experts);
  close(open);
  // The embedding's gradient comes last and has no product of its own.
  if (!buckets.empty()) buckets.back().ready = 1;
  return buckets;
}

bool has_expert_groups(Job const& job) {
  return job.model.moe && expert_data_parallel(job) != data_parallel(job) * job.train.parallel.cp;
}

double stage_parameters(Job const& job, Stage const& s) {
  Counts const c = held(job, s);
  return c.dense + c.experts;
}

double stage_expert_parameters(Job const& job, Stage const& s) { return held(job, s).experts; }

double trained_parameters(Job const& job, Stage const& s) {
  Counts const c = trained(job, s);
  return c.dense + c.experts;
}

Seconds optimizer_time(Profile const& p, Job const& job, Stage const& s) {
  TrainerOptions const& t = job.train;
  double const shard = optimizer_shard(job, s);
  if (t.offload.optimizer) return host_optimizer_time(p, job.cluster.node, t, shard);
  double const weight = size_of(t.weights).value;
  double const master = t.master_weights ? 2 * 4 + weight : 2 * weight;
  double const per_parameter =
      size_of(t.gradients).value + master + 2 * 2 * size_of(t.optimizer_states).value;
  return memory_time(p, bytes(shard * per_parameter));
}

Seconds host_gradient_time(Profile const& p, Job const& job, Stage const& s, int micro_batches) {
  int const ranks = sharded_optimizer(job.train) ? sharing_ranks(job) : 1;
  return host_gradient_time(p, job.cluster.node, job.train, optimizer_shard(job, s), ranks, micro_batches);
}

}  // namespace rollcast
