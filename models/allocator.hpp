// The PyTorch CUDA caching allocator of one process on one GPU, without record_stream: a block is free as
// soon as the program frees it.
//
// Requests are rounded (models/allocator_config) and served from the pool of small blocks (up to 1 MiB) or of
// large ones by best fit among the free blocks of the same stream: the smallest that is large enough, of
// equal ones that with the lowest address. What is left of a block becomes a free block of its own if it is
// at least 512 B (small pool, expandable segments) or more than 1 MiB (large pool, requests below
// max_split_size). Oversize blocks (>= max_split_size) serve only oversize requests, and these take no block
// that is larger by max_non_split_rounding or more. A freed block joins its free neighbours in the segment.
//
// If no free block fits: garbage collection (with a threshold and a memory fraction: whole free large
// segments that are older than the average go, until reserved <= threshold * allowed), cudaMalloc of a
// segment, enough free oversize segments given back and cudaMalloc again (with max_split_size), all free
// segments given back and cudaMalloc again (num_alloc_retries), out of memory. While allocations are directed
// to a private pool the last rung is missing.
//
// Expandable segments: a virtual range per pool and stream, 9/8 of the device, mapped in pages of 2 MiB
// (small pool) or large_segment_size; a request extends the mapped part at the lowest address where it fits,
// and emptying the cache unmaps the pages that are wholly free.
//
// What calls of the driver cost is the caller's: DeviceCalls counts them.
//
// Source: PyTorch c10/cuda/CUDACachingAllocator.cpp (early 2026). Left out: free-memory callbacks, pools that
// are used before running out of memory, pools that do not split.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/allocator_blocks.hpp"
#include "models/allocator_config.hpp"
#include "models/allocator_history.hpp"
#include "models/out_of_memory.hpp"

namespace rollcast {

// What others than the allocator hold of the device.
struct DeviceUse {
  std::int64_t non_torch = 0;  // this process: context, NCCL, cuBLAS, sleep pools
  std::vector<ProcessBytes> other_processes;
};

struct DeviceCalls {
  std::int64_t mallocs = 0;           // cudaMalloc that succeeded
  std::int64_t failed_mallocs = 0;    // cudaMalloc or cuMemCreate that found no memory
  std::int64_t frees = 0;             // cudaFree; each waits for the device
  std::int64_t maps = 0;              // pages: cuMemCreate and cuMemMap
  std::int64_t unmaps = 0;            // pages: cuMemUnmap and cuMemRelease
  std::int64_t map_calls = 0;         // ranges mapped at once: one cuMemSetAccess each
  std::int64_t unmap_calls = 0;       // ranges unmapped at once: one wait for the stream each
  std::int64_t synchronizations = 0;  // before the cache is given back

  // As torch.cuda.memory_stats counts them.
  std::int64_t num_device_alloc() const { return mallocs + map_calls; }
  std::int64_t num_device_free() const { return frees + unmap_calls; }
};

struct AllocatorStats {
  std::int64_t allocated = 0;  // blocks in use, rounded: torch.cuda.memory_allocated
  std::int64_t requested = 0;  // what the program asked for
  std::int64_t reserved = 0;   // held of the driver: torch.cuda.memory_reserved
  std::int64_t peak_allocated = 0;
  std::int64_t peak_requested = 0;
  std::int64_t peak_reserved = 0;
  std::int64_t allocations = 0;  // in use
  std::int64_t segments = 0;     // of cudaMalloc
  std::int64_t num_alloc_retries = 0;
  std::int64_t num_ooms = 0;
  DeviceCalls calls;
};

// A block in use, or why there is none. A request of no bytes has neither, as in PyTorch.
struct Allocation {
  int block = kNoBlock;
  std::optional<OutOfMemory> out_of_memory;
};

class CachingAllocator {
 public:
  // std::logic_error if use does not fit into total.
  CachingAllocator(AllocatorConfig config, std::int64_t total, DeviceUse use = {});

