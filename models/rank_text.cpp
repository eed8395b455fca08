#include "models/rank_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace rollcast {
namespace {

constexpr int kMostRuns = 16;

}  // namespace

std::string rank_list(std::vector<int> ranks) {
  std::sort(ranks.begin(), ranks.end());
  std::string out;
  int runs = 0;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (++runs > kMostRuns) return out + ", ...";
    if (!out.empty()) out += ", ";
    out += std::to_string(ranks[i]);
    if (last > i) out += fmt::format("{}{}", last == i + 1 ? ", " : "-", ranks[last]);
    i = last + 1;
  }
  return out;
}

std::string named_ranks(std::vector<int> ranks) {
  if (ranks.empty()) return "no rank";
  char const* const word = ranks.size() == 1 ? "rank " : "ranks ";
  return word + rank_list(std::move(ranks));
}

std::string counted_ranks(std::vector<int> ranks) {
  if (ranks.size() == 1) return fmt::format("rank {}", ranks.front());
  std::size_t const count = ranks.size();
  return fmt::format("{} ranks ({})", count, rank_list(std::move(ranks)));
}

}  // namespace rollcast
