#include "scenarios/check_memory.hpp"

#include <string_view>

#include "models/pools.hpp"
#include "models/state_bytes.hpp"

namespace rollcast {

std::vector<Problem> check_memory(Job const& job) {
  std::vector<Problem> problems;
  auto const refuse = [&](bool given, char const* key, std::string_view what) {
    if (given) problems.push_back({"", 0, 0, key, std::string(what), "remove the key", ""});
  };
  FrameworkOptions const& f = job.framework;
  TrainerOptions const& t = job.train;
  bool const rollout = has_rollout(job.algorithm);
  bool const whole = f.sync_gather != SyncGather::tensor;
  refuse(t.entropy != Entropy::none && !rollout, "train.entropy",
         "it is of log-probabilities of generated samples");
  refuse(t.fresh_streams && zero_stage(t) < 3, "train.fresh_streams", "nothing is gathered layer by layer");
  refuse(whole && !rollout, "framework.sync_gather", "no weights are synced");
  refuse(f.sync_gathered.value > 0 && !whole, "framework.sync_gathered",
         "the weights are synced tensor by tensor");
  refuse(f.gather_before_wake && (!whole || f.sync_gather == SyncGather::shards),
         "framework.gather_before_wake", "nothing is gathered that could be gone before the engine wakes");
  bool const nemo = f.kind == FrameworkKind::nemo_rl;
  refuse(f.refit_buffer.value > 0 && !nemo, "framework.refit_buffer", "a buffer of nemo-rl");
  refuse(f.refit_whole_tensors && !nemo, "framework.refit_whole_tensors", "a buffer of nemo-rl");
  if (rollout) {
    refuse(f.sync_communicator.value > 0 && colocated(job), "framework.sync_communicator",
           "trainer and engines share their GPUs");
    bool const alone = job.algorithm.adapter && job.algorithm.adapter->sync == AdapterSync::adapter;
    refuse(job.rollout.adapter_slots > 0 && !alone, "rollout.adapter_slots", "no adapter is synced alone");
  }
  return problems;
}

}  // namespace rollcast