  Allocation allocate(std::int64_t bytes, std::int64_t stream = 0);
  // std::logic_error if block is not in use.
  void free(int block);
  void empty_cache();
  void reset_peaks();

  // From now on, as torch.cuda.memory._set_allocator_settings and set_per_process_memory_fraction.
  void set_config(AllocatorConfig const& config) { config_ = config; }
  // False, and nothing changes, if the device has no room for it: then it is the others that run out of
  // memory.
  bool set_device_use(DeviceUse use);

  // Private pools (CUDA graphs, MemPool): from begin to end every allocation goes to the pool, the innermost
  // if they nest. It keeps its memory until it was released as often as begun; then empty_cache may take what
  // is free. std::logic_error: begun twice at a time, begun again after the last release while it still holds
  // memory, ended or released without begin.
  void begin_pool(int id);
  void end_pool(int id);
  void release_pool(int id);

  AllocatorConfig const& config() const { return config_; }
  AllocatorStats const& stats() const { return stats_; }
  DeviceUse const& device_use() const { return use_; }
  std::int64_t total() const { return total_; }
  std::int64_t free_bytes() const;  // of the device
  std::int64_t free_in_private_pools() const;
  BlockTable const& blocks() const { return blocks_; }
  // The id of the private pool that a block belongs to.
  std::optional<int> private_pool(int block) const;

  // From now on every action is added to history(), stamped with what set_context said last; blocks are named
  // by it with or without a history.
  void record_history() { recording_ = true; }
  void set_context(std::int64_t time_us, int name) {
    time_us_ = time_us;
    name_ = name;
  }
  std::vector<AllocatorEntry> const& history() const { return history_; }

 private:
  struct Request {
    std::int64_t bytes = 0;
    std::int64_t size = 0;     // of the block
    std::int64_t segment = 0;  // to be asked of the driver
    std::int64_t stream = 0;
    int pool = 0;
    bool expandable = false;
  };
  struct PrivatePool {
    int id = 0;
    int users = 0;
    int small = 0;  // of the two block pools; the large one follows
    std::int64_t reserved = 0;
  };
  struct ExpandableRange {
    std::int64_t address = 0;
    std::int64_t size = 0;
    std::int64_t page = 0;
  };

  // allocator.cpp
  int pool_for(std::int64_t size) const;
  int find_free(Request const& r);
  int grow(Request const& r);
  int add_segment(Request const& r);
  bool splits(MemoryBlock const& b, Request const& r) const;
  void take(int block, Request const& r);
  OutOfMemory out_of_memory(Request const& r) const;
  std::optional<std::int64_t> allowed() const;
  bool collects_garbage() const;
  std::int64_t reserve_addresses(std::int64_t size);
  void reserve(MemoryBlock const& b, std::int64_t size);
  void record(AllocatorAction action, std::int64_t address, std::int64_t size, std::int64_t stream);

  // allocator_release.cpp
  void collect_garbage();
  bool release_oversize(Request const& r);
  void release_cache();
  void release_pool_blocks(int pool);
  void release_segment(int block);

  // allocator_expandable.cpp; the private pools are in allocator_pools.cpp
  int extend(Request const& r);
  int find_room(Request const& r);
  bool map(int block, std::int64_t size);
  void unmap(int block);

  AllocatorConfig config_;
  std::int64_t total_ = 0;
  DeviceUse use_;
  std::int64_t used_by_others_ = 0;
  BlockTable blocks_;
  std::vector<PrivatePool> private_pools_;
  std::vector<int> active_pools_;  // slots, innermost last
  std::vector<ExpandableRange> ranges_;
  std::int64_t next_address_;
  AllocatorStats stats_;
  bool recording_ = false;
  std::vector<AllocatorEntry> history_;
  std::int64_t time_us_ = 0;
  int name_ = -1;
};

}  // namespace rollcast
