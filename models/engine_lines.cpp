#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/ledger_lines.hpp"

namespace rollcast {
namespace {

std::string measured(CitedBytes const& c) { return "measured: " + c.source; }

}  // namespace

namespace {

// generate() of Transformers: on the trainer's GPUs its weights are the trainer's own, and its cache holds
// one batch; the prompts' logits are computed at every position, in bf16 and fp32.
void add_static_lines(std::vector<LedgerLine>& lines, Job const& job, ProcessMemory const& process) {
  EngineOptions const& e = job.rollout;
  std::vector<Phase> const generate = only(step_phases(job), {Phase::generate});
  double const prompt = longest(job.workload.prompt_tokens);
  double const length = prompt + longest(job.workload.response_tokens);
  double const engines = std::max(1, rollout_engines(job));
  double const batch = e.feed > 0 ? e.feed : std::ceil(job.algorithm.samples() / engines);
  if (!colocated(job)) {
    add_line(lines, {Role::rollout, MemoryCategory::weights, "model", std::string(name_of(e.weights))},
             engine_weights(job.model, e), {});
    add_line(lines,
             {Role::rollout, MemoryCategory::cuda_context, "engine context", measured(process.cuda_context)},
             process.cuda_context.value, {});
  }
  add_line(lines,
           {Role::rollout, MemoryCategory::kv_pages, "KV of a batch",
            fmt::format("{:.0f} sequences x {:.0f} tokens x {:.0f} B", batch, length,
                        kv_bytes_per_token(job.model, e).value)},
           batch * length * kv_bytes_per_token(job.model, e), generate);
  add_line(lines,
           {Role::rollout, MemoryCategory::logits, "prompt logits",
            fmt::format("{:.0f} x {:.0f} tokens x {} x 6 B", batch, prompt,
                        grouped(static_cast<double>(job.model.vocab)))},
           bytes(batch * prompt * job.model.vocab * 6 / e.parallel.tp), generate);
}

}  // namespace

void add_engine_lines(std::vector<LedgerLine>& lines, Job const& job, ProcessMemory const& process) {
  if (job.rollout.kind == EngineKind::hf) return add_static_lines(lines, job, process);
  EngineOptions const& e = job.rollout;
  std::vector<Phase> const all = step_phases(job);
  std::vector<Phase> const always;
  auto const add = [&](MemoryCategory category, std::string const& name, std::string const& formula,
                       Bytes amount, std::vector<Phase> const& phases) {
    add_line(lines, {Role::rollout, category, name, formula}, amount, phases);
  };
  Bytes const weights = engine_weights(job.model, e);
  std::string const cut = fmt::format("{} at tp {}, pp {}", name_of(e.weights), e.parallel.tp, e.parallel.pp);
  std::vector<Phase> const awake = engine_weight_phases(job);
  bool const sleeps = awake != all;
  add(MemoryCategory::weights, "engine weights", cut, weights, sleeps ? awake : always);

  std::int64_t const blocks = kv_blocks(job);
  std::vector<Phase> const kv = engine_kv_phases(job);
  add(MemoryCategory::kv_pages, "KV pages",
      fmt::format("{} pages x {} tokens x {:.0f} B; utilization {:g} x {} less weights and activation peak",
                  grouped(static_cast<double>(blocks)), e.block_size, kv_bytes_per_token(job.model, e).value,
                  e.gpu_memory_utilization, format(job.cluster.node.gpu.visible_memory)),
      static_cast<double>(std::max<std::int64_t>(0, blocks)) * kv_page(job.model, e), sleeps ? kv : always);
  add(MemoryCategory::activations, "engine step",
      fmt::format("larger of the forward of {} tokens and the sampler of {} sequences",
                  e.max_num_batched_tokens, e.max_num_seqs),
      engine_activations(job.model, e, process), only(all, {Phase::generate}));
  if (e.cuda_graphs) {
    add(MemoryCategory::cuda_graphs, "CUDA graphs", measured(process.cuda_graphs), process.cuda_graphs.value,
        always);
  }
  if (e.parallel.tp * e.parallel.pp > 1) {
    add(MemoryCategory::nccl_buffers, "engine communicators", measured(process.engine_communicators),
        process.engine_communicators.value, always);
  }
  add(MemoryCategory::cuda_context, "engine context", measured(process.cuda_context),
      process.cuda_context.value, always);
  add(MemoryCategory::engine_residue, "engine residue", measured(process.engine_residue),
      process.engine_residue.value, always);
  if (!sleeps || e.sleep_level != 1) return;
  LedgerLine copy;
  copy.role = Role::rollout;
  copy.category = MemoryCategory::weights;
  copy.bytes = weights;
  copy.host = true;
  copy.name = "sleeping engine weights";
  copy.formula =
      "sleep level 1 copies them to pinned memory, which stays with the process (vllm-project/vllm#16663)";
  lines.push_back(copy);
}

void add_process_lines(std::vector<LedgerLine>& lines, Job const& job, ProcessMemory const& process) {
  add_line(lines,
           {Role::process, MemoryCategory::cuda_context, "trainer context", measured(process.cuda_context)},
           process.cuda_context.value, {});
  add_line(lines,
           {Role::process, MemoryCategory::nccl_buffers, "trainer communicators",
            fmt::format("one per group of more than one rank, {}", measured(process.communicator))},
           trainer_communicators(job, process), {});
}

}  // namespace rollcast
