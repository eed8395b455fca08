#include "models/allocator.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace rollcast {
namespace {

constexpr int kSmallPool = 0;
constexpr int kLargePool = 1;
// Addresses only order blocks of equal size; they start where those of a CUDA process do, and none is used
// twice.
constexpr std::int64_t kFirstAddress = 0x7f0000000000;

std::int64_t sum(DeviceUse const& use) {
  std::int64_t bytes = use.non_torch;
  for (ProcessBytes const& p : use.other_processes) bytes += p.bytes;
  return bytes;
}

}  // namespace

CachingAllocator::CachingAllocator(AllocatorConfig config, std::int64_t total, DeviceUse use)
    : config_(config), total_(total), next_address_(kFirstAddress) {
  blocks_.add_pool(true, -1);
  blocks_.add_pool(false, -1);
  if (!set_device_use(std::move(use))) throw std::logic_error("CachingAllocator: the device is too small");
}

std::int64_t CachingAllocator::free_bytes() const { return total_ - used_by_others_ - stats_.reserved; }

bool CachingAllocator::set_device_use(DeviceUse use) {
  std::int64_t const bytes = sum(use);
  if (bytes + stats_.reserved > total_) return false;
  used_by_others_ = bytes;
  use_ = std::move(use);
  return true;
}

void CachingAllocator::reset_peaks() {
  stats_.peak_allocated = stats_.allocated;
  stats_.peak_requested = stats_.requested;
  stats_.peak_reserved = stats_.reserved;
}

Allocation CachingAllocator::allocate(std::int64_t bytes, std::int64_t stream) {
  if (bytes < 0) throw std::logic_error("CachingAllocator: a negative request");
  if (bytes == 0) return {};
  Request r;
  r.bytes = bytes;
  r.size = block_size(bytes, config_);
  r.segment = segment_size(r.size, config_);
  r.stream = stream;
  r.pool = pool_for(r.size);
  r.expandable = config_.expandable_segments;

  int block = find_free(r);
  if (block == kNoBlock) {
    if (collects_garbage()) collect_garbage();
    block = grow(r);
  }
  if (block == kNoBlock && release_oversize(r)) block = grow(r);
  if (block == kNoBlock && active_pools_.empty()) {
    release_cache();
    ++stats_.num_alloc_retries;
    block = grow(r);
  }
  if (block == kNoBlock) {
    ++stats_.num_ooms;
    record(AllocatorAction::oom, free_bytes(), r.size, stream);
    return {kNoBlock, out_of_memory(r)};
  }
  take(block, r);
  return {block, std::nullopt};
}

void CachingAllocator::free(int block) {
  if (block < 0 || block >= blocks_.slots() || !blocks_[block].allocated)
    throw std::logic_error("CachingAllocator: free of a block that is not in use");
  MemoryBlock& b = blocks_[block];
  b.allocated = false;
  stats_.allocated -= b.size;
  stats_.requested -= b.requested;
  --stats_.allocations;
  record(AllocatorAction::free_requested, b.address, b.requested, b.stream);
  record(AllocatorAction::free_completed, b.address, b.requested, b.stream);
  blocks_.merge(block, b.previous);
  blocks_.merge(block, b.next);
  blocks_.hold(block);
}

void CachingAllocator::take(int block, Request const& r) {
  if (splits(blocks_[block], r)) blocks_.hold(blocks_.cut(block, r.size));
  MemoryBlock& b = blocks_[block];
  b.allocated = true;
  b.requested = r.bytes;
  b.name = name_;
  stats_.allocated += b.size;
  stats_.requested += b.requested;
  ++stats_.allocations;
  stats_.peak_allocated = std::max(stats_.peak_allocated, stats_.allocated);
  stats_.peak_requested = std::max(stats_.peak_requested, stats_.requested);
  record(AllocatorAction::alloc, b.address, b.requested, b.stream);
}

bool CachingAllocator::splits(MemoryBlock const& b, Request const& r) const {
  std::int64_t const rest = b.size - r.size;
  if (blocks_.pool(b.pool).small || r.expandable) return rest >= kSmallestBlock;
  return r.size < config_.max_split_size && rest > kLargestSmall;
}

