// An allocation that the CUDA caching allocator could not serve, with the figures that PyTorch prints.
//
// Two identities hold (checked by identities_hold), all in bytes:
//   total   = free + process + sum of other processes
//   process = allocated + reserved_unallocated + non_torch, and
//   allocated + reserved_unallocated = what the allocator holds of the driver.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rollcast {

struct ProcessBytes {
  int pid = 0;
  std::int64_t bytes = 0;

  friend bool operator==(ProcessBytes const& a, ProcessBytes const& b) = default;
};

struct OutOfMemory {
  std::int64_t requested = 0;  // by the program
  std::int64_t block = 0;      // rounded
  std::int64_t tried = 0;      // the segment asked of the driver: "Tried to allocate", with any options
  std::int64_t total = 0;
  std::int64_t free = 0;  // as the driver sees it, after the cache was given back
  std::vector<ProcessBytes> other_processes;
  std::int64_t non_torch = 0;           // of this process: context, NCCL, cuBLAS, sleep pools
  std::int64_t process = 0;             // all of this process
  std::optional<std::int64_t> allowed;  // with a memory fraction
  std::int64_t allocated = 0;  // in use, and what is free in private pools, which only their graphs may use
  std::int64_t private_pools = 0;  // the second part of it
  std::int64_t reserved_unallocated = 0;

  friend bool operator==(OutOfMemory const& a, OutOfMemory const& b) = default;
};

bool identities_hold(OutOfMemory const& oom);

// Two decimals and bytes, KiB, MiB or GiB, as PyTorch prints sizes.
std::string torch_size(std::int64_t bytes);

// The message of torch.OutOfMemoryError up to "... is reserved by PyTorch but unallocated."; the advice that
// follows there differs between versions. Source: CUDACachingAllocator.cpp, DeviceCachingAllocator::malloc.
std::string message(OutOfMemory const& oom, int gpu);

}  // namespace rollcast
