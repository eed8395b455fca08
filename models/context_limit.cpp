#include "models/context_limit.hpp"

#include <algorithm>

#include "models/engine_start.hpp"
#include "models/ledger.hpp"
#include "models/pools.hpp"

namespace rollcast {
namespace {

bool fits(Job job, std::int64_t tokens) {
  auto const prompt = static_cast<int>(tokens / 2);
  job.workload.prompt_tokens = {FixedLength{prompt}};
  job.workload.response_tokens = {FixedLength{static_cast<int>(tokens) - prompt}};
  job.rollout.max_model_len = 0;
  if (job.serve) job.serve->arrivals = {};  // a trace has lengths of its own
  if (has_rollout(job.algorithm) && !engine_start(on_pool(job, pool_of(job, Role::rollout))).refusal.empty())
    return false;
  for (int pool = 0; pool < static_cast<int>(pools_of(job).size()); ++pool) {
    Job const view = on_pool(job, pool);
    std::vector<RankLedger> const ledgers = memory_ledger(view);
    bool const gpus = std::all_of(ledgers.begin(), ledgers.end(),
                                  [](RankLedger const& l) { return peak(l).bytes <= l.capacity; });
    Bytes const host =
        max(host_peak(ledgers, view.cluster).bytes, view.cluster.node.gpus * host_at_load(view));
    if (!gpus || host > view.framework.host_memory_share * view.cluster.node.host_memory) return false;
  }
  return true;
}

}  // namespace

std::int64_t longest_fitting_sequence(Job const& job) {
  std::int64_t least = 1;  // does not count: a sequence has a prompt and a response
  std::int64_t most = job.model.max_context;
  if (fits(job, most)) return most;
  while (most - least > 1) {
    std::int64_t const middle = least + (most - least) / 2;
    (fits(job, middle) ? least : most) = middle;
  }
  return least > 1 ? least : 0;
}

}  // namespace rollcast
