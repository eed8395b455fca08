#include "models/stall.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace rollcast {
namespace {

constexpr int kMostRuns = 6;

}  // namespace

std::string_view name_of(GroupTimer t) {
  switch (t) {
    case GroupTimer::c10d:
      return "c10d";
    case GroupTimer::rpc:
      return "rpc";
    case GroupTimer::none:
      return "none";
  }
  throw std::logic_error("no such GroupTimer");
}

std::string rank_list(std::vector<int> ranks) {
  std::sort(ranks.begin(), ranks.end());
  std::string out;
  int runs = 0;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (++runs > kMostRuns) return out + ", ...";
    if (!out.empty()) out += ", ";
    out += ranks[last] > ranks[i] ? fmt::format("{}-{}", ranks[i], ranks[last]) : fmt::format("{}", ranks[i]);
    i = last + 1;
  }
  return out;
}

std::string ranks_text(std::vector<int> ranks) {
  if (ranks.size() == 1) return fmt::format("rank {}", ranks.front());
  std::size_t const count = ranks.size();
  return fmt::format("{} ranks ({})", count, rank_list(std::move(ranks)));
}

}  // namespace rollcast
