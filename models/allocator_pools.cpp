// Private pools of a caching allocator: CUDA graphs and torch.cuda.MemPool.
#include <algorithm>
#include <stdexcept>

#include "models/allocator.hpp"

namespace rollcast {
namespace {

template <class Pools>
auto find_pool(Pools& pools, int id) {
  return std::find_if(pools.begin(), pools.end(), [id](auto const& p) { return p.id == id; });
}

}  // namespace

void CachingAllocator::begin_pool(int id) {
  auto found = find_pool(private_pools_, id);
  if (found == private_pools_.end()) {
    PrivatePool p;
    p.id = id;
    int const slot = static_cast<int>(private_pools_.size());
    p.small = blocks_.add_pool(true, slot);
    blocks_.add_pool(false, slot);
    private_pools_.push_back(p);
    found = std::prev(private_pools_.end());
  } else if (found->users == 0 && found->reserved > 0) {
    throw std::logic_error("CachingAllocator: a released pool is begun again");
  }
  int const slot = static_cast<int>(found - private_pools_.begin());
  if (std::find(active_pools_.begin(), active_pools_.end(), slot) != active_pools_.end())
    throw std::logic_error("CachingAllocator: a pool is begun twice");
  ++found->users;
  active_pools_.push_back(slot);
}

void CachingAllocator::end_pool(int id) {
  int const slot = static_cast<int>(find_pool(private_pools_, id) - private_pools_.begin());
  auto const found = std::find(active_pools_.begin(), active_pools_.end(), slot);
  if (found == active_pools_.end())
    throw std::logic_error("CachingAllocator: a pool ends that was not begun");
  active_pools_.erase(found);
}

void CachingAllocator::release_pool(int id) {
  auto const found = find_pool(private_pools_, id);
  if (found == private_pools_.end() || found->users == 0)
    throw std::logic_error("CachingAllocator: a pool is released more often than begun");
  --found->users;
}

std::int64_t CachingAllocator::free_in_private_pools() const {
  std::int64_t bytes = 0;
  for (PrivatePool const& p : private_pools_)
    for (int const pool : {p.small, p.small + 1})
      for (FreeBlock const& f : blocks_.pool(pool).free) bytes += f.size;
  return bytes;
}

std::optional<int> CachingAllocator::private_pool(int block) const {
  int const owner = blocks_.pool(blocks_[block].pool).owner;
  if (owner < 0) return std::nullopt;
  return private_pools_[static_cast<std::size_t>(owner)].id;
}

}  // namespace rollcast
