#include "models/communicator_order.hpp"

#include <fmt/format.h>

#include <numeric>
#include <utility>

#include "models/random.hpp"

namespace rollcast {
namespace {

// Fisher and Yates' shuffle; every (gpu, position) has a key of its own.
std::vector<int> order_of(CommunicatorOptions const& o, int gpu, std::uint64_t seed, int step) {
  std::vector<int> order(static_cast<std::size_t>(o.per_gpu));
  std::iota(order.begin(), order.end(), 0);
  if (o.order == IssueOrder::fixed) return order;
  for (int left = o.per_gpu; left > 1; --left) {
    std::int64_t const index = std::int64_t{gpu} * o.per_gpu + left - 1;
    double const u = uniform(
        {seed, Purpose::issue_order, static_cast<std::uint32_t>(step), static_cast<std::uint64_t>(index)});
    auto const drawn = static_cast<std::size_t>(u * left);
    std::swap(order[static_cast<std::size_t>(left - 1)], order[drawn]);
  }
  return order;
}

}  // namespace

CollectivePrograms side_by_side(CommunicatorOptions const& o, int gpus, std::uint64_t seed, int step,
                                Seconds each) {
  CollectivePrograms p;
  std::vector<int> all(static_cast<std::size_t>(gpus));
  std::iota(all.begin(), all.end(), 0);
  p.names = {"its collective"};
  for (int c = 0; c < o.per_gpu; ++c) p.communicators.push_back({fmt::format("communicator {}", c + 1), all});
  for (int gpu = 0; gpu < gpus; ++gpu) {
    RankProgram rank{.name = fmt::format("rank {}", gpu), .issued = {}, .concurrent = o.concurrent};
    for (int c : order_of(o, gpu, seed, step)) rank.issued.push_back({c, c, 0, -1, each});
    p.ranks.push_back(std::move(rank));
  }
  return p;
}

double deadlock_share(CommunicatorOptions const& o, int gpus, std::uint64_t seed, int replications) {
  int stuck = 0;
  for (int i = 0; i < replications; ++i) {
    if (!run_collectives(side_by_side(o, gpus, seed, i, seconds(1))).finishes) ++stuck;
  }
  return static_cast<double>(stuck) / replications;
}

}  // namespace rollcast
