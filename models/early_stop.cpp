#include "models/early_stop.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

namespace rollcast {

EarlyStop stop_early(std::vector<StartedGroup> const& groups, int needed) {
  if (needed < 1) throw std::logic_error("a rollout phase needs groups");
  std::vector<std::size_t> order(groups.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return groups[a].finish < groups[b].finish; });

  EarlyStop result;
  for (std::size_t const i : order) {
    StartedGroup const& g = groups[i];
    if (std::isinf(g.finish.value) || (result.enough && g.finish > result.end)) {
      result.unfinished.push_back(i);
      continue;
    }
    result.end = g.finish;
    if (!g.has_signal) {
      result.no_signal.push_back(i);
    } else if (result.enough) {
      result.unneeded.push_back(i);
    } else {
      result.kept.push_back(i);
      result.enough = result.kept.size() == static_cast<std::size_t>(needed);
    }
  }
  for (auto* list : {&result.kept, &result.no_signal, &result.unneeded, &result.unfinished})
    std::sort(list->begin(), list->end());
  return result;
}

std::vector<Seconds> group_finishes(std::vector<Seconds> const& completions, int group_size) {
  if (group_size < 1 || completions.size() % static_cast<std::size_t>(group_size) != 0)
    throw std::logic_error("completions of whole groups are needed");
  std::vector<Seconds> finishes;
  for (auto first = completions.begin(); first != completions.end(); first += group_size)
    finishes.push_back(*std::max_element(first, first + group_size));
  return finishes;
}

}  // namespace rollcast
