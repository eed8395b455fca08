// Jobs that serve adapters, for tests.
#pragma once

#include "models/job.hpp"
#include "tests/models/price_fixtures.hpp"

namespace rollcast::test {

// Adapters of rank 16 on q and v of one base model, on `gpus` of one node of eight H100s: requests of 100 +
// 50 tokens.
inline Job serving_job(Architecture const& model, int gpus) {
  Job job;
  job.model = model;
  job.cluster = h100_cluster(1);
  job.cluster.node.gpus = gpus;
  job.algorithm.kind = AlgorithmKind::serve;
  job.rollout.balance = EngineBalance::least_load;
  job.workload.prompt_tokens = {FixedLength{100}, 0, 100};
  job.workload.response_tokens = {FixedLength{50}, 0, 50};
  job.serve = ServeOptions{};
  return job;
}

}  // namespace rollcast::test
