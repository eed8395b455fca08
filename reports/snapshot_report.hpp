// What a snapshot of PyTorch's memory says, and what the same program would have come to with other options
// of the allocator or on another card.
#pragma once

#include <string>

#include "models/memory_snapshot.hpp"

namespace rollcast {

inline constexpr std::int64_t kAnyCard = std::int64_t{1} << 50;  // more than any has

struct ReplayOptions {
  int device = 0;
  AllocatorConfig config;
  std::int64_t total = kAnyCard;  // memory of the card
};

// Memory in use and reserved when it was taken, the largest free block, the names that hold most; the peaks,
// retries and calls of the driver of a replay, and where it runs out of memory, with PyTorch's message.
std::string snapshot_text(MemorySnapshot const& s, std::string const& name, ReplayOptions const& options);

}  // namespace rollcast
