#include "models/rent.hpp"

#include "models/pools.hpp"

namespace rollcast {

std::optional<double> dollars_per_hour(Job const& job) {
  double sum = 0;
  for (Pool const& p : pools_of(job)) {
    double const each = p.cluster.node.gpu.dollars_per_hour;
    if (!(each > 0)) return std::nullopt;
    sum += each * p.cluster.gpus();
  }
  return sum;
}

}  // namespace rollcast
