#include "sim/generate_static.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "models/balance.hpp"
#include "models/engine_versions.hpp"
#include "models/growing_cache.hpp"
#include "models/kernels.hpp"
#include "models/layer_prices.hpp"
#include "models/partition_work.hpp"
#include "models/pools.hpp"
#include "models/shard_exchange.hpp"
#include "models/static_generate.hpp"
#include "sim/time_limits.hpp"

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

// What the phase leaves for the cache on the rank.
Bytes room_for_cache(PhaseRun const& p, int rank_class) {
  RankLedger const& l = p.pool.ledger_of(rank_class);
  Bytes held;
  for (LedgerLine const& line : l.lines) {
    bool const made = !line.from_first_update || p.run.updated.contains(line.role);
    bool const cached = line.category == MemoryCategory::allocator_cache;
    if (!line.host && !line.in_pass && made && !cached && is_present(line, p.phase)) held += line.bytes;
  }
  return l.capacity - held;
}

// Of PyTorch's message, nothing being free in its cache: it was given back.
OutOfMemory figures_of(RankLedger const& l, Phase phase, Bytes requested, Bytes free) {
  auto const whole = [](Bytes b) { return static_cast<std::int64_t>(std::llround(b.value)); };
  AllocatorConfig const config;
  OutOfMemory o;
  o.requested = whole(requested);
  o.block = block_size(o.requested, config);
  o.tried = segment_size(o.block, config);
  o.total = whole(l.capacity);
  o.free = whole(free);
  Bytes outside;
  for (LedgerLine const& line : l.lines) {
    bool const context = line.category == MemoryCategory::cuda_context;  // of an engine on GPUs of its own
    if ((line.role == Role::process || context) && line.category != MemoryCategory::allocator_cache &&
        is_present(line, phase))
      outside += line.bytes;
  }
  o.non_torch = whole(outside);
  o.process = o.total - o.free;
  o.allocated = o.process - o.non_torch;
  return o;
}

// A batch whose cache outgrows its GPU.
struct Overgrown {
  std::size_t engine = 0;
  double batch = 0;
  int length = 0;  // of the sequences then, prompts included
  Bytes room;
  Seconds time;
  bool logits = false;  // those of the prompts find no room
};

template <class Price>
std::optional<Overgrown> overgrown(PhaseRun const& p, Job const& job, std::size_t engine,
                                   StaticOptions options, std::vector<StaticSequence> sequences,
                                   Seconds start, Price const& price) {
  if (job.rollout.kv == KvCache::preallocated) return std::nullopt;
  int prompt = options.prompt_length;
  int longest = 0;
  for (StaticSequence const& s : sequences) {
    prompt = std::max(prompt, s.prompt_tokens);
    longest = std::max(longest, s.response_tokens);
  }
  longest = std::max(longest, options.steps);  // of padded answers
  Overgrown o{engine, static_cast<double>(sequences.size()), 0, Bytes(0), start, false};
  o.room = room_for_cache(p, p.pool.placement.classes_of_engine[engine].front());
  o.length = std::max(prompt, first_length_beyond(job, o.batch, o.room));
  Bytes const at_prompt = static_cache(job, o.batch, prompt) + prompt_logits(job, o.batch, prompt);
  o.logits = at_prompt > o.room;
  if (o.logits) o.length = prompt;
  if (o.length > prompt + longest) return std::nullopt;
  int const steps = std::max(1, o.length - prompt);
  for (StaticSequence& s : sequences) s.response_tokens = std::min(s.response_tokens, steps);
  options.steps = steps;
  o.time += price(options, sequences).end;
  return o;
}

OomRecord record_of(PhaseRun const& p, Job const& job, Overgrown const& o) {
  OomRecord oom;
  int const of_class = p.pool.placement.classes_of_engine[o.engine].front();
  oom.rank = p.run.log.rank_classes[static_cast<std::size_t>(of_class)].ranks.front();
  oom.time = o.time;
  oom.pool = p.pool.index;
  oom.step = p.batch.step;
  oom.phase = p.phase;
  Bytes const left = o.room - static_cache(job, o.batch, o.length);
  if (o.logits) {
    oom.allocation = "rollout logits: prompt logits";
    oom.requested = prompt_logits(job, o.batch, o.length);
    oom.free = max(Bytes(0), left);
  } else {
    oom.allocation = fmt::format("rollout kv_pages: KV growth at token {}", o.length);
    oom.requested = concatenation(job, o.batch, o.length);
    oom.free = max(Bytes(0), left - attention_copies(job, o.batch, o.length));
  }
  oom.figures = figures_of(p.pool.ledger_of(of_class), p.phase, oom.requested, oom.free);
  oom.allocated = bytes(static_cast<double>(oom.figures->allocated));
  return oom;
}

}  // namespace

std::optional<OomRecord> generate_static(PhaseRun& p) {
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
  EngineOverhead const host = own != nullptr ? *own
                                             : scaled(*overhead_of_version(EngineKind::hf, e.version),
                                                      other_prices(p.pool.profile).releases);

  p.batch.engine_of.clear();
  p.batch.finished.clear();
  std::vector<Seconds> ends(shares.size(), start);
  std::vector<std::vector<Seconds>> finished(shares.size());
  std::vector<Flops> flops(shares.size());
  std::vector<Bytes> hbm(shares.size());
  std::optional<Overgrown> first_overgrown;
  for (std::size_t first = 0; first < most; first += feed) {
    StaticOptions batch_options = options;
    if (together) batch_options.steps = steps_together(shares, first, feed);
    for (std::size_t i = 0; i < shares.size(); ++i) {
      std::size_t const last = std::min(shares[i].size(), first + feed);
      if (last <= first) continue;
      std::vector<StaticSequence> const sequences = sequences_of(shares[i], first, last);
      auto const price = [&](StaticOptions const& o, std::vector<StaticSequence> const& of) {
        return static_generate(p.pool.profile, *p.pool.prices, rollout.job.model, e, host, o, of);
      };
      StaticBatch const batch = price(batch_options, sequences);
      if (auto const o = overgrown(p, rollout.job, i, options, sequences, ends[i], price))
        if (!first_overgrown || o->time < first_overgrown->time) first_overgrown = o;
      ends[i] += batch.end;
      finished[i].resize(last, ends[i]);
      flops[i] += batch.flops;
      hbm[i] += batch.hbm;
    }
  }
  if (first_overgrown) return record_of(p, rollout.job, *first_overgrown);
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
  if (colocated(p.run.job)) {
    std::vector<Seconds> of_class(static_cast<std::size_t>(p.pool.classes()), end);
    for (std::size_t i = 0; i < shares.size(); ++i)
      for (int c : p.pool.placement.classes_of_engine[i])
        of_class[static_cast<std::size_t>(c - p.pool.first_class())] = ends[i];
    watch_ends(p, of_class, end);
  }
  p.run.engine.delay(end - start);
  p.batch.generated = end;
  return std::nullopt;
}

}  // namespace rollcast
