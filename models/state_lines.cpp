#include <fmt/format.h>

#include <cmath>

#include "models/adapter.hpp"
#include "models/ledger_lines.hpp"
#include "models/sharding.hpp"
#include "models/stage_layers.hpp"
#include "models/state_bytes.hpp"
#include "models/update_moment.hpp"

namespace rollcast {
namespace {

struct Counts {
  double dense = 0;
  double experts = 0;
  int dense_ranks = 1;
  int expert_ranks = 1;

  double held(bool cut) const { return cut ? dense / dense_ranks + experts / expert_ranks : dense + experts; }
};

std::string divided(double n, int ranks) {
  return ranks > 1 ? fmt::format("{} / {} ranks", grouped(n), ranks) : grouped(n);
}

std::string text(Counts const& c, bool cut) {
  std::string dense = divided(c.dense, cut ? c.dense_ranks : 1);
  if (!(c.experts > 0)) return dense;
  return fmt::format("({} + {} in experts)", dense, divided(c.experts, cut ? c.expert_ranks : 1));
}

std::string product(Counts const& c, bool cut, Bytes each) {
  return fmt::format("{} x {:g} B", text(c, cut), each.value);
}

// What is there of the gradients, `of` one rank's, at the largest moment of the update.
void add_gradients(std::vector<LedgerLine>& lines, Job const& job, ModelRole const& r, LineText text,
                   Bytes each, int stage, double tokens) {
  GradientCounts const counts = gradient_counts(job, r, stage);
  UpdateMoment const m = largest_moment(job, r, stage, tokens, counts);
  if (m.gradient_parameters < counts.all && !job.train.offload.gradients)
    text.formula =
        fmt::format("{} x {:g} B, {}", grouped(m.gradient_parameters), each.value, name_of(m.moment));
  double const there = job.train.offload.gradients ? counts.all : m.gradient_parameters;
  std::size_t const before = lines.size();
  add_line(lines, job, text, each * there, gradients_residency(job, r));
  for (std::size_t i = before; i < lines.size(); ++i) lines[i].in_pass = gradients_by_autograd(job);
}

void add_trained(std::vector<LedgerLine>& lines, Job const& job, ModelRole const& r, Counts const& c,
                 std::string const& name, int stage, double tokens) {
  StateBytes const each = trained_bytes_per_parameter(adapter_types(job.algorithm.adapter, job.train));
  int const zero = zero_stage(job.train);
  auto const add = [&](MemoryCategory category, Bytes per_parameter, bool cut, Residency const& where) {
    add_line(lines, job, {r.role, category, name, product(c, cut, per_parameter)},
             per_parameter * c.held(cut), where);
  };
  Residency const weights = weights_residency(job, r);
  Residency const optimizer = optimizer_residency(job, r);
  // FSDP2's master weights are the sharded parameters themselves.
  Residency const master = job.train.kind == TrainerKind::fsdp2 ? weights : optimizer;
  add(MemoryCategory::weights, each.weights, zero >= 3, weights);
  add_gradients(lines, job, r,
                {r.role, MemoryCategory::gradients, name, product(c, zero >= 2, each.gradients)},
                each.gradients, stage, tokens);
  add(MemoryCategory::master_weights, each.master_weights, zero >= 1, master);
  std::size_t const before = lines.size();
  add(MemoryCategory::optimizer_states, each.optimizer_states, zero >= 1, optimizer);
  // DeepSpeed makes them at the start (initialize_optimizer_states), the others in their first step.
  for (std::size_t i = before; i < lines.size(); ++i)
    lines[i].from_first_update = job.train.kind != TrainerKind::deepspeed;
}

void add_frozen(std::vector<LedgerLine>& lines, Job const& job, ModelRole const& r, Counts const& c,
                std::string const& name, Bytes each) {
  bool const cut = zero_stage(job.train) >= 3;
  add_line(lines, job, {r.role, MemoryCategory::weights, name, product(c, cut, each)}, each * c.held(cut),
           weights_residency(job, r));
}

}  // namespace

void add_state_lines(std::vector<LedgerLine>& lines, Job const& job, ModelRole const& r, int stage,
                     MicroBatchTokens const& tokens) {
  if (r.shares_actor_weights) return;
  Architecture const& a = architecture_of(job, r.role);
  Head const head = has_value_head(r.role) ? Head::scalar : Head::vocabulary;
  std::optional<Adapter> const adapter = adapter_of(job, r);
  Stage const s = pipeline_stages(a, job.train, 1)[static_cast<std::size_t>(stage)];
  RankParameters const n = rank_parameters(a, s, head, job.train.parallel, adapter);
  int const dense_ranks = shard_ranks(job);
  int const expert_ranks = expert_shard_ranks(job);
  auto const counts = [&](double dense, double experts) {
    return Counts{dense, experts, dense_ranks, expert_ranks};
  };
  if (r.trained && !adapter)
    return add_trained(lines, job, r, counts(n.dense, n.experts), "model", stage, tokens.update);
  // Under FSDP2 with master weights the base is kept in fp32 as well, and cast when it is gathered.
  bool const fp32_base = adapter && job.train.kind == TrainerKind::fsdp2 && job.train.master_weights;
  Bytes plain = fp32_base ? size_of(DType::fp32) : size_of(job.train.weights);
  if (adapter && adapter->unquantized) plain = size_of(*adapter->unquantized);
  add_frozen(lines, job, r, counts(n.dense - n.quantized_dense, n.experts - n.quantized_experts),
             adapter ? "base" : "model", plain);
  if (!adapter) return;
  add_frozen(lines, job, r, counts(n.quantized_dense, n.quantized_experts), "base in 4 bits",
             quantized_bytes_per_weight(*adapter));
  add_trained(lines, job, r, counts(n.adapter_dense, n.adapter_experts), "adapter", stage, tokens.update);
}

}  // namespace rollcast
