#include "models/allocator_blocks.hpp"

#include <stdexcept>

namespace rollcast {

int BlockTable::add_pool(bool small, int owner) {
  pools_.emplace_back();
  pools_.back().small = small;
  pools_.back().owner = owner;
  return static_cast<int>(pools_.size()) - 1;
}

int BlockTable::add(MemoryBlock const& b) {
  if (unused_.empty()) {
    blocks_.push_back(b);
    return slots() - 1;
  }
  int const block = unused_.back();
  unused_.pop_back();
  (*this)[block] = b;
  return block;
}

void BlockTable::drop(int block) {
  (*this)[block] = {};
  unused_.push_back(block);
}

void BlockTable::hold(int block) {
  MemoryBlock& b = (*this)[block];
  BlockPool& p = pool(b.pool);
  b.freed_at = p.searches;
  if (!(b.mapped ? p.free : p.unmapped).insert(key(b, block)).second)
    throw std::logic_error("BlockTable: a block is held twice");
}

void BlockTable::release(int block) {
  MemoryBlock const& b = (*this)[block];
  BlockPool& p = pool(b.pool);
  if ((b.mapped ? p.free : p.unmapped).erase(key(b, block)) != 1)
    throw std::logic_error("BlockTable: a block was not held");
}

int BlockTable::cut(int block, std::int64_t size) {
  MemoryBlock rest = (*this)[block];
  rest.address += size;
  rest.size -= size;
  rest.previous = block;
  int const behind = add(rest);
  if (rest.next != kNoBlock) (*this)[rest.next].previous = behind;
  MemoryBlock& front = (*this)[block];
  front.size = size;
  front.next = behind;
  return behind;
}

void BlockTable::merge(int block, int other) {
  if (other == kNoBlock) return;
  MemoryBlock& b = (*this)[block];
  MemoryBlock const& o = (*this)[other];
  if (o.allocated || o.mapped != b.mapped) return;
  release(other);
  b.size += o.size;
  if (b.previous == other) {
    b.address = o.address;
    b.previous = o.previous;
    if (b.previous != kNoBlock) (*this)[b.previous].next = block;
  } else {
    b.next = o.next;
    if (b.next != kNoBlock) (*this)[b.next].previous = block;
  }
  drop(other);
}

}  // namespace rollcast