int CachingAllocator::find_free(Request const& r) {
  BlockPool& pool = blocks_.pool(r.pool);
  if (collects_garbage()) ++pool.searches;
  auto const of_stream = [&](auto i) { return i != pool.free.end() && i->stream == r.stream; };
  auto const in_range = [&](auto i) { return blocks_[i->block].range >= 0; };
  auto const growable = [&](auto i) {
    MemoryBlock const& b = blocks_[i->block];
    return b.size + (b.next != kNoBlock && !blocks_[b.next].mapped ? blocks_[b.next].size : 0);
  };

  auto found = pool.free.lower_bound({r.stream, r.size, 0, kNoBlock});
  if (!of_stream(found)) return kNoBlock;
  if (in_range(found) && r.expandable) {
    // The best fit is by the size to which a block could grow: the open end of a range is left alone.
    for (auto next = std::next(found);
         in_range(found) && of_stream(next) && growable(next) < growable(found);)
      found = next++;
  } else if (in_range(found)) {
    // Expandable segments have been turned off since; their blocks serve no new request.
    while (of_stream(found) && in_range(found)) ++found;
    if (!of_stream(found)) return kNoBlock;
  }
  bool const oversize = r.size >= config_.max_split_size;
  if (!oversize && found->size >= config_.max_split_size) return kNoBlock;
  if (oversize && found->size - r.size >= config_.max_non_split_rounding) return kNoBlock;
  int const block = found->block;
  pool.free.erase(found);
  return block;
}

// A new block of at least the request's size, from the driver.
int CachingAllocator::grow(Request const& r) {
  if (auto const limit = allowed(); limit && stats_.reserved + r.segment > *limit) return kNoBlock;
  return r.expandable ? extend(r) : add_segment(r);
}

int CachingAllocator::add_segment(Request const& r) {
  if (r.segment > free_bytes()) {
    ++stats_.calls.failed_mallocs;
    return kNoBlock;
  }
  ++stats_.calls.mallocs;
  ++stats_.segments;
  MemoryBlock b;
  b.address = reserve_addresses(r.segment);
  b.size = r.segment;
  b.stream = r.stream;
  b.pool = r.pool;
  reserve(b, b.size);
  record(AllocatorAction::segment_alloc, b.address, b.size, b.stream);
  return blocks_.add(b);
}

std::int64_t CachingAllocator::reserve_addresses(std::int64_t size) {
  std::int64_t const address = next_address_;
  next_address_ += (size + kSegmentRounding - 1) / kSegmentRounding * kSegmentRounding;
  return address;
}

void CachingAllocator::reserve(MemoryBlock const& b, std::int64_t size) {
  stats_.reserved += size;
  stats_.peak_reserved = std::max(stats_.peak_reserved, stats_.reserved);
  int const owner = blocks_.pool(b.pool).owner;
  if (owner >= 0) private_pools_[static_cast<std::size_t>(owner)].reserved += size;
}

std::optional<std::int64_t> CachingAllocator::allowed() const {
  if (config_.per_process_memory_fraction >= 1) return std::nullopt;
  return static_cast<std::int64_t>(config_.per_process_memory_fraction * static_cast<double>(total_));
}

bool CachingAllocator::collects_garbage() const {
  return config_.garbage_collection_threshold > 0 && config_.per_process_memory_fraction < 1;
}

OutOfMemory CachingAllocator::out_of_memory(Request const& r) const {
  OutOfMemory oom;
  oom.requested = r.bytes;
  oom.block = r.size;
  oom.tried = r.segment;
  oom.total = total_;
  oom.free = free_bytes();
  oom.other_processes = use_.other_processes;
  oom.non_torch = use_.non_torch;
  oom.process = stats_.reserved + use_.non_torch;
  oom.allowed = allowed();
  oom.private_pools = free_in_private_pools();
  oom.allocated = stats_.allocated + oom.private_pools;
  oom.reserved_unallocated = stats_.reserved - oom.allocated;
  return oom;
}

int CachingAllocator::pool_for(std::int64_t size) const {
  bool const small = size <= kLargestSmall;
  if (active_pools_.empty()) return small ? kSmallPool : kLargePool;
  return private_pools_[static_cast<std::size_t>(active_pools_.back())].small + (small ? 0 : 1);
}

void CachingAllocator::record(AllocatorAction action, std::int64_t address, std::int64_t size,
                              std::int64_t stream) {
  if (!recording_) return;
  if (history_.size() == 2 * kMostEntries)
    history_.erase(history_.begin(), history_.begin() + static_cast<std::ptrdiff_t>(kMostEntries));
  history_.push_back({action, address, size, stream, time_us_, name_});
}

}  // namespace rollcast
