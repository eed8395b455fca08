#include "sim/generate_static.hpp"

#include <algorithm>
#include <vector>

#include "models/balance.hpp"
#include "models/engine_versions.hpp"
#include "models/layer_prices.hpp"
#include "models/partition_work.hpp"
#include "models/shard_exchange.hpp"
#include "models/static_generate.hpp"

namespace rollcast {
namespace {

// Of all layers.
double hook_operations(Job const& job) {
  double sum = 0;
  for (LayerKind const& kind : layer_kinds(job.model, 0, job.model.layers))
    sum += kind.count * partition_work(job, kind.example).forward_operations;
  return sum;
}

StaticOptions options_of(RunState const& run, PoolState const& pool) {
  Job const& job = run.job;
  StaticOptions o;
  bool const padded = job.train.padding == Padding::maximum;
  if (padded) {
    o.prompt_length = longest(job.workload.prompt_tokens);
    o.steps = longest(job.workload.response_tokens);
  }
  o.unpadded_attention = job.train.flash_attention_2;
  // generate() runs the trainer's own modules, whose shards are gathered for every forward.
  if (colocated(job) && is_fully_sharded(job.train)) {
    o.weights = shard_group(pool.job);
    // Cut otherwise they are modules of its own, which have no hooks: DeepSpeed's hybrid engine.
    if (job.rollout.parallel.tp == job.train.parallel.tp) o.hook_operations = hook_operations(pool.job);
  }
  return o;
}

std::vector<std::vector<StepSample>> shares_of(std::vector<StepSample> const& samples, int engines) {
  std::vector<std::vector<StepSample>> shares;
  for (auto const& part : contiguous_parts(static_cast<int>(samples.size()), engines)) {
    auto& share = shares.emplace_back();
    for (int i : part) share.push_back(samples[static_cast<std::size_t>(i)]);
  }
  return shares;
}

std::vector<StaticSequence> sequences_of(std::vector<StepSample> const& share, std::size_t first,
                                         std::size_t last) {
  std::vector<StaticSequence> sequences;
  for (std::size_t i = first; i < last; ++i)
    sequences.push_back({share[i].prompt_tokens, share[i].response_tokens});
  return sequences;
}

// Ranks that gather each other's weights generate until the longest of all batches is done.
int steps_together(std::vector<std::vector<StepSample>> const& shares, std::size_t first, std::size_t feed) {
  int longest = 0;
  for (auto const& share : shares) {
    for (std::size_t i = first; i < std::min(share.size(), first + feed); ++i)
      longest = std::max(longest, share[i].response_tokens);
  }
  return longest;
}

}  // namespace

void generate_static(PhaseRun& p) {
  RolloutPool const& rollout = *p.run.rollout;
  EngineOptions const& e = rollout.job.rollout;
  Seconds const start = p.run.engine.now();
  auto const shares = shares_of(p.batch.samples, rollout.engines());
  std::size_t most = 0;
  for (auto const& share : shares) most = std::max(most, share.size());
  std::size_t const feed = e.feed > 0 ? static_cast<std::size_t>(e.feed) : std::max<std::size_t>(1, most);
  StaticOptions options = options_of(p.run, p.pool);
  bool const together = options.weights.ranks > 1 && options.steps == 0;
  EngineOverhead const* const own = find_overhead(p.pool.profile.engines, EngineKind::hf);
  EngineOverhead const& host = own != nullptr ? *own : *overhead_of_version(EngineKind::hf, e.version);

  p.batch.engine_of.clear();
  p.batch.finished.clear();
  std::vector<Seconds> ends(shares.size(), start);
  std::vector<std::vector<Seconds>> finished(shares.size());
  std::vector<Flops> flops(shares.size());
  std::vector<Bytes> hbm(shares.size());
  for (std::size_t first = 0; first < most; first += feed) {
    StaticOptions batch_options = options;
    if (together) batch_options.steps = steps_together(shares, first, feed);
    for (std::size_t i = 0; i < shares.size(); ++i) {
      std::size_t const last = std::min(shares[i].size(), first + feed);
      if (last <= first) continue;
      StaticBatch const batch = static_generate(p.pool.profile, *p.pool.prices, rollout.job.model, e, host,
                                                batch_options, sequences_of(shares[i], first, last));
      ends[i] += batch.end;
      finished[i].resize(last, ends[i]);
      flops[i] += batch.flops;
      hbm[i] += batch.hbm;
    }
  }
  Seconds const end = *std::max_element(ends.begin(), ends.end());
  for (std::size_t i = 0; i < shares.size(); ++i) {
    for (Seconds t : finished[i]) {
      p.batch.engine_of.push_back(static_cast<int>(i));
      p.batch.finished.push_back(t);
    }
    for (int c : p.pool.placement.classes_of_engine[i]) {
      p.recorder.span(c, Stream::compute, Activity::compute, "generate", start, ends[i], flops[i], hbm[i]);
      p.recorder.span(c, Stream::compute, Activity::rollout_tail, "other engines still generate", ends[i],
                      end);
    }
  }
  p.batch.generated_samples = static_cast<std::int64_t>(p.batch.samples.size());
  p.run.engine.delay(end - start);
  p.batch.generated = end;
}

}  // namespace rollcast
