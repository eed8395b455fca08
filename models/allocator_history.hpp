// What a CUDA caching allocator did, entry by entry, as torch.cuda.memory._record_memory_history keeps it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace rollcast {

enum class AllocatorAction {
  alloc,
  free_requested,
  free_completed,  // later than requested only after record_stream
  segment_alloc,
  segment_free,
  segment_map,
  segment_unmap,
  oom,
  snapshot,
};

// PyTorch's name of it, and back.
std::string_view name_of(AllocatorAction a);
std::optional<AllocatorAction> allocator_action(std::string_view name);

// The oldest are dropped beyond it; as PyTorch's max_entries.
inline constexpr std::size_t kMostEntries = 1'000'000;

struct AllocatorEntry {
  AllocatorAction action = AllocatorAction::alloc;
  std::int64_t address = 0;  // oom: the free bytes of the device
  std::int64_t size = 0;     // alloc and free: as requested; segments and oom: rounded
  std::int64_t stream = 0;
  std::int64_t time_us = 0;
  int name = -1;  // of the allocation, in a table of the caller's

  friend bool operator==(AllocatorEntry const& a, AllocatorEntry const& b) = default;
};

}  // namespace rollcast
