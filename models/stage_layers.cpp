#include "models/stage_layers.hpp"

#include <stdexcept>

namespace rollcast {
namespace {

// Of each rank.
std::optional<std::vector<int>> rank_layers(int layers, StageSplit const& split) {
  int const between = split.ranks - (split.first ? 1 : 0) - (split.last ? 1 : 0);
  int const rest = layers - split.first.value_or(0) - split.last.value_or(0);
  if (between < 0 || rest < 0 || (between == 0 && rest > 0)) return std::nullopt;
  std::vector<int> counts;
  if (split.first) counts.push_back(*split.first);
  for (int i = 0; i < between; ++i) counts.push_back(rest / between + (i < rest % between ? 1 : 0));
  if (split.last) counts.push_back(*split.last);
  return counts;
}

}  // namespace

std::optional<std::vector<int>> stage_layers(int layers, StageSplit const& split) {
  if (split.ranks < 1 || split.chunks < 1) return std::nullopt;
  auto const of_ranks = rank_layers(layers, split);
  if (!of_ranks) return std::nullopt;
  for (int const count : *of_ranks) {
    if (count < 1 || count % split.chunks != 0) return std::nullopt;
  }
  std::vector<int> counts;
  for (int c = 0; c < split.chunks; ++c) {
    for (int const count : *of_ranks) counts.push_back(count / split.chunks);
  }
  return counts;
}

StageSplit split_of(TrainerOptions const& t, int chunks) {
  return {t.parallel.pp, chunks, t.first_stage_layers, t.last_stage_layers};
}

std::vector<Stage> pipeline_stages(Architecture const& a, std::vector<int> const& layers) {
  std::vector<Stage> stages;
  int first = 0;
  for (int const count : layers) {
    if (count < 0) throw std::logic_error("pipeline stages: negative number of layers");
    stages.push_back({first, count, stages.empty(), stages.size() + 1 == layers.size()});
    first += count;
  }
  if (first != a.layers) throw std::logic_error("pipeline stages: not the layers of the model");
  return stages;
}

std::vector<Stage> pipeline_stages(Architecture const& a, TrainerOptions const& t, int chunks) {
  auto const layers = stage_layers(a.layers, split_of(t, chunks));
  if (!layers) throw std::logic_error("no such split of layers over pipeline ranks");
  return pipeline_stages(a, *layers);
}

}  // namespace rollcast
