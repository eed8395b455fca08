#include "models/dataset_samples.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace rollcast {
namespace {

double causal_pairs(std::int64_t length) {
  double const l = static_cast<double>(length);
  return l * (l + 1) / 2;
}

std::int64_t round_up(std::int64_t tokens, int multiple) {
  return (tokens + multiple - 1) / multiple * multiple;
}

int longest_of(std::vector<int> const& lengths) {
  return lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end());
}

MicroBatch pad(std::vector<int> const& lengths, std::int64_t row) {
  auto const rows = static_cast<std::int64_t>(lengths.size());
  return {row * rows, std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0}),
          causal_pairs(row) * static_cast<double>(rows)};
}

MicroBatch concatenate(std::vector<int> const& lengths, int multiple) {
  MicroBatch m;
  for (int const l : lengths) {
    m.useful_tokens += l;
    m.pairs += causal_pairs(l);
  }
  m.tokens = round_up(m.useful_tokens, multiple);
  return m;
}

std::vector<MicroBatch> pack(std::vector<DatasetItem> const& items, DatasetBatching const& b) {
  TrainerOptions packed;
  packed.packing = true;
  return make_micro_batches(sequence_lengths(items, b.max_tokens), packed, b.micro_batch, b.max_tokens);
}

void check(std::vector<std::vector<DatasetItem>> const& ranks, DatasetBatching const& b) {
  if (b.micro_batch < 1 || b.multiple_of < 1 || b.max_tokens < 0)
    throw std::logic_error("a micro-batch has items and rows have lengths");
  bool const needs_maximum = b.collation == Collation::pad_to_maximum || b.collation == Collation::pack;
  if (needs_maximum && b.max_tokens == 0)
    throw std::logic_error("rows of the longest length need that length");
  if (b.collation != Collation::pack) return;
  for (auto const& items : ranks) {
    if (std::any_of(items.begin(), items.end(), [](DatasetItem const& i) { return i.rejected_tokens > 0; }))
      throw std::logic_error("pairs are not packed: the two sequences of a pair stay together");
  }
}

}  // namespace

std::vector<DatasetItem> items_of_step(AlgorithmKind kind, Workload const& w, int count, std::uint64_t seed,
                                       int step) {
  if (kind != AlgorithmKind::sft && kind != AlgorithmKind::dpo)
    throw std::logic_error("only sft and dpo train on a data set");
  auto const draw = [&](Lengths const& lengths, Purpose purpose, std::int64_t index) {
    return sample(lengths,
                  {seed, purpose, static_cast<std::uint32_t>(step), static_cast<std::uint64_t>(index)}, step);
  };
  std::vector<DatasetItem> items;
  for (std::int64_t id = 0; id < count; ++id) {
    DatasetItem item{id, draw(w.prompt_tokens, Purpose::prompt_length, id), 0, 0};
    if (kind == AlgorithmKind::sft) {
      item.response_tokens = draw(w.response_tokens, Purpose::response_length, id);
    } else {
      item.response_tokens = draw(w.response_tokens, Purpose::response_length, 2 * id);
      item.rejected_tokens = draw(w.response_tokens, Purpose::response_length, 2 * id + 1);
    }
    items.push_back(item);
  }
  return items;
}

std::vector<int> sequence_lengths(std::vector<DatasetItem> const& items, int max_tokens) {
  auto const cut = [&](int tokens) { return max_tokens > 0 ? std::min(tokens, max_tokens) : tokens; };
  std::vector<int> lengths;
  for (DatasetItem const& i : items) {
    lengths.push_back(cut(i.prompt_tokens + i.response_tokens));
    if (i.rejected_tokens > 0) lengths.push_back(cut(i.prompt_tokens + i.rejected_tokens));
  }
  return lengths;
}

std::vector<std::vector<MicroBatch>> make_dataset_batches(std::vector<std::vector<DatasetItem>> const& ranks,
                                                          DatasetBatching const& b) {
  check(ranks, b);
  int batch_longest = 0;
  for (auto const& items : ranks)
    batch_longest = std::max(batch_longest, longest_of(sequence_lengths(items, b.max_tokens)));

  std::vector<std::vector<MicroBatch>> result;
  for (auto const& items : ranks) {
    if (b.collation == Collation::pack) {
      result.push_back(pack(items, b));
      continue;
    }
    std::vector<MicroBatch> batches;
    for (std::size_t first = 0; first < items.size(); first += static_cast<std::size_t>(b.micro_batch)) {
      std::size_t const last = std::min(first + static_cast<std::size_t>(b.micro_batch), items.size());
      std::vector<int> const lengths = sequence_lengths({items.begin() + static_cast<std::ptrdiff_t>(first),
                                                         items.begin() + static_cast<std::ptrdiff_t>(last)},
                                                        b.max_tokens);
      if (b.collation == Collation::concatenate) {
        batches.push_back(concatenate(lengths, b.multiple_of));
        continue;
      }
      int const row = b.collation == Collation::pad_to_maximum ? b.max_tokens
                      : b.collation == Collation::pad_to_batch ? batch_longest
                                                               : longest_of(lengths);
      batches.push_back(pad(lengths, round_up(row, b.multiple_of)));
    }
    result.push_back(std::move(batches));
  }
  return result;
}

}  // namespace rollcast
