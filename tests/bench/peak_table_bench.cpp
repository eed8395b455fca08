// Goal: layouts pruned by the ledger at 1,000,000 a second on a core.
//
// The space is that of `rollcast plan` for 8 nodes and Llama-3.1-70B, colocated GRPO: Megatron with tp x pp x
// cp of powers of two, recompute, offload and micro-batches; engines by tp, memory share, sequences and
// tokens a step. PeakBytes asks one layout after another of a table that is there; PruneSpace makes the table
// from the named ledger as well and counts the layouts that fit.
#include <benchmark/benchmark.h>

#include "models/catalog/catalog.hpp"
#include "models/peak_table.hpp"

namespace {

using namespace rollcast;

Job base() {
  Job job;
  job.model = *find_architecture(builtin_catalog(), "llama-3.1-70b");
  job.cluster.node = *find_node(builtin_catalog(), "hgx-h100");
  job.cluster.nodes = 8;
  job.framework.order = {Phase::generate,     Phase::sleep,       Phase::score,
                         Phase::old_logprob,  Phase::reference,   Phase::advantage,
                         Phase::update_actor, Phase::weight_sync, Phase::wake};
  job.algorithm.prompts = 64;
  job.algorithm.group_size = 16;
  job.algorithm.train_batch = 512;
  job.algorithm.kl_reference = true;
  job.workload.prompt_tokens.shape = FixedLength{512};
  job.workload.response_tokens.shape = FixedLength{7680};
  job.train.distributed_optimizer = true;
  return job;
}

std::vector<Job> trainers() {
  std::vector<Job> out;
  Job job = base();
  job.train.sequence_parallel = true;
  for (int tp : {1, 2, 4, 8})
    for (int pp : {1, 2, 4, 8})
      for (int cp : {1, 2, 4})
        for (Recompute recompute : {Recompute::none, Recompute::selective, Recompute::full})
          for (bool offload : {false, true})
            for (int micro_batch : {1, 2}) {
              if (tp * pp * cp > job.cluster.gpus()) continue;
              job.train.parallel = {tp, pp, cp, 1, 0};
              job.train.recompute = recompute;
              job.train.offload.optimizer = offload;
              job.train.micro_batch = job.train.logprob_micro_batch = micro_batch;
              out.push_back(job);
            }
  return out;
}

std::vector<EngineOptions> engines() {
  std::vector<EngineOptions> out;
  EngineOptions e;
  for (int tp : {1, 2, 4, 8})
    for (int percent = 30; percent <= 95; percent += 5)
      for (int seqs : {128, 256, 512, 1024})
        for (int tokens : {2048, 4096, 8192, 16384}) {
          e.parallel = {tp, 1, 1, 1, 0};
          e.gpu_memory_utilization = percent / 100.0;
          e.max_num_seqs = seqs;
          e.max_num_batched_tokens = tokens;
          out.push_back(e);
        }
  return out;
}

std::int64_t fitting(PeakTable const& table) {
  std::int64_t n = 0;
  for (std::size_t t = 0; t < table.trainers(); ++t) {
    for (std::size_t e = 0; e < table.engines(); ++e) n += table.peak({t, e}).fits() ? 1 : 0;
  }
  return n;
}

void PeakBytes(benchmark::State& state) {
  PeakTable const table(trainers(), engines());
  TableLayout layout;
  for (auto _ : state) {
    benchmark::DoNotOptimize(table.peak_bytes(layout));
    if (++layout.engine == table.engines()) {
      layout.engine = 0;
      layout.trainer = (layout.trainer + 1) % table.trainers();
    }
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(PeakBytes);

void PruneSpace(benchmark::State& state) {
  std::vector<Job> const t = trainers();
  std::vector<EngineOptions> const e = engines();
  std::int64_t fit = 0;
  for (auto _ : state) fit = fitting(PeakTable(t, e));
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(t.size() * e.size()));
  state.counters["layouts"] = static_cast<double>(t.size() * e.size());
  state.counters["fitting"] = static_cast<double>(fit);
}
BENCHMARK(PruneSpace)->Unit(benchmark::kMillisecond);

}  // namespace
