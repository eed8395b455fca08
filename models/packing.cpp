#include "models/packing.hpp"

#include <algorithm>
#include <functional>

namespace rollcast {
namespace {

double causal_pairs(std::int64_t length) {
  double const l = static_cast<double>(length);
  return l * (l + 1) / 2;
}

std::vector<MicroBatch> pack(std::vector<int> lengths, std::int64_t capacity) {
  std::sort(lengths.begin(), lengths.end(), std::greater<>());
  std::vector<MicroBatch> packs;
  for (int const length : lengths) {
    auto const fits = [&](MicroBatch const& m) { return m.tokens + length <= capacity; };
    auto found = std::find_if(packs.begin(), packs.end(), fits);
    if (found == packs.end()) found = packs.insert(packs.end(), MicroBatch{});
    found->tokens += length;
    found->useful_tokens += length;
    found->pairs += causal_pairs(length);
  }
  return packs;
}

void pad_to_longest(std::vector<MicroBatch>& packs) {
  std::int64_t longest = 0;
  for (MicroBatch const& m : packs) longest = std::max(longest, m.tokens);
  for (MicroBatch& m : packs) m.tokens = longest;
}

std::vector<MicroBatch> pad(std::vector<int> const& lengths, std::size_t group) {
  std::vector<MicroBatch> batches;
  for (std::size_t first = 0; first < lengths.size(); first += group) {
    std::size_t const last = std::min(first + group, lengths.size());
    std::int64_t longest = 0;
    MicroBatch m;
    for (std::size_t i = first; i < last; ++i) {
      longest = std::max<std::int64_t>(longest, lengths[i]);
      m.useful_tokens += lengths[i];
    }
    m.tokens = longest * static_cast<std::int64_t>(last - first);
    m.pairs = causal_pairs(longest) * static_cast<double>(last - first);
    batches.push_back(m);
  }
  return batches;
}

}  // namespace

std::vector<MicroBatch> make_micro_batches(std::vector<int> const& lengths, TrainerOptions const& t,
                                           int sequences_per_micro_batch, int pack_tokens) {
  if (lengths.empty()) return {};
  int const sequences = std::max(1, sequences_per_micro_batch);
  if (!t.packing) return pad(lengths, static_cast<std::size_t>(sequences));
  int const budget = pack_tokens > 0 ? pack_tokens : *std::max_element(lengths.begin(), lengths.end());
  auto packs = pack(lengths, std::int64_t{budget} * sequences);
  if (t.equal_packs && t.parallel.pp > 1) pad_to_longest(packs);
  return packs;
}

}  // namespace rollcast
