#include <fmt/format.h>

#include <algorithm>

#include "models/activations.hpp"
#include "models/adapter.hpp"
#include "models/ledger_lines.hpp"
#include "models/sharding.hpp"
#include "models/stage_layers.hpp"
#include "models/state_bytes.hpp"
#include "models/update_moment.hpp"

namespace rollcast {
namespace {

struct Part {
  Job const& job;
  ModelRole role;
  Architecture const& model;
  Stage stage;
  int index = 0;
  std::optional<Adapter> adapter;
  bool has_logits = false;
  MicroBatchTokens tokens;
  GradientCounts gradients;
};

void add_logits(std::vector<LedgerLine>& lines, Part const& p, double tokens, bool backward,
                std::vector<Phase> const& phases) {
  if (!p.has_logits) return;
  TrainerOptions const& t = p.job.train;
  LogitsKept const kept = logits_kept(p.model, t, backward);
  bool const linear = t.cross_entropy == CrossEntropy::linear;
  std::string const rows =
      fmt::format("{} tokens x {} {}{}", grouped(tokens),
                  grouped(linear ? std::min(p.model.hidden, p.model.vocab) : p.model.vocab),
                  linear ? "entries at a time" : "vocabulary",
                  t.parallel.tp > 1 ? fmt::format(" / tp {}", t.parallel.tp) : "");
  auto const add = [&](char const* name, Bytes each, int copies) {
    add_line(lines,
             {p.role.role, MemoryCategory::logits, name,
              fmt::format("{} x {:g} B{}", rows, each.value / kept.entries / std::max(1, copies),
                          copies > 1 ? fmt::format(" x {} copies", copies) : "")},
             tokens * each, phases);
  };
  add("logits", logits_bytes(kept, t), kept.copies);
  add("fp32 logits", fp32_logits_bytes(kept), kept.fp32_copies);
}

void add_forward(std::vector<LedgerLine>& lines, Part const& p) {
  std::vector<Phase> const phases = forward_phases(p.job, p.role);
  if (phases.empty()) return;  // a line without phases would always be there
  double const tokens = p.tokens.forward;
  Bytes largest;
  for (int layer = p.stage.first_layer; layer < p.stage.first_layer + p.stage.layers; ++layer) {
    largest = max(largest, forward_working_set(p.model, layer, p.job.train, tokens));
  }
  add_line(lines,
           {p.role.role, MemoryCategory::activations, "forward working set",
            fmt::format("one layer of {} tokens", grouped(tokens))},
           largest, phases);
  add_logits(lines, p, tokens, false, phases);
}

void add_backward(std::vector<LedgerLine>& lines, Part const& p) {
  TrainerOptions const& t = p.job.train;
  std::vector<Phase> const phases = update_phases(p.job, p.role);
  double const tokens = p.tokens.update;
  UpdateMoment const m = largest_moment(p.job, p.role, p.index, tokens, p.gradients);
  auto const add = [&](char const* name, Bytes amount, std::string const& formula, bool host = false) {
    std::size_t const before = lines.size();
    add_line(lines, {p.role.role, MemoryCategory::activations, name, formula}, amount, phases);
    if (lines.size() > before) lines.back().host = host;
  };
  bool const all = m.moment != Moment::first_layer && !t.offload.activations;
  int const held = all ? in_flight(p.index, t.parallel.pp, micro_batches_per_step(p.job)) : 1;
  add("kept activations", m.kept + m.head_inputs,
      fmt::format("{} of {} tokens, {} recompute, {} B per token, x {} micro-batches in flight, {}",
                  all ? fmt::format("{} layers", p.stage.layers) : "one layer", grouped(tokens),
                  name_of(t.recompute), grouped((m.kept + m.head_inputs).value / tokens / held), held,
                  name_of(m.moment)));
  add("kept activations", m.kept_on_host, "of the other layers", true);
  add("recomputed layer", m.recomputed,
      fmt::format("one layer of {} tokens, {} B per token", grouped(tokens),
                  grouped(m.recomputed.value / tokens)));
  add("gradients of activations", m.activation_gradients,
      fmt::format("of one layer's, {} tokens, {} B per token", grouped(tokens),
                  grouped(m.activation_gradients.value / tokens)));
  add_line(lines,
           {p.role.role, MemoryCategory::gradients, "weight gradient",
            fmt::format("one matrix's before it is added, {} x {:g} B",
                        grouped(m.weight_gradient / size_of(t.weights)), size_of(t.weights).value)},
           m.weight_gradient, phases);
  if (m.logits) add_logits(lines, p, tokens, true, phases);
}

void add_gathers(std::vector<LedgerLine>& lines, Part const& p, RankParameters const& n) {
  TrainerOptions const& t = p.job.train;
  std::vector<Phase> const update = update_phases(p.job, p.role);
  std::vector<Phase> used = forward_phases(p.job, p.role);
  used.insert(used.end(), update.begin(), update.end());
  auto const add = [&](std::string const& name, double parameters, Bytes each, std::string const& what,
                       std::vector<Phase> const& phases) {
    add_line(lines,
             {p.role.role, MemoryCategory::gather_buffers, name,
              fmt::format("{}{} x {:g} B", what, grouped(parameters), each.value)},
             parameters * each, phases);
  };
  Bytes const weight = size_of(t.weights);
  bool const quantized = p.adapter && p.adapter->kind == AdapterKind::qlora;
  if (quantized) {
    if (p.adapter->quantization != Quantization::gptq) {
      add("dequantized weight", n.largest_quantized, weight, "largest matrix, ", used);
    } else if (t.recompute == Recompute::full) {
      add("dequantized weights", n.largest_quantized_layer, weight, "a layer's, kept for backward, ", used);
    } else {
      add("dequantized weights", n.quantized_dense + n.quantized_experts, weight, "kept for backward, ",
          used);
    }
  }
  int const zero = zero_stage(t);
  if (zero >= 3) {
    Bytes const gathered = quantized ? quantized_bytes_per_weight(*p.adapter) : weight;
    add("gathered layers", 2 * n.largest_layer, gathered, "current and prefetched layer, ", used);
    // FSDP2 gathers the root module's own parameters once for the whole pass; DeepSpeed one module at a time.
    bool const root = t.kind == TrainerKind::fsdp2;
    add("gathered embedding and head", root ? n.outer : n.largest_outer, weight, "", used);
    if (!p.adapter && !update.empty())  // a line without phases would always be there
      add("layer gradients", n.largest_layer, weight + size_of(t.gradients),
          "before and in the reduce-scatter, ", update);
    // FSDP2's root module reduces its own at the end of the backward pass.
    if (!p.adapter && root) add("embedding and head gradients", n.outer, weight, "", update);
  } else if (t.kind == TrainerKind::deepspeed && zero >= 1) {
    add_line(lines,
             {p.role.role, MemoryCategory::gather_buffers, "reduce buckets",
              fmt::format("2 x {} B, one filled while one is reduced", grouped(t.bucket.value))},
             2 * t.bucket, update);
  }
}

}  // namespace

void add_compute_lines(std::vector<LedgerLine>& lines, Job const& job, ModelRole const& r, int stage,
                       MicroBatchTokens const& tokens) {
  Architecture const& a = architecture_of(job, r.role);
  Stage const s = pipeline_stages(a, job.train, 1)[static_cast<std::size_t>(stage)];
  bool const adapted = r.trained || r.shares_actor_weights;
  bool const value = r.role == Role::critic || r.role == Role::reward;
  Part p{job,    r, a, s, stage, adapted ? job.algorithm.adapter : std::nullopt, s.has_lm_head && !value,
         tokens, {}};
  add_forward(lines, p);
  RankParameters const n =
      rank_parameters(a, s, value ? Head::scalar : Head::vocabulary, job.train.parallel, p.adapter);
  if (r.trained) {
    p.gradients = gradient_counts(job, r, stage);
    add_backward(lines, p);
  }
  add_gathers(lines, p, n);
}

}  // namespace rollcast
