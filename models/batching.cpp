#include "models/batching.hpp"

#include <algorithm>
#include <numeric>

namespace rollcast {
namespace {

int longest_sequence(Workload const& w) { return longest(w.prompt_tokens) + longest(w.response_tokens); }

std::int64_t padding_length(Job const& job, RankLengths const& ranks) {
  if (job.train.padding == Padding::maximum) return longest_sequence(job.workload);
  std::int64_t most = 0;
  for (auto const& lengths : ranks) {
    for (int l : lengths) most = std::max<std::int64_t>(most, l);
  }
  return most;
}

std::vector<std::vector<MicroBatch>> dynamic(Job const& job, RankLengths const& ranks, PassKind pass) {
  TrainerOptions const& t = job.train;
  int const tokens = pass == PassKind::training ? t.tokens_per_micro_batch : t.logprob_tokens_per_micro_batch;
  TokenBudget const budget{.tokens = tokens * t.parallel.cp,
                           .multiple = t.virtual_stages > 1 ? t.parallel.pp : 1};
  if (t.equal_micro_batches) return make_dynamic_batches(ranks, budget);
  std::vector<std::vector<MicroBatch>> of_ranks;
  for (auto const& lengths : ranks) of_ranks.push_back(make_dynamic_batches({lengths}, budget).front());
  return of_ranks;
}

}  // namespace

std::vector<std::vector<MicroBatch>> make_rank_batches(Job const& job, RankLengths const& ranks,
                                                       PassKind pass) {
  TrainerOptions const& t = job.train;
  if (t.dynamic_batching) return dynamic(job, ranks, pass);
  int const each = pass == PassKind::training ? t.micro_batch : t.logprob_micro_batch;
  int const sequences = each * (job.algorithm.kind == AlgorithmKind::dpo ? 2 : 1);
  bool const own_padding = t.packing || t.padding == Padding::longest;
  std::int64_t const length = own_padding ? 0 : padding_length(job, ranks);
  int const pack = t.pack_tokens > 0 ? t.pack_tokens : longest_sequence(job.workload);
  std::vector<std::vector<MicroBatch>> batches;
  batches.reserve(ranks.size());
  for (auto const& lengths : ranks) {
    batches.push_back(own_padding ? make_micro_batches(lengths, t, sequences, pack)
                                  : pad_sequences(lengths, static_cast<std::size_t>(sequences), length));
  }
  return batches;
}

std::vector<std::vector<int>> deal_samples(Job const& job, std::vector<int> const& lengths, int ranks) {
  auto const n = lengths.size();
  auto const p = static_cast<std::size_t>(ranks);
  std::vector<std::vector<int>> parts(p);
  Balance const balance = job.algorithm.kind == AlgorithmKind::dpo ? Balance::none : job.train.balance;
  if (balance == Balance::karmarkar_karp && n % p == 0 && n > 0)
    return deal_balanced(sequence_loads(lengths, LoadKind::transformer), ranks);
  if (balance == Balance::none)
    return contiguous_parts(static_cast<int>(n), ranks, job.algorithm.kind == AlgorithmKind::dpo ? 2 : 1);
  std::vector<int> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return lengths[static_cast<std::size_t>(a)] > lengths[static_cast<std::size_t>(b)];
  });
  for (std::size_t i = 0; i < n; ++i) {
    bool const forth = i / p % 2 == 0;
    parts[forth ? i % p : p - 1 - i % p].push_back(order[i]);
  }
  return parts;
}

}  // namespace rollcast
