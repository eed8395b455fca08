#include "models/allocation_trace.hpp"

#include <algorithm>
#include <stdexcept>
#include <unordered_map>

namespace rollcast {
namespace {

using LiveBlocks = std::unordered_map<std::int64_t, int>;  // of each id; kNoBlock: of no bytes

void free(LiveBlocks& live, std::int64_t id, CachingAllocator& allocator) {
  auto const found = live.find(id);
  if (found == live.end()) throw std::logic_error("replay: free of an id that is not in use");
  if (found->second != kNoBlock) allocator.free(found->second);
  live.erase(found);
}

bool set_other_process(CachingAllocator& allocator, int pid, std::int64_t bytes) {
  DeviceUse use = allocator.device_use();
  std::erase_if(use.other_processes, [pid](ProcessBytes const& p) { return p.pid == pid; });
  if (bytes > 0) use.other_processes.push_back({pid, bytes});
  return allocator.set_device_use(std::move(use));
}

// Whether it could be done.
bool apply(AllocationEvent const& e, LiveBlocks& live, CachingAllocator& allocator, Replay& out) {
  switch (e.kind) {
    case AllocationKind::allocate: {
      auto const [place, is_new] = live.try_emplace(e.id, kNoBlock);
      if (!is_new) throw std::logic_error("replay: an id is allocated twice");
      Allocation a = allocator.allocate(e.bytes, e.stream);
      place->second = a.block;
      out.out_of_memory = std::move(a.out_of_memory);
      return !out.out_of_memory;
    }
    case AllocationKind::free:
      free(live, e.id, allocator);
      return true;
    case AllocationKind::empty_cache:
      allocator.empty_cache();
      return true;
    case AllocationKind::set_non_torch: {
      DeviceUse use = allocator.device_use();
      use.non_torch = e.bytes;
      return allocator.set_device_use(std::move(use));
    }
    case AllocationKind::set_other_process:
      return set_other_process(allocator, static_cast<int>(e.id), e.bytes);
    case AllocationKind::begin_pool:
      allocator.begin_pool(static_cast<int>(e.id));
      return true;
    case AllocationKind::end_pool:
      allocator.end_pool(static_cast<int>(e.id));
      return true;
    case AllocationKind::release_pool:
      allocator.release_pool(static_cast<int>(e.id));
      return true;
    case AllocationKind::expandable_segments: {
      AllocatorConfig config = allocator.config();
      config.expandable_segments = e.bytes != 0;
      allocator.set_config(config);
      return true;
    }
  }
  throw std::logic_error("replay: an unknown kind of event");
}

}  // namespace

Replay replay(AllocationTrace const& trace, CachingAllocator& allocator) {
  Replay out;
  out.timeline.reserve(trace.events.size());
  LiveBlocks live;
  for (std::size_t i = 0; i < trace.events.size() && !out.failed_event; ++i) {
    AllocationEvent const& e = trace.events[i];
    allocator.set_context(e.time_us, e.name);
    if (!apply(e, live, allocator, out)) out.failed_event = i;
    out.timeline.push_back({e.time_us, allocator.stats().allocated, allocator.stats().reserved});
  }
  out.stats = allocator.stats();
  return out;
}

}  // namespace rollcast
