#include "models/memory_snapshot.hpp"

#include <algorithm>
#include <numeric>

namespace rollcast {
namespace {

template <class Of>
std::int64_t sum(SnapshotSegment const& s, Of const& of) {
  return std::accumulate(s.blocks.begin(), s.blocks.end(), std::int64_t{0},
                         [&of](std::int64_t n, SnapshotBlock const& b) { return n + of(b); });
}

bool starts_segment(BlockTable const& blocks, int block) {
  MemoryBlock const& b = blocks[block];
  return b.size > 0 && b.mapped && (b.previous == kNoBlock || !blocks[b.previous].mapped);
}

SnapshotSegment segment_from(CachingAllocator const& allocator, int first, int device) {
  BlockTable const& blocks = allocator.blocks();
  SnapshotSegment s;
  s.device = device;
  s.address = blocks[first].address;
  s.stream = blocks[first].stream;
  s.large = !blocks.pool(blocks[first].pool).small;
  s.expandable = blocks[first].range >= 0;
  // PyTorch gives pools of graphs the pair (0, id) and pools of the program (id, 0).
  if (auto const pool = allocator.private_pool(first)) s.pool = {0, *pool};
  for (int b = first; b != kNoBlock && blocks[b].mapped; b = blocks[b].next) {
    MemoryBlock const& m = blocks[b];
    bool const active = m.allocated;
    s.blocks.push_back({m.address, m.size, active ? m.requested : 0,
                        active ? BlockState::active_allocated : BlockState::inactive, active ? m.name : -1});
  }
  return s;
}

}  // namespace

std::int64_t total_size(SnapshotSegment const& s) {
  return sum(s, [](SnapshotBlock const& b) { return b.size; });
}
std::int64_t allocated_size(SnapshotSegment const& s) {
  return sum(s, [](SnapshotBlock const& b) { return b.state == BlockState::active_allocated ? b.size : 0; });
}
std::int64_t active_size(SnapshotSegment const& s) {
  return sum(s, [](SnapshotBlock const& b) { return b.state == BlockState::inactive ? 0 : b.size; });
}
std::int64_t requested_size(SnapshotSegment const& s) {
  return sum(s, [](SnapshotBlock const& b) { return b.state == BlockState::inactive ? 0 : b.requested; });
}

MemorySnapshot snapshot_of(CachingAllocator const& allocator, std::vector<std::string> const& names,
                           int device) {
  MemorySnapshot out;
  out.config = allocator.config();
  for (std::string const& name : names) out.frames.push_back({name, "", 0});
  for (int b = 0; b < allocator.blocks().slots(); ++b)
    if (starts_segment(allocator.blocks(), b)) out.segments.push_back(segment_from(allocator, b, device));
  std::sort(out.segments.begin(), out.segments.end(),
            [](auto const& a, auto const& b) { return a.address < b.address; });
  out.device_traces.resize(static_cast<std::size_t>(device) + 1);
  out.device_traces.back() = allocator.history();
  return out;
}

}  // namespace rollcast
