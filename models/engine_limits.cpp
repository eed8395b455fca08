#include "models/engine_limits.hpp"

#include <cmath>

#include "models/activations.hpp"
#include "models/engine_memory.hpp"
#include "models/engine_versions.hpp"

namespace rollcast {
namespace {

// vLLM asks for room for max_model_len; the others for what comes.
std::int64_t longest_of(Job job) {
  if (job.rollout.kind != EngineKind::vllm) job.rollout.max_model_len = 0;
  return longest_sequence(job);
}

// Samples under way keep the version of their adapter that they began with (TRL pull request 7017). 0: the
// slots are enough.
int lacking_slots(Job const& job) {
  int const slots = job.rollout.adapter_slots;
  auto const& adapter = job.algorithm.adapter;
  if (slots == 0 || !adapter || adapter->sync != AdapterSync::adapter) return 0;
  double staleness = 0;
  if (job.schedule.kind == ScheduleKind::one_step_off) staleness = 1;
  if (job.schedule.kind == ScheduleKind::async) staleness = job.schedule.async.max_staleness;
  int const needed = (static_cast<int>(std::ceil(staleness)) + 1) * adapter->count;
  return slots >= needed ? 0 : needed;
}

}  // namespace

EngineLimits engine_limits(Job const& job) {
  EngineOptions const& e = job.rollout;
  EngineLimits l;
  l.longest = longest_of(job);
  l.starts = e.kind == EngineKind::hf;
  l.paged = !l.starts && e.kv == KvCache::paged;
  if (l.starts) return l;
  l.checks_free = kv_sizing(e.kind, e.version).start_check;
  l.page = kv_page(job.model, e);
  l.block_size = e.block_size;
  l.max_num_seqs = e.max_num_seqs;
  l.slots_needed = lacking_slots(job);
  return l;
}

std::int64_t kv_pages_of(EngineLimits const& l, Bytes left) {
  if (l.starts) return 0;
  if (!l.paged) return std::int64_t{l.max_num_seqs} * ((l.longest + l.block_size - 1) / l.block_size);
  return static_cast<std::int64_t>(std::floor(left / l.page));
}

StartProblem start_problem(EngineLimits const& l, KvFigures const& f) {
  if (l.starts) return StartProblem::none;
  if (l.checks_free && f.free_at_start < f.asked) return StartProblem::less_is_free;
  if (l.paged) {
    std::int64_t const blocks = kv_pages_of(l, f.left);
    if (blocks <= 0) return StartProblem::no_page;
    if (blocks * l.block_size < l.longest) return StartProblem::short_of_one_sequence;
  }
  return l.slots_needed > 0 ? StartProblem::too_few_slots : StartProblem::none;
}

}  // namespace rollcast
