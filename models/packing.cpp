#include "models/packing.hpp"

#include <algorithm>
#include <functional>

#include "models/step_prices.hpp"

namespace rollcast {
namespace {

// The room in packs 0, 1, 2, ... of one capacity, as a tournament: node i holds the larger room of nodes 2i
// and 2i + 1, so the first pack with enough room is found in log2(packs) steps.
class Room {
 public:
  Room(std::size_t packs, std::int64_t capacity) {
    while (leaves_ < packs) leaves_ *= 2;
    largest_.assign(2 * leaves_, capacity);
  }

  // Takes `tokens` from the first pack that has them and returns its number; some pack must.
  std::size_t take(std::int64_t tokens) {
    std::size_t node = 1;
    while (node < leaves_) node = 2 * node + (largest_[2 * node] < tokens ? 1 : 0);
    largest_[node] -= tokens;
    std::size_t const pack = node - leaves_;
    for (node /= 2; node >= 1; node /= 2)
      largest_[node] = std::max(largest_[2 * node], largest_[2 * node + 1]);
    return pack;
  }

 private:
  std::size_t leaves_ = 1;
  std::vector<std::int64_t> largest_;
};

// First fit decreasing. A sequence that is longer than a pack stands alone.
std::vector<MicroBatch> pack(std::vector<int> lengths, std::int64_t capacity) {
  std::sort(lengths.begin(), lengths.end(), std::greater<>());
  Room room(lengths.size(), capacity);
  std::vector<MicroBatch> packs;
  for (int const length : lengths) {
    std::size_t const p = room.take(std::min<std::int64_t>(length, capacity));
    if (p == packs.size()) packs.push_back({});
    packs[p].tokens += length;
    packs[p].useful_tokens += length;
    packs[p].pairs += causal_pairs(static_cast<double>(length));
  }
  return packs;
}

void pad_to_longest(std::vector<MicroBatch>& packs) {
  std::int64_t longest = 0;
  for (MicroBatch const& m : packs) longest = std::max(longest, m.tokens);
  for (MicroBatch& m : packs) m.tokens = longest;
}

}  // namespace

std::vector<MicroBatch> pad_sequences(std::vector<int> const& lengths, std::size_t each, std::int64_t row) {
  std::vector<MicroBatch> batches;
  for (std::size_t first = 0; first < lengths.size(); first += each) {
    std::size_t const last = std::min(first + each, lengths.size());
    std::int64_t longest = row;
    MicroBatch m;
    for (std::size_t i = first; i < last; ++i) {
      if (row == 0) longest = std::max<std::int64_t>(longest, lengths[i]);
      m.useful_tokens += lengths[i];
    }
    m.tokens = longest * static_cast<std::int64_t>(last - first);
    m.pairs = causal_pairs(static_cast<double>(longest)) * static_cast<double>(last - first);
    batches.push_back(m);
  }
  return batches;
}

std::vector<MicroBatch> make_micro_batches(std::vector<int> const& lengths, TrainerOptions const& t,
                                           int sequences_per_micro_batch, int pack_tokens) {
  if (lengths.empty()) return {};
  int const sequences = std::max(1, sequences_per_micro_batch);
  if (!t.packing) return pad_sequences(lengths, static_cast<std::size_t>(sequences), 0);
  int const budget = pack_tokens > 0 ? pack_tokens : *std::max_element(lengths.begin(), lengths.end());
  auto packs = pack(lengths, std::int64_t{budget} * sequences);
  if (t.equal_packs && t.parallel.pp > 1) pad_to_longest(packs);
  return packs;
}

}  // namespace rollcast
