#include "models/fed_rollout.hpp"

#include <algorithm>

namespace rollcast {

Seconds run_fed(RolloutEngine& engine, std::vector<Request> const& requests, int feed, Seconds between,
                std::vector<Completion>& out) {
  std::size_t const at_a_time = feed > 0 ? static_cast<std::size_t>(feed) : requests.size();
  Seconds next = engine.now();
  for (std::size_t i = 0; i < requests.size(); i += at_a_time) {
    auto const first = requests.begin() + static_cast<std::ptrdiff_t>(i);
    auto const count = static_cast<std::ptrdiff_t>(std::min(at_a_time, requests.size() - i));
    engine.submit(std::vector<Request>(first, first + count), next);
    next = engine.run_to_end(out) + between;
  }
  return next;
}

}  // namespace rollcast
