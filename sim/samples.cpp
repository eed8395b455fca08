#include "sim/samples.hpp"

#include "models/dataset_samples.hpp"

namespace rollcast {

namespace {

std::vector<Sample> dataset_samples(Job const& job, std::uint64_t seed, int step) {
  Algorithm const& a = job.algorithm;
  bool const pairs = a.kind == AlgorithmKind::dpo;
  std::vector<Sample> samples;
  for (DatasetItem const& item : items_of_step(a.kind, job.workload, a.train_batch, seed, step)) {
    auto const add = [&](int response) {
      samples.push_back({static_cast<std::int64_t>(samples.size()), static_cast<int>(item.id),
                         item.prompt_tokens, response});
    };
    add(item.response_tokens);
    if (pairs) add(item.rejected_tokens);
  }
  return samples;
}

}  // namespace

std::vector<Sample> samples_of_step(Job const& job, std::uint64_t seed, int step) {
  if (!generates(job.algorithm.kind)) return dataset_samples(job, seed, step);
  std::vector<Sample> samples;
  samples.reserve(static_cast<std::size_t>(job.algorithm.samples()));
  auto const key = [&](Purpose purpose, std::int64_t index) {
    return RandomKey{seed, purpose, static_cast<std::uint32_t>(step), static_cast<std::uint64_t>(index)};
  };
  for (int prompt = 0; prompt < job.algorithm.prompts; ++prompt) {
    int const prompt_tokens = sample(job.workload.prompt_tokens, key(Purpose::prompt_length, prompt), step);
    for (int sibling = 0; sibling < job.algorithm.group_size; ++sibling) {
      auto const id = static_cast<std::int64_t>(samples.size());
      samples.push_back({id, prompt, prompt_tokens,
                         sample(job.workload.response_tokens, key(Purpose::response_length, id), step)});
    }
  }
  return samples;
}

std::vector<std::vector<Sample>> shard(std::vector<Sample> const& samples, int parts) {
  std::vector<std::vector<Sample>> shards(static_cast<std::size_t>(parts));
  std::size_t const n = samples.size();
  std::size_t const p = shards.size();
  for (std::size_t i = 0; i < p; ++i) {
    shards[i].assign(samples.begin() + static_cast<std::ptrdiff_t>(n * i / p),
                     samples.begin() + static_cast<std::ptrdiff_t>(n * (i + 1) / p));
  }
  return shards;
}

}  // namespace rollcast
