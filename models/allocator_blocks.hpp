// The blocks of a CUDA caching allocator: every segment is a chain of blocks in address order, and a pool
// keeps those that are free, by (stream, size, address), and the unmapped parts of expandable ranges, by
// (stream, address). Which block is taken, split or given back is decided in models/allocator.
#pragma once

#include <cstdint>
#include <set>
#include <tuple>
#include <vector>

namespace rollcast {

inline constexpr int kNoBlock = -1;

struct MemoryBlock {
  std::int64_t address = 0;
  std::int64_t size = 0;
  std::int64_t requested = 0;  // of the allocation that holds it, or held it last
  std::int64_t stream = 0;
  std::int64_t freed_at = 0;  // searches of its pool when it became free
  int pool = 0;
  int range = -1;  // expandable range; -1: a segment of cudaMalloc
  int previous = kNoBlock;
  int next = kNoBlock;
  int name = -1;
  bool allocated = false;
  bool mapped = true;

  bool is_split() const { return previous != kNoBlock || next != kNoBlock; }
};

struct FreeBlock {
  std::int64_t stream = 0;
  std::int64_t size = 0;  // 0 in unmapped, so that the order there is by address
  std::int64_t address = 0;
  int block = kNoBlock;

  friend bool operator<(FreeBlock const& a, FreeBlock const& b) {
    return std::tie(a.stream, a.size, a.address) < std::tie(b.stream, b.size, b.address);
  }
};

struct BlockPool {
  std::set<FreeBlock> free;
  std::set<FreeBlock> unmapped;
  bool small = false;
  int owner = -1;             // private pool; -1: the default pools
  std::int64_t searches = 0;  // counted while garbage collection is on: the clock of a block's age
};

class BlockTable {
 public:
  MemoryBlock& operator[](int block) { return blocks_[static_cast<std::size_t>(block)]; }
  MemoryBlock const& operator[](int block) const { return blocks_[static_cast<std::size_t>(block)]; }
  BlockPool& pool(int p) { return pools_[static_cast<std::size_t>(p)]; }
  BlockPool const& pool(int p) const { return pools_[static_cast<std::size_t>(p)]; }

  int add_pool(bool small, int owner);
  // A block that no pool holds yet.
  int add(MemoryBlock const& b);
  // Of a block that no pool holds any more.
  void drop(int block);

  // Into or out of its pool: free if it is mapped, else unmapped.
  void hold(int block);
  void release(int block);

  // Cuts a block that no pool holds after `size` bytes; the rest is a new block behind it, like it in all
  // else.
  int cut(int block, std::int64_t size);
  // Takes the neighbour `other` in, if it is free and mapped or unmapped like block; block is in no pool.
  void merge(int block, int other);

  // Number of slots; a slot without bytes is not in use.
  int slots() const { return static_cast<int>(blocks_.size()); }

 private:
  static FreeBlock key(MemoryBlock const& b, int block) {
    return {b.stream, b.mapped ? b.size : 0, b.address, block};
  }

  std::vector<MemoryBlock> blocks_;
  std::vector<int> unused_;
  std::vector<BlockPool> pools_;
};

}  // namespace rollcast
