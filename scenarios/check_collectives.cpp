#include "scenarios/check_collectives.hpp"

#include <string_view>

#include "models/pools.hpp"
#include "models/roles.hpp"
#include "models/shard_exchange.hpp"

namespace rollcast {

std::vector<Problem> check_collectives(Job const& job) {
  std::vector<Problem> problems;
  auto const refuse = [&](bool given, char const* key, std::string_view what) {
    if (given) problems.push_back({"", 0, 0, key, std::string(what), "remove the key", ""});
  };
  CommunicatorOptions const standard;
  CommunicatorOptions const& c = job.framework.communicators;
  bool const syncs = generates(job.algorithm.kind) && contains(step_phases(job), Phase::weight_sync);
  bool const several = c.per_gpu > standard.per_gpu;
  bool const sender = job.framework.sync_gather_stream == GatherStream::sender;
  refuse(several && !syncs, "framework.communicators.per_gpu", "no weights are synced");
  refuse(!several && c.order != standard.order, "framework.communicators.order",
         "one communicator has no order");
  refuse(!several && c.concurrent != standard.concurrent, "framework.communicators.concurrent",
         "one communicator runs one collective at a time");
  refuse(several && sender, "framework.communicators.per_gpu",
         "the collectives of a sync are either those of sync_gather_stream or these");
  refuse(sender && !syncs, "framework.sync_gather_stream", "no weights are synced");
  refuse(sender && syncs && colocated(job), "framework.sync_gather_stream",
         "trainer and engines share their GPUs, and nothing is broadcast");
  refuse(sender && !is_fully_sharded(job.train), "framework.sync_gather_stream",
         "the trainer gathers no weights from shards of all ranks");
  return problems;
}

}  // namespace rollcast
