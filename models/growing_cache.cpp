#include "models/growing_cache.hpp"

#include <algorithm>
#include <cmath>

#include "models/engine_memory.hpp"
#include "models/engine_versions.hpp"

namespace rollcast {

double static_batch(Job const& job) {
  if (job.rollout.feed > 0) return job.rollout.feed;
  return std::ceil(job.algorithm.samples() / static_cast<double>(std::max(1, rollout_engines(job))));
}

Bytes static_cache(Job const& job, double batch, double length) {
  return batch * length * kv_bytes_per_token(job.model, job.rollout);
}

Bytes concatenation(Job const& job, double batch, double length) {
  if (job.rollout.kv == KvCache::preallocated) return Bytes(0);
  Bytes const cache = static_cache(job, batch, length);
  return keeps_old_cache(job.rollout.version) ? cache : cache / (2.0 * job.model.layers);
}

Bytes attention_copies(Job const& job, double batch, double length) {
  Architecture const& a = job.model;
  double const heads = job.train.flash_attention_2 ? 1 : static_cast<double>(a.heads) / a.kv_heads;
  return static_cache(job, batch, length) / a.layers * heads;
}

Bytes prompt_logits(Job const& job, double batch, double prompt) {
  double const positions = keeps_prompt_logits(job.rollout.version) ? prompt : 1;
  return bytes(batch * positions * job.model.vocab * (2 + 4) / job.rollout.parallel.tp);
}

int first_length_beyond(Job const& job, double batch, Bytes room) {
  Bytes const token =
      static_cache(job, batch, 1) + concatenation(job, batch, 1) + attention_copies(job, batch, 1);
  return static_cast<int>(std::clamp(std::floor(room / token) + 1, 1.0, 2e9));
}

}  // namespace rollcast
