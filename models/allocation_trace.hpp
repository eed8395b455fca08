// What a program asks of its allocator over time, and what becomes of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/allocator.hpp"

namespace rollcast {

enum class AllocationKind {
  allocate,             // id, bytes, stream
  free,                 // id
  empty_cache,          //
  set_non_torch,        // bytes that this process holds outside the allocator from now on
  set_other_process,    // id: the process, bytes that it holds from now on
  begin_pool,           // id, of private pools
  end_pool,             // id
  release_pool,         // id
  expandable_segments,  // bytes: 1 on, 0 off
};

struct AllocationEvent {
  AllocationKind kind = AllocationKind::allocate;
  std::int64_t id = 0;  // of an allocation: not in use at the time
  std::int64_t bytes = 0;
  std::int64_t stream = 0;
  std::int64_t time_us = 0;
  int name = -1;  // in the trace's names; -1: none
};

struct AllocationTrace {
  std::vector<AllocationEvent> events;
  std::vector<std::string> names;
};

struct MemoryPoint {
  std::int64_t time_us = 0;
  std::int64_t allocated = 0;
  std::int64_t reserved = 0;
};

struct Replay {
  std::vector<MemoryPoint> timeline;  // after each event
  AllocatorStats stats;               // at the end; peaks since the allocator began
  // What ended the trace early: the index of its event, with the allocator's answer if it was an allocation.
  // Without one, the device had no room for what others were to hold.
  std::optional<std::size_t> failed_event;
  std::optional<OutOfMemory> out_of_memory;
};

// Applies the events in order until one fails. std::logic_error if the trace frees what is not in use, uses
// an id twice at a time, or misuses pools.
Replay replay(AllocationTrace const& trace, CachingAllocator& allocator);

}  // namespace rollcast
