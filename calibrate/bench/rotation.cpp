#include "calibrate/bench/rotation.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace rollcast {
namespace {

constexpr double kCaches = 2;
constexpr int kMaximumSets = 256;
constexpr double kMemoryShare = 0.8;
constexpr int kMaximumLaunches = 512;

}  // namespace

int rotating_sets(Bytes set, Bytes l2, Bytes free_memory) {
  if (set.value <= 0) throw std::logic_error("a set of buffers without bytes");
  double const wanted = std::max(2.0, 1 + std::ceil(kCaches * l2.value / set.value));
  double const fitting = std::floor(kMemoryShare * free_memory.value / set.value);
  return static_cast<int>(std::min({wanted, fitting, static_cast<double>(kMaximumSets)}));
}

int launches_per_sample(Seconds one_launch, Seconds target, int sets) {
  if (one_launch.value <= 0 || sets < 1) throw std::logic_error("launches that take no time");
  double const wanted = std::min(target / one_launch, static_cast<double>(kMaximumLaunches));
  if (wanted <= 1) return sets == 1 ? 1 : sets;
  int const rounds = std::max(1, static_cast<int>(wanted) / sets);
  return rounds * sets;
}

}  // namespace rollcast
