#include "models/update_buffers.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/activations.hpp"
#include "models/adapter.hpp"
#include "models/ledger_lines.hpp"
#include "models/pools.hpp"
#include "models/sharding.hpp"
#include "models/stage_layers.hpp"
#include "models/state_bytes.hpp"

namespace rollcast {
namespace {

constexpr double kSubGroup = 1e9;  // deepspeed runtime/zero/config.py, sub_group_size

struct Part {
  TrainerOptions const& train;
  std::optional<Adapter> adapter;
  Stage stage;
  RankParameters counts;
};

Part part_of(Job const& job, ModelRole const& r, int stage) {
  Architecture const& a = architecture_of(job, r.role);
  std::optional<Adapter> const adapter = adapter_of(job, r);
  Stage const s = pipeline_stages(a, job.train, 1)[static_cast<std::size_t>(stage)];
  Head const head = has_value_head(r.role) ? Head::scalar : Head::vocabulary;
  return {job.train, adapter, s, rank_parameters(a, s, head, job.train.parallel, adapter)};
}

UpdateBuffer buffer(char const* name, char const* what, double parameters, Bytes each, bool forward = false) {
  return {name, fmt::format("{}{} x {:g} B", what, grouped(parameters), each.value), parameters * each,
          forward};
}

bool quantized(Part const& p) { return p.adapter && p.adapter->kind == AdapterKind::qlora; }

void add_dequantized(std::vector<UpdateBuffer>& out, Part const& p) {
  if (!quantized(p)) return;
  Bytes const weight = size_of(p.train.weights);
  RankParameters const& n = p.counts;
  if (p.adapter->quantization != Quantization::gptq) {
    out.push_back(buffer("dequantized weight", "largest matrix, ", n.largest_quantized, weight, true));
    return;
  }
  out.push_back(buffer("unpacked weight", "largest matrix as int32 and int8, ", n.largest_quantized,
                       size_of(DType::fp32) + bytes(1), true));
  if (p.train.recompute == Recompute::full) {
    out.push_back(buffer("dequantized weights", "a layer's, kept for backward, ", n.largest_quantized_layer,
                         weight, true));
  } else {
    out.push_back(buffer("dequantized weights", "kept for backward, ",
                         n.quantized_dense + n.quantized_experts, weight, true));
  }
}

// Embedding and head as modules of their own: gathered in place of layers, and so the larger of both.
void add_gathered_apart(std::vector<UpdateBuffer>& out, Part const& p, Bytes gathered) {
  TrainerOptions const& t = p.train;
  RankParameters const& n = p.counts;
  Bytes const weight = size_of(t.weights);
  Bytes const layers = 2 * n.largest_layer * gathered;
  Bytes const head = n.largest_outer * weight;
  if (layers < head)
    out.push_back(buffer("gathered embedding or head", "", n.largest_outer, weight, true));
  else
    out.push_back(
        buffer("gathered layers", "current and prefetched layer, ", 2 * n.largest_layer, gathered, true));
  out.back().gathers_layers = true;
  if (p.adapter) return;
  double const reduced = std::max(n.largest_layer, n.largest_outer);
  out.push_back(buffer("gradients of a layer or the head", "before and in the reduce-scatter, ", reduced,
                       weight + size_of(t.gradients)));
}

void add_gathered(std::vector<UpdateBuffer>& out, Part const& p) {
  TrainerOptions const& t = p.train;
  if (zero_stage(t) < 3) return;
  RankParameters const& n = p.counts;
  Bytes const weight = size_of(t.weights);
  Bytes const gathered = quantized(p) ? quantized_bytes_per_weight(*p.adapter) : weight;
  if (t.kind == TrainerKind::fsdp2 && t.shard_embedding) return add_gathered_apart(out, p, gathered);
  out.push_back(
      buffer("gathered layers", "current and prefetched layer, ", 2 * n.largest_layer, gathered, true));
  out.back().gathers_layers = true;
  // FSDP2 gathers the root module's own parameters once for the whole pass; DeepSpeed one module at a time.
  bool const root = t.kind == TrainerKind::fsdp2;
  out.push_back(buffer("gathered embedding and head", "", root ? n.outer : n.largest_outer, weight, true));
  if (p.adapter) return;
  out.push_back(buffer("layer gradients", "before and in the reduce-scatter, ", n.largest_layer,
                       weight + size_of(t.gradients)));
  // FSDP2's root module reduces its own at the end of the backward pass.
  if (root) out.push_back(buffer("embedding and head gradients", "", n.outer, weight));
}

void add_cast(std::vector<UpdateBuffer>& out, Part const& p, Architecture const& a, ModelRole const& r) {
  if (!r.trained || !p.adapter || p.train.kind != TrainerKind::ddp) return;
  auto const cast = [&](std::optional<DType> const& type) {
    return type == DType::fp32 && p.train.weights != DType::fp32;
  };
  double parameters = 0;
  if (cast(p.adapter->weights)) parameters += p.counts.adapter_dense + p.counts.adapter_experts;
  if (cast(p.adapter->unquantized) && p.stage.has_lm_head && !has_value_head(r.role))
    parameters += static_cast<double>(a.vocab) * a.hidden / p.train.parallel.tp;
  out.push_back(buffer("weights cast by autocast", "", parameters, size_of(p.train.weights)));
}

// Parameters that this rank's optimizer updates.
double updated(Job const& job, Part const& p) {
  double const dense = p.adapter ? p.counts.adapter_dense : p.counts.dense;
  double const experts = p.adapter ? p.counts.adapter_experts : p.counts.experts;
  if (zero_stage(job.train) == 0) return dense + experts;
  return dense / shard_ranks(job) + experts / expert_shard_ranks(job);
}

}  // namespace

std::vector<UpdateBuffer> pass_buffers(Job const& job, ModelRole const& r, int stage) {
  Part const p = part_of(job, r, stage);
  TrainerOptions const& t = job.train;
  std::vector<UpdateBuffer> out;
  add_dequantized(out, p);
  add_cast(out, p, architecture_of(job, r.role), r);
  add_gathered(out, p);
  if (t.kind != TrainerKind::deepspeed) return out;
  if (zero_stage(t) == 1 || zero_stage(t) == 2)
    out.push_back({"reduce buckets",
                   fmt::format("2 x {} B, one filled while one is reduced", grouped(t.bucket.value)),
                   2 * t.bucket});
  if (zero_stage(t) == 2 && r.trained && !t.offload.optimizer && micro_batches_per_step(job) > 1)
    out.push_back(buffer("gradients of one micro-batch", "", updated(job, p),
                         trained_bytes_per_parameter(t).gradients));
  return out;
}

std::vector<UpdateBuffer> step_buffers(Job const& job, ModelRole const& r, int stage) {
  TrainerOptions const& t = job.train;
  if (!r.trained || t.offload.optimizer) return {};
  Part const p = part_of(job, r, stage);
  double const parameters = updated(job, p);
  if (t.kind == TrainerKind::deepspeed && t.zero_stage >= 1) {
    Bytes const gradient = trained_bytes_per_parameter(t).gradients;
    double const at_once = t.zero_stage >= 3 ? std::min(parameters, kSubGroup) : parameters;
    std::vector<UpdateBuffer> out = {buffer("flattened gradients", "", at_once, gradient)};
    if (gradient < size_of(DType::fp32))
      out.push_back(buffer("fp32 gradients", "", at_once, size_of(DType::fp32)));
    return out;
  }
  if (!t.foreach_optimizer) return {};
  return {buffer("root of Adam's second state", "", parameters, size_of(t.optimizer_states))};
}

}  // namespace rollcast
