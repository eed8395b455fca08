#include "models/engine_limits.hpp"

#include <algorithm>
#include <cmath>

#include "models/activations.hpp"
#include "models/adapter_memory.hpp"
#include "models/engine_memory.hpp"
#include "models/engine_versions.hpp"

namespace rollcast {
namespace {

// vLLM asks for room for max_model_len; the others for what comes.
std::int64_t longest_of(Job job) {
  if (job.rollout.kind != EngineKind::vllm) job.rollout.max_model_len = 0;
  return longest_sequence(job);
}

// 0: the slots are enough.
int lacking_slots(Job const& job) {
  int const slots = job.rollout.adapter_slots;
  int const needed = slots_for_versions(job);
  return slots == 0 || slots >= needed ? 0 : needed;
}

std::int64_t pages_of_largest(Job const& job) {
  std::int64_t most = 0;
  if (!job.serve || !in_kv_pages(job.serve->adapters)) return most;
  for (AdapterVariant const& v : job.serve->adapters.variants)
    most = std::max(most, adapter_pages(job.model, job.rollout, job.serve->adapters, v));
  return most;
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
  l.adapter_pages = pages_of_largest(job);
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
    if ((blocks - l.adapter_pages) * l.block_size < l.longest) return StartProblem::no_room_for_adapter;
  }
  return l.slots_needed > 0 ? StartProblem::too_few_slots : StartProblem::none;
}

}  // namespace rollcast
