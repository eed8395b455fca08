#include "models/batching.hpp"

#include <algorithm>
#include <numeric>

namespace rollcast {
namespace {

int longest_sequence(Workload const& w) { return longest(w.prompt_tokens) + longest(w.response_tokens); }

double causal_pairs(std::int64_t length) {
  double const l = static_cast<double>(length);
  return l * (l + 1) / 2;
}

// Every sequence padded to `length`.
std::vector<MicroBatch> padded(std::vector<int> const& lengths, std::size_t group, std::int64_t length) {
  std::vector<MicroBatch> batches;
  for (std::size_t first = 0; first < lengths.size(); first += group) {
    std::size_t const last = std::min(first + group, lengths.size());
    MicroBatch m;
    for (std::size_t i = first; i < last; ++i) m.useful_tokens += lengths[i];
    m.tokens = length * static_cast<std::int64_t>(last - first);
    m.pairs = causal_pairs(length) * static_cast<double>(last - first);
    batches.push_back(m);
  }
  return batches;
}

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
  return make_dynamic_batches(ranks, budget);
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
                                  : padded(lengths, static_cast<std::size_t>(sequences), length));
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
  std::vector<int> order(n);
  std::iota(order.begin(), order.end(), 0);
  if (balance == Balance::none) {
    std::size_t const unit = job.algorithm.kind == AlgorithmKind::dpo ? 2 : 1;
    std::size_t const items = n / unit;
    for (std::size_t i = 0; i < p; ++i)
      parts[i].assign(order.begin() + static_cast<std::ptrdiff_t>(items * i / p * unit),
                      order.begin() + static_cast<std::ptrdiff_t>(items * (i + 1) / p * unit));
    return parts;
  }
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
