// How a caching allocator gives memory back to the driver.
#include <algorithm>
#include <iterator>
#include <set>
#include <vector>

#include "models/allocator.hpp"

namespace rollcast {

void CachingAllocator::release_segment(int block) {
  MemoryBlock const b = blocks_[block];
  blocks_.release(block);
  blocks_.drop(block);
  ++stats_.calls.frees;
  --stats_.segments;
  reserve(b, -b.size);
  record(AllocatorAction::segment_free, b.address, b.size, b.stream);
}

void CachingAllocator::empty_cache() { release_cache(); }

// Everything that is wholly free; of the private pools only those that were released. While allocations go to
// a private pool the default pools are left alone.
void CachingAllocator::release_cache() {
  if (active_pools_.empty()) {
    ++stats_.calls.synchronizations;
    release_pool_blocks(1);
    release_pool_blocks(0);
  }
  for (PrivatePool& p : private_pools_) {
    if (p.users > 0) continue;
    release_pool_blocks(p.small);
    release_pool_blocks(p.small + 1);
  }
}

void CachingAllocator::release_pool_blocks(int pool) {
  // Unmapping joins and cuts blocks, so the free ones are listed first; none of them neighbours another.
  std::vector<int> listed;
  for (FreeBlock const& f : blocks_.pool(pool).free) listed.push_back(f.block);
  for (int const block : listed) {
    if (blocks_[block].range >= 0) {
      unmap(block);
    } else if (!blocks_[block].is_split()) {
      release_segment(block);
    }
  }
}

// The oversize segment that serves the request, or oversize segments from the largest on until they sum up to
// what it needs. Whether that is enough.
bool CachingAllocator::release_oversize(Request const& r) {
  if (config_.max_split_size == kUnlimited) return false;
  std::set<FreeBlock> const& free = blocks_.pool(r.pool).free;
  std::int64_t const needed = std::max(r.size, config_.max_split_size);
  auto const found = free.lower_bound({r.stream, needed, 0, kNoBlock});
  if (found != free.end() && found->stream == r.stream && blocks_[found->block].range < 0) {
    release_segment(found->block);
    return true;
  }
  std::int64_t released = 0;
  for (auto next = found; released < needed && next != free.begin();) {
    auto const last = std::prev(next);
    if (last->stream != r.stream || last->size < config_.max_split_size) break;
    if (blocks_[last->block].range >= 0) {
      next = last;
      continue;
    }
    released += last->size;
    release_segment(last->block);
  }
  return released >= needed;
}

void CachingAllocator::collect_garbage() {
  BlockPool const& pool = blocks_.pool(1);
  auto const threshold = static_cast<std::int64_t>(config_.garbage_collection_threshold *
                                                   static_cast<double>(allowed().value_or(total_)));
  std::int64_t const target = stats_.reserved - threshold;
  auto const age = [&](int block) { return pool.searches - blocks_[block].freed_at; };

  std::int64_t ages = 0;
  std::int64_t count = 0;
  for (FreeBlock const& f : pool.free) {
    if (blocks_[f.block].is_split()) continue;
    ages += age(f.block);
    ++count;
  }
  std::int64_t released = 0;
  for (bool any = true; any && released < target && count > 0;) {
    any = false;
    double const average = static_cast<double>(ages) / static_cast<double>(count);
    for (auto next = pool.free.begin(); next != pool.free.end();) {
      int const block = (next++)->block;
      if (blocks_[block].is_split() || blocks_[block].range >= 0) continue;
      if (static_cast<double>(age(block)) < average) continue;
      any = true;
      released += blocks_[block].size;
      ages -= age(block);
      --count;
      release_segment(block);
    }
  }
}

}  // namespace rollcast
