// Options of the PyTorch CUDA caching allocator and how it rounds sizes. Bytes are whole numbers here.
//
// Source: PyTorch c10/cuda/CUDACachingAllocator.cpp, c10/core/AllocatorConfig.cpp and
// c10/cuda/CUDAAllocatorConfig.cpp as of early 2026. They drift: where versions differ it is said below.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rollcast {

inline constexpr std::int64_t kMiB = std::int64_t{1} << 20;
inline constexpr std::int64_t kSmallestBlock = 512;          // sizes are multiples of it
inline constexpr std::int64_t kLargestSmall = kMiB;          // up to it a block is of the small pool
inline constexpr std::int64_t kSmallSegment = 2 * kMiB;      // a segment of the small pool
inline constexpr std::int64_t kLeastOwnSegment = 10 * kMiB;  // from it a block has a segment of its own size
inline constexpr std::int64_t kSegmentRounding = 2 * kMiB;   // to which that size is rounded up
inline constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();

struct AllocatorConfig {
  std::int64_t max_split_size = kUnlimited;         // blocks from it on are oversize
  std::int64_t max_non_split_rounding = 20 * kMiB;  // what an oversize request may waste
  std::int64_t large_segment_size = 20 * kMiB;      // for blocks of 1 to 10 MiB; fixed in older versions
  std::array<std::int64_t, 16> roundup_power2_divisions{};  // of sizes from 1, 2, 4 MiB ... 32 GiB; 0: off
  double garbage_collection_threshold = 0;                  // share of the allowed memory; 0: off
  bool expandable_segments = false;
  double per_process_memory_fraction = 1;  // also torch.cuda.set_per_process_memory_fraction; 1: no limit

  friend bool operator==(AllocatorConfig const& a, AllocatorConfig const& b) = default;
};

// What PYTORCH_CUDA_ALLOC_CONF (now PYTORCH_ALLOC_CONF) says: "key:value,key:[1:2,>:4]"; blanks are ignored.
// Keys that do not change what is on the device (pinned_*, release_lock_on_cudamalloc,
// graph_capture_record_stream_reuse, backend:native) are accepted and named in without_effect;
// backend:cudaMallocAsync is an error, as is every text that PyTorch refuses.
struct AllocatorConfigResult {
  std::optional<AllocatorConfig> config;
  std::vector<std::string> without_effect;
  std::string error;  // empty if and only if config is set
};
AllocatorConfigResult parse_allocator_config(std::string_view text);

// The options that differ from PyTorch's defaults, as text that parse_allocator_config reads back.
std::string to_text(AllocatorConfig const& c);

// The block for a request of bytes > 0: rounded up to 512 B, or, with N divisions for its size and more than
// 512 N bytes, to the next of the N equal parts between two powers of two.
std::int64_t block_size(std::int64_t bytes, AllocatorConfig const& c);

// The segment that is asked of the driver for a block: 2 MiB up to 1 MiB, large_segment_size below 10 MiB,
// else the block rounded up to 2 MiB.
std::int64_t segment_size(std::int64_t block, AllocatorConfig const& c);

}  // namespace rollcast
