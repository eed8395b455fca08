#include "models/dynamic_batches.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace rollcast {
namespace {

MicroBatch gather(std::vector<int> const& lengths, std::vector<int> const& indices) {
  MicroBatch m;
  for (int const i : indices) {
    std::int64_t const l = lengths[static_cast<std::size_t>(i)];
    m.tokens += l;
    m.pairs += static_cast<double>(l) * static_cast<double>(l + 1) / 2;
  }
  m.useful_tokens = m.tokens;
  return m;
}

// From the heaviest first to the third, first, second, fourth and so on.
std::vector<std::vector<int>> heaviest_in_the_middle(std::vector<std::vector<int>> parts) {
  std::vector<std::vector<int>> order;
  order.reserve(parts.size());
  std::size_t const firsts = (parts.size() + 1) / 2;
  for (std::size_t i = firsts; i-- > 0;) order.push_back(std::move(parts[2 * i]));
  for (std::size_t i = 1; i < parts.size(); i += 2) order.push_back(std::move(parts[i]));
  return order;
}

}  // namespace

int count_dynamic_batches(RankLengths const& ranks, TokenBudget const& budget) {
  if (budget.tokens < 1 || budget.multiple < 1) throw std::logic_error("dynamic batches: no token budget");
  std::int64_t most = 0;
  for (std::vector<int> const& lengths : ranks) {
    auto const tokens = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
    most = std::max(most, std::min<std::int64_t>(static_cast<std::int64_t>(lengths.size()),
                                                 (tokens + budget.tokens - 1) / budget.tokens));
  }
  std::int64_t const multiple = budget.multiple;
  return static_cast<int>((most + multiple - 1) / multiple * multiple);
}

std::vector<std::vector<int>> split_dynamic_batches(std::vector<int> const& lengths, int count,
                                                    LoadKind balance_by) {
  std::vector<std::int64_t> const loads = sequence_loads(lengths, balance_by);
  std::vector<std::vector<int>> parts = balance(loads, count, PartSizes::any);
  // balance() breaks a tie of loads by count; here the larger first index goes first.
  std::vector<std::pair<std::int64_t, std::size_t>> order;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    std::int64_t load = 0;
    for (int const i : parts[p]) load += loads[static_cast<std::size_t>(i)];
    order.emplace_back(load, p);
  }
  std::sort(order.begin(), order.end(), [&](auto const& a, auto const& b) {
    return a.first != b.first ? a.first > b.first : parts[a.second].front() > parts[b.second].front();
  });
  std::vector<std::vector<int>> sorted;
  sorted.reserve(parts.size());
  for (auto const& [load, p] : order) sorted.push_back(std::move(parts[p]));
  return heaviest_in_the_middle(std::move(sorted));
}

std::vector<std::vector<MicroBatch>> make_dynamic_batches(RankLengths const& ranks,
                                                          TokenBudget const& budget) {
  int const count = count_dynamic_batches(ranks, budget);
  std::vector<std::vector<MicroBatch>> batches;
  batches.reserve(ranks.size());
  for (std::vector<int> const& lengths : ranks) {
    std::vector<MicroBatch>& of_rank = batches.emplace_back();
    if (count == 0) continue;
    for (auto const& part : split_dynamic_batches(lengths, count, budget.balance_by)) {
      of_rank.push_back(gather(lengths, part));
    }
  }
  return batches;
}

}  // namespace rollcast
