#include "models/experience.hpp"

#include <algorithm>
#include <stdexcept>

namespace rollcast {

Seconds stream_end(std::vector<Seconds> arrivals, Seconds work, Seconds free_at) {
  if (arrivals.empty()) return free_at + work;
  std::sort(arrivals.begin(), arrivals.end());
  Seconds const part = work / static_cast<double>(arrivals.size());
  Seconds end = free_at;
  for (Seconds const a : arrivals) end = max(end, a) + part;
  return end;
}

Seconds batch_waits(Seconds forward, int replicas, int engines, int batches, Seconds generation) {
  if (replicas < 1 || engines < 1 || batches < 1) throw std::logic_error("batches of nobody");
  double const share = std::max(1.0, static_cast<double>(engines) / replicas);
  Seconds const one = forward * (std::min(replicas, engines) / (static_cast<double>(engines) * batches));
  Seconds const gap = generation / static_cast<double>(batches);
  return max(one, one * share - gap) * batches + one * (share - 1);
}

}  // namespace rollcast
