// Expandable segments: virtual ranges of which pages are mapped and unmapped.
#include <algorithm>
#include <stdexcept>

#include "models/allocator.hpp"

namespace rollcast {

// A block of the request's size or more, out of the pools, at the lowest address where mapping more makes
// one.
int CachingAllocator::extend(Request const& r) {
  int block = find_room(r);
  if (!blocks_[block].mapped && !map(block, std::min(blocks_[block].size, r.size))) return kNoBlock;
  while (blocks_[block].size < r.size) {
    // Behind a free block lies an unmapped one; mapped, it takes the free one in.
    int const next = blocks_[block].next;
    if (!map(next, std::min(r.size - blocks_[block].size, blocks_[next].size))) return kNoBlock;
    block = next;
  }
  blocks_.release(block);
  return block;
}

int CachingAllocator::find_room(Request const& r) {
  BlockPool const& pool = blocks_.pool(r.pool);
  auto const open = [&](int b) { return b != kNoBlock && !blocks_[b].allocated; };
  for (auto u = pool.unmapped.lower_bound({r.stream, 0, 0, kNoBlock});
       u != pool.unmapped.end() && u->stream == r.stream; ++u) {
    int const first = open(blocks_[u->block].previous) ? blocks_[u->block].previous : u->block;
    std::int64_t room = 0;
    for (int b = first; room < r.size && open(b); b = blocks_[b].next) room += blocks_[b].size;
    if (room >= r.size) return first;
  }
  ExpandableRange range;
  range.page = pool.small ? kSmallSegment : config_.large_segment_size;
  range.size = (total_ + total_ / 8 + range.page - 1) / range.page * range.page;
  range.address = reserve_addresses(range.size);
  ranges_.push_back(range);
  MemoryBlock b;
  b.address = range.address;
  b.size = range.size;
  b.stream = r.stream;
  b.pool = r.pool;
  b.range = static_cast<int>(ranges_.size()) - 1;
  b.mapped = false;
  int const block = blocks_.add(b);
  blocks_.hold(block);
  return block;
}

// Backs the first `size` bytes of an unmapped block with pages and makes them a free block. False, and
// nothing is mapped, if the device has not that many pages left.
bool CachingAllocator::map(int block, std::int64_t size) {
  std::int64_t const page = ranges_[static_cast<std::size_t>(blocks_[block].range)].page;
  std::int64_t const pages = (size + page - 1) / page;
  if (pages * page > free_bytes()) {
    ++stats_.calls.failed_mallocs;
    return false;
  }
  blocks_.release(block);
  if (pages * page < blocks_[block].size) blocks_.hold(blocks_.cut(block, pages * page));
  MemoryBlock& b = blocks_[block];
  b.mapped = true;
  stats_.calls.maps += pages;
  ++stats_.calls.map_calls;
  reserve(b, pages * page);
  record(AllocatorAction::segment_map, b.address, pages * page, b.stream);
  blocks_.merge(block, b.previous);
  blocks_.merge(block, b.next);
  blocks_.hold(block);
  return true;
}

// Gives back the pages that lie wholly in a free block; what is left of it at both sides stays free.
void CachingAllocator::unmap(int block) {
  ExpandableRange const range = ranges_[static_cast<std::size_t>(blocks_[block].range)];
  MemoryBlock const whole = blocks_[block];
  std::int64_t const from = (whole.address - range.address + range.page - 1) / range.page;
  std::int64_t const to = (whole.address + whole.size - range.address) / range.page;
  if (from >= to) return;
  blocks_.release(block);
  std::int64_t const before = range.address + from * range.page - whole.address;
  if (before > 0) {
    int const behind = blocks_.cut(block, before);
    blocks_.hold(block);
    block = behind;
  }
  std::int64_t const bytes = (to - from) * range.page;
  if (bytes < blocks_[block].size) blocks_.hold(blocks_.cut(block, bytes));

  MemoryBlock& b = blocks_[block];
  b.mapped = false;
  stats_.calls.unmaps += to - from;
  ++stats_.calls.unmap_calls;
  reserve(b, -bytes);
  record(AllocatorAction::segment_unmap, b.address, bytes, b.stream);
  blocks_.merge(block, b.previous);
  blocks_.merge(block, b.next);
  if (b.is_split()) {
    blocks_.hold(block);
  } else {
    blocks_.drop(block);  // and the range with it
  }
}

}  // namespace rollcast
