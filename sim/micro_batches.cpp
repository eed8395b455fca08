#include "sim/micro_batches.hpp"

#include <cmath>

#include "models/batching.hpp"
#include "sim/sample_shards.hpp"

namespace rollcast {

std::vector<std::vector<std::vector<double>>> micro_batches_of(Team const& team, Batch& batch, Phase phase) {
  std::vector<RankLengths> const steps =
      trains(phase) ? optimizer_steps(team, batch) : std::vector<RankLengths>{forward_lengths(team, batch)};
  PassKind const pass = trains(phase) ? PassKind::training : PassKind::forward;
  std::vector<std::vector<std::vector<double>>> all;
  for (RankLengths const& lengths : steps) {
    auto& step = all.emplace_back();
    for (auto const& micro_batches : make_rank_batches(team.job, lengths, pass)) {
      auto& tokens = step.emplace_back();
      for (MicroBatch const& m : micro_batches)
        tokens.push_back(std::ceil(static_cast<double>(m.tokens) / team.job.train.parallel.cp));
    }
  }
  return all;
}

}  // namespace rollcast
