#include "sim/sample_shards.hpp"

#include <algorithm>

namespace rollcast {
namespace {

std::vector<int> lengths_of(std::vector<StepSample> const& samples) {
  std::vector<int> lengths;
  lengths.reserve(samples.size());
  for (StepSample const& s : samples) lengths.push_back(s.tokens());
  return lengths;
}

RankLengths picked(std::vector<std::vector<int>> const& parts, std::vector<int> const& lengths) {
  RankLengths out;
  out.reserve(parts.size());
  for (auto const& part : parts) {
    auto& of_rank = out.emplace_back();
    of_rank.reserve(part.size());
    for (int i : part) of_rank.push_back(lengths[static_cast<std::size_t>(i)]);
  }
  return out;
}

// Slice `step` of `steps` equal ones of each rank.
RankLengths slices(RankLengths const& ranks, std::size_t step, std::size_t steps) {
  RankLengths out;
  for (auto const& lengths : ranks) {
    std::size_t const n = lengths.size();
    out.emplace_back(lengths.begin() + static_cast<std::ptrdiff_t>(n * step / steps),
                     lengths.begin() + static_cast<std::ptrdiff_t>(n * (step + 1) / steps));
  }
  return out;
}

}  // namespace

std::vector<std::vector<int>> const& dealt_to(Team const& team, Batch& batch) {
  auto const [at, is_new] = batch.dealt.try_emplace(team.replicas());
  if (is_new) at->second = deal_samples(team.job, lengths_of(batch.samples), team.replicas());
  return at->second;
}

RankLengths forward_lengths(Team const& team, Batch& batch) {
  std::vector<int> lengths = lengths_of(batch.samples);
  if (has_value_head(team.role)) {
    for (int& length : lengths) length = std::max(length, team.job.score.padded_tokens);
  }
  return picked(dealt_to(team, batch), lengths);
}

std::vector<RankLengths> optimizer_steps(Team const& team, Batch& batch) {
  Algorithm const& a = team.job.algorithm;
  std::vector<int> const lengths = lengths_of(batch.samples);
  // train_batch counts pairs for dpo.
  std::size_t const per_step =
      static_cast<std::size_t>(a.train_batch) * (a.kind == AlgorithmKind::dpo ? 2 : 1);
  std::size_t const steps = (lengths.size() + per_step - 1) / per_step;
  std::vector<RankLengths> out;
  for (int epoch = 0; epoch < a.epochs; ++epoch) {
    if (team.job.train.balance == Balance::karmarkar_karp) {
      RankLengths const whole = forward_lengths(team, batch);
      for (std::size_t k = 0; k < steps; ++k) out.push_back(slices(whole, k, steps));
      continue;
    }
    for (std::size_t k = 0; k < steps; ++k) {
      auto const first = lengths.begin() + static_cast<std::ptrdiff_t>(k * per_step);
      auto const last =
          lengths.begin() + static_cast<std::ptrdiff_t>(std::min(lengths.size(), (k + 1) * per_step));
      std::vector<int> const part(first, last);
      out.push_back(picked(deal_samples(team.job, part, team.replicas()), part));
    }
  }
  return out;
}

}  // namespace rollcast
