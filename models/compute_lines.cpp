#include <fmt/format.h>

#include <algorithm>

#include "models/activations.hpp"
#include "models/ledger_lines.hpp"
#include "models/logit_copies.hpp"
#include "models/stage_layers.hpp"
#include "models/update_buffers.hpp"
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
};

void add_logits(std::vector<LedgerLine>& lines, Part const& p, double tokens, bool backward,
                std::vector<Phase> const& phases) {
  if (!p.has_logits) return;
  TrainerOptions const& t = p.job.train;
  LogitsKept const kept = logits_kept(p.model, t, p.adapter, backward);
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
  EntropyCopies const e = entropy_copies(p.model, t, p.adapter, p.role.role, backward);
  double const at_once = std::min(tokens, e.rows);
  Bytes const more = e.copies * (at_once * e.per_token) - tokens * (fp32_logits_bytes(kept) - e.before);
  add_line(lines,
           {p.role.role, MemoryCategory::logits, "entropy",
            fmt::format("{} x {} tokens x {:g} B, less what the log-probabilities held", e.copies,
                        grouped(at_once), e.per_token.value)},
           more, phases);
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

void add_backward(std::vector<LedgerLine>& lines, Part const& p, UpdateMoment const& m) {
  TrainerOptions const& t = p.job.train;
  std::vector<Phase> const phases = update_phases(p.job, p.role);
  double const tokens = p.tokens.update;
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

void add_retained(std::vector<LedgerLine>& lines, Part const& p) {
  auto const add = [&](double tokens, std::vector<Phase> const& phases) {
    if (phases.empty()) return;  // a line without phases would always be there
    Bytes sum;
    for (int layer = p.stage.first_layer; layer < p.stage.first_layer + p.stage.layers; ++layer)
      sum += retained_by_dispatcher(p.model, layer, p.job.train, tokens);
    add_line(lines,
             {p.role.role, MemoryCategory::activations, "retained by the dispatcher",
              fmt::format("routing of {} tokens in every expert layer", grouped(tokens))},
             sum, phases);
  };
  add(p.tokens.forward, forward_phases(p.job, p.role));
  if (p.role.trained) add(p.tokens.update, update_phases(p.job, p.role));
}

// Those of the passes while they are the larger moment of the update; of forward passes always.
void add_buffers(std::vector<LedgerLine>& lines, Part const& p, bool step) {
  std::vector<Phase> const update = update_phases(p.job, p.role);
  std::vector<Phase> const forward = forward_phases(p.job, p.role);
  auto const add = [&](UpdateBuffer const& b, std::vector<Phase> const& phases) {
    if (phases.empty()) return;  // a line without phases would always be there
    add_line(lines, {p.role.role, MemoryCategory::gather_buffers, b.name, b.formula}, b.bytes, phases);
  };
  for (UpdateBuffer const& b : pass_buffers(p.job, p.role, p.index)) {
    std::vector<Phase> phases = b.forward ? forward : std::vector<Phase>{};
    if (!step) phases.insert(phases.end(), update.begin(), update.end());
    add(b, phases);
  }
  if (!step) return;
  for (UpdateBuffer const& b : step_buffers(p.job, p.role, p.index)) add(b, update);
}

}  // namespace

void add_compute_lines(std::vector<LedgerLine>& lines, Job const& job, ModelRole const& r, int stage,
                       MicroBatchTokens const& tokens) {
  Architecture const& a = architecture_of(job, r.role);
  Stage const s = pipeline_stages(a, job.train, 1)[static_cast<std::size_t>(stage)];
  Part const p{job, r, a, s, stage, adapter_of(job, r), s.has_lm_head && !has_value_head(r.role), tokens};
  std::size_t const first = lines.size();
  add_forward(lines, p);
  add_retained(lines, p);
  bool step = false;
  if (r.trained) {
    UpdateMoment const m = largest_moment(job, r, stage, tokens.update, gradient_counts(job, r, stage));
    step = m.moment == Moment::step;
    if (!step) add_backward(lines, p, m);
  }
  add_buffers(lines, p, step);
  for (std::size_t i = first; i < lines.size(); ++i) lines[i].in_pass = true;
}

}  // namespace rollcast
