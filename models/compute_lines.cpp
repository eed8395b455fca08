#include <fmt/format.h>

#include <algorithm>

#include "models/activations.hpp"
#include "models/adapter.hpp"
#include "models/ledger_lines.hpp"
#include "models/sharding.hpp"
#include "models/stage_layers.hpp"
#include "models/state_bytes.hpp"

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
};

Bytes largest_layer(Part const& p, double tokens) {
  Bytes largest;
  for (int layer = p.stage.first_layer; layer < p.stage.first_layer + p.stage.layers; ++layer) {
    largest = max(largest, kept_activations(p.model, layer, p.job.train, Recompute::none, p.adapter, tokens));
  }
  return largest;
}

Bytes all_logits(Part const& p, double tokens, bool backward) {
  if (!p.has_logits) return Bytes(0);
  LogitsKept const kept = logits_kept(p.model, p.job.train, backward);
  return tokens * (logits_bytes(kept, p.job.train) + fp32_logits_bytes(kept));
}

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
  double const tokens = micro_batch_tokens(p.job, p.job.train.logprob_micro_batch);
  add_line(lines,
           {p.role.role, MemoryCategory::activations, "forward working set",
            fmt::format("one layer of {} tokens", grouped(tokens))},
           largest_layer(p, tokens), phases);
  add_logits(lines, p, tokens, false, phases);
}

void add_backward(std::vector<LedgerLine>& lines, Part const& p) {
  TrainerOptions const& t = p.job.train;
  std::vector<Phase> const phases = update_phases(p.job, p.role);
  double const tokens = micro_batch_tokens(p.job, t.micro_batch);
  int const held = in_flight(p.index, t.parallel.pp, micro_batches_per_step(p.job));
  Bytes kept;
  for (int layer = p.stage.first_layer; layer < p.stage.first_layer + p.stage.layers; ++layer) {
    kept += kept_activations(p.model, layer, t, t.recompute, p.adapter, tokens);
  }
  if (p.stage.has_lm_head) kept += kept_by_head(p.model, t, tokens);
  add_line(lines,
           {p.role.role, MemoryCategory::activations, "kept activations",
            fmt::format("{} layers of {} tokens, {} recompute, {} B per token, x {} micro-batches in flight",
                        p.stage.layers, grouped(tokens), name_of(t.recompute), grouped(kept.value / tokens),
                        held)},
           kept * held, phases);
  if (t.recompute == Recompute::full) {
    // The logits are gone when the first layer is recomputed.
    Bytes const layer = largest_layer(p, tokens);
    Bytes const gone = all_logits(p, tokens, true);
    add_line(lines,
             {p.role.role, MemoryCategory::activations, "recomputed layer",
              fmt::format("one layer of {} tokens, {} B{}", grouped(tokens), grouped(layer.value),
                          p.has_logits ? ", less the logits freed before it" : "")},
             max(Bytes(0), layer - gone), phases);
  }
  add_logits(lines, p, tokens, true, phases);
}

void add_gathers(std::vector<LedgerLine>& lines, Part const& p) {
  TrainerOptions const& t = p.job.train;
  std::vector<Phase> const update = update_phases(p.job, p.role);
  std::vector<Phase> used = forward_phases(p.job, p.role);
  used.insert(used.end(), update.begin(), update.end());
  Head const head =
      p.role.role == Role::critic || p.role.role == Role::reward ? Head::scalar : Head::vocabulary;
  RankParameters const n = rank_parameters(p.model, p.stage, head, t.parallel, p.adapter);
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
  } else if (t.kind == TrainerKind::deepspeed && zero >= 1) {
    add_line(lines,
             {p.role.role, MemoryCategory::gather_buffers, "reduce buckets",
              fmt::format("2 x {} B, one filled while one is reduced", grouped(t.bucket.value))},
             2 * t.bucket, update);
  }
}

}  // namespace

void add_compute_lines(std::vector<LedgerLine>& lines, Job const& job, ModelRole const& r, int stage) {
  Architecture const& a = architecture_of(job, r.role);
  Stage const s = pipeline_stages(a, job.train, 1)[static_cast<std::size_t>(stage)];
  bool const adapted = r.trained || r.shares_actor_weights;
  bool const value = r.role == Role::critic || r.role == Role::reward;
  Part const p{job, r, a, s, stage, adapted ? job.algorithm.adapter : std::nullopt, s.has_lm_head && !value};
  add_forward(lines, p);
  if (r.trained) add_backward(lines, p);
  add_gathers(lines, p);
}

}  // namespace rollcast
