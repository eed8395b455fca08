#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/adapter_memory.hpp"
#include "models/engine_start.hpp"
#include "models/engine_versions.hpp"
#include "models/growing_cache.hpp"
#include "models/ledger_lines.hpp"
#include "models/update_buffers.hpp"

namespace rollcast {
namespace {

std::string measured(CitedBytes const& c) { return "measured: " + c.source; }

// generate() of Transformers: on the trainer's GPUs its weights are the trainer's own, and its cache holds
// one batch.
void add_static_lines(std::vector<LedgerLine>& lines, Job const& job, ProcessMemory const& process) {
  EngineOptions const& e = job.rollout;
  std::vector<Phase> const generate = only(step_phases(job), {Phase::generate});
  double const prompt = longest(job.workload.prompt_tokens);
  double const length = prompt + longest(job.workload.response_tokens);
  double const batch = static_batch(job);
  if (!colocated(job)) {
    add_line(lines, {Role::rollout, MemoryCategory::weights, "model", std::string(name_of(e.weights))},
             engine_weights(job.model, e), {});
    add_line(lines,
             {Role::rollout, MemoryCategory::cuda_context, "engine context", measured(process.cuda_context)},
             process.cuda_context.value, {});
  }
  std::size_t const first = lines.size();
  add_line(lines,
           {Role::rollout, MemoryCategory::kv_pages, "KV of a batch",
            fmt::format("{:.0f} sequences x {:.0f} tokens x {:.0f} B, at its longest", batch, length,
                        kv_bytes_per_token(job.model, e).value)},
           static_cache(job, batch, length), generate);
  add_line(
      lines,
      {Role::rollout, MemoryCategory::kv_pages, "K and V for attention",
       job.train.flash_attention_2 ? "of one layer, without padding" : "of one layer, for every query head"},
      attention_copies(job, batch, length), generate);
  if (e.kv != KvCache::preallocated) {
    add_line(lines,
             {Role::rollout, MemoryCategory::kv_pages, "concatenated KV",
              keeps_old_cache(e.version)
                  ? "torch.cat: the old cache lives until the forward returns (transformers before 4.42)"
                  : "torch.cat: old and new K or V of a layer"},
             concatenation(job, batch, length), generate);
    for (std::size_t i = first; i < lines.size(); ++i) lines[i].in_pass = true;
  }
  // The trainer's own modules, whose shards are gathered for every forward.
  if (colocated(job)) {
    for (UpdateBuffer const& b : pass_buffers(job, {Role::actor, true, false}, 0)) {
      if (b.forward)
        add_line(lines, {Role::rollout, MemoryCategory::gather_buffers, b.name, b.formula}, b.bytes,
                 generate);
    }
  }
  bool const all = keeps_prompt_logits(e.version);
  add_line(lines,
           {Role::rollout, MemoryCategory::logits, "prompt logits",
            fmt::format("{:.0f} x {:.0f} tokens x {} x 6 B", batch, all ? prompt : 1.0,
                        grouped(static_cast<double>(job.model.vocab)))},
           prompt_logits(job, batch, prompt), generate);
  lines.back().in_pass = e.kv != KvCache::preallocated;  // gone when the cache is at its longest
}

// Slots for adapters on the GPU, and the adapters that a node's host memory keeps.
void add_adapters(std::vector<LedgerLine>& lines, Job const& job, std::vector<Phase> const& phases) {
  AdapterSlots const slots = adapter_slots(job);
  add_line(lines,
           {Role::rollout, MemoryCategory::weights, "adapter pool",
            fmt::format("{} slots x {}{}", slots.count, format(slots.each),
                        slots.wasted.value > 0 ? ", of it " + format(slots.wasted) +
                                                     " beyond the adapters' own ranks and targets"
                                               : "")},
           slots.bytes(), phases);
  if (!job.serve) return;
  ServedAdapters const& adapters = job.serve->adapters;
  bool const all = adapters.host_adapters == 0 || adapters.host_adapters >= adapters.count;
  add_line(lines,
           {Role::rollout, MemoryCategory::weights, "adapters in host memory",
            fmt::format("{} adapters, once for the {} GPUs of a node",
                        all ? adapters.count : adapters.host_adapters, job.cluster.node.gpus)},
           adapters_on_host(job.model, adapters) / std::max(1, job.cluster.node.gpus), {});
  if (!lines.empty() && lines.back().name == "adapters in host memory") lines.back().host = true;
}

void add_kv(std::vector<LedgerLine>& lines, Job const& job, ProcessMemory const& process,
            std::vector<Phase> const& phases) {
  EngineOptions const& e = job.rollout;
  EngineStart const start = engine_start(job, process);
  Bytes const token = kv_bytes_per_token(job.model, e);
  if (e.kv == KvCache::preallocated) {
    double const tokens = static_cast<double>(e.max_num_seqs) * static_cast<double>(start.longest);
    add_line(lines,
             {Role::rollout, MemoryCategory::kv_pages, "preallocated KV",
              fmt::format("{} sequences x {} tokens x {:.0f} B", e.max_num_seqs, start.longest, token.value)},
             tokens * token, phases);
    return;
  }
  add_line(lines,
           {Role::rollout, MemoryCategory::kv_pages, "KV pages",
            fmt::format("{} pages x {} tokens x {:.0f} B; {}", grouped(static_cast<double>(start.blocks)),
                        e.block_size, token.value, start.budget.formula)},
           static_cast<double>(std::max<std::int64_t>(0, start.blocks)) * kv_page(job.model, e), phases);
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

  add_adapters(lines, job, sleeps ? awake : always);
  add_kv(lines, job, process, sleeps ? engine_kv_phases(job) : always);
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
  if (e.logprobs) {
    add(MemoryCategory::logits, "log-probabilities of a step",
        fmt::format("fp32 log-softmax of {} sequences x {}, which the start-up profile leaves out (vLLM "
                    "v1/sample/sampler.py, compute_logprobs)",
                    e.max_num_seqs, grouped(static_cast<double>(job.model.vocab))),
        bytes(4.0 * e.max_num_seqs * job.model.vocab), only(all, {Phase::generate}));
  }
  bool const told = e.residue.value > 0;
  add(MemoryCategory::engine_residue, "engine residue",
      told ? "rollout.residue" : measured(process.engine_residue),
      told ? e.residue : process.engine_residue.value, always);
  if (!sleeps || e.sleep_level != 1) return;
  LedgerLine copy;
  copy.role = Role::rollout;
  copy.category = MemoryCategory::weights;
  copy.bytes = sleeping_copy(job.model, e) + adapter_slots(job).bytes();
  copy.host = true;
  copy.name = "sleeping engine weights";
  copy.formula =
      e.kind == EngineKind::vllm
          ? fmt::format(
                "sleep level 1 copies {} to pinned memory, each allocation rounded up to a power of "
                "two; it stays with the process (vllm-project/vllm#16663)",
                format(weights + adapter_slots(job).bytes()))
          : "sleep level 1 copies them to pinned memory, which stays with the process";
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
  if (!colocated(job) && contains(step_phases(job), Phase::weight_sync) && runs_here(job, Role::actor)) {
    bool const told = job.framework.sync_communicator.value > 0;
    add_line(
        lines,
        {Role::process, MemoryCategory::nccl_buffers, "communicator of the weight sync",
         told ? "framework.sync_communicator"
              : fmt::format("trainer and engines, made for each sync, {}", measured(process.communicator))},
        told ? job.framework.sync_communicator : process.communicator.value, {Phase::weight_sync});
  }
}

}  // namespace rollcast
