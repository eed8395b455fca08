// A snapshot as torch.cuda.memory._snapshot() gives it: the segments with their blocks, and what the
// allocator of each device did. Reading and writing files of it is in reports/memory_snapshot.
//
// Of a stack the innermost frame is kept: it is the name of an allocation. One device at a time can be
// replayed or be made from an allocator.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "models/allocation_trace.hpp"
#include "models/allocator.hpp"

namespace rollcast {

struct StackFrame {
  std::string function;
  std::string file;
  int line = 0;

  friend bool operator==(StackFrame const& a, StackFrame const& b) = default;
};

enum class BlockState { inactive, active_pending_free, active_allocated };

struct SnapshotBlock {
  std::int64_t address = 0;
  std::int64_t size = 0;
  std::int64_t requested = 0;
  BlockState state = BlockState::inactive;
  int frame = -1;

  friend bool operator==(SnapshotBlock const& a, SnapshotBlock const& b) = default;
};

// A segment of cudaMalloc, or a mapped part of an expandable range.
struct SnapshotSegment {
  int device = 0;
  std::int64_t address = 0;
  std::int64_t stream = 0;
  bool large = false;
  bool expandable = false;
  std::pair<std::int64_t, std::int64_t> pool;  // 0, 0: not a private one
  std::vector<SnapshotBlock> blocks;           // by address, without gaps

  friend bool operator==(SnapshotSegment const& a, SnapshotSegment const& b) = default;
};

std::int64_t total_size(SnapshotSegment const& s);
std::int64_t allocated_size(SnapshotSegment const& s);  // blocks in use
std::int64_t active_size(SnapshotSegment const& s);     // and those that wait for another stream
std::int64_t requested_size(SnapshotSegment const& s);  // of the active blocks, as asked for

struct MemorySnapshot {
  std::vector<SnapshotSegment> segments;                   // by address
  std::vector<std::vector<AllocatorEntry>> device_traces;  // of each device; names are frames
  AllocatorConfig config;
  std::vector<StackFrame> frames;

  friend bool operator==(MemorySnapshot const& a, MemorySnapshot const& b) = default;
};

// The allocator as it stands, with its history; names are those of the trace that it was fed.
MemorySnapshot snapshot_of(CachingAllocator const& allocator, std::vector<std::string> const& names,
                           int device);

// What the program of a snapshot did, for replay: allocations that were there before the recording began come
// first, by address, then the device's trace. Segments that were given back other than right before a segment
// is asked for or memory runs out are taken for torch.cuda.empty_cache; a snapshot does not say so itself.
// Private pools are not told apart. An allocation that failed is tried again, and freed at once where it
// succeeds.
AllocationTrace trace_of(MemorySnapshot const& snapshot, int device);

}  // namespace rollcast
