// From a snapshot's history to the events that caused it.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "models/memory_snapshot.hpp"

namespace rollcast {
namespace {

bool gives_back(AllocatorAction a) {
  return a == AllocatorAction::segment_free || a == AllocatorAction::segment_unmap;
}
bool asks_for_memory(AllocatorAction a) {
  return a == AllocatorAction::segment_alloc || a == AllocatorAction::segment_map ||
         a == AllocatorAction::oom;
}

AllocationEvent event(AllocationKind kind, AllocatorEntry const& e, std::int64_t id) {
  return {kind, id, e.size, e.stream, e.time_us, e.name};
}

// What was in use when the recording began: freed in the trace or in use at its end without having been
// allocated in it.
std::vector<AllocatorEntry> present_before(MemorySnapshot const& snapshot, int device,
                                           std::vector<AllocatorEntry> const& entries) {
  std::vector<AllocatorEntry> out;
  std::unordered_set<std::int64_t> seen;  // addresses
  std::int64_t const start = entries.empty() ? 0 : entries.front().time_us;
  auto const add = [&out, start](std::int64_t address, std::int64_t size, std::int64_t stream, int name) {
    out.push_back({AllocatorAction::alloc, address, size, stream, start, name});
  };
  for (AllocatorEntry const& e : entries) {
    if (e.action == AllocatorAction::alloc) {
      seen.insert(e.address);
    } else if (e.action == AllocatorAction::free_completed) {
      if (seen.insert(e.address).second) add(e.address, e.size, e.stream, e.name);
    }
  }
  for (SnapshotSegment const& s : snapshot.segments) {
    if (s.device != device) continue;
    for (SnapshotBlock const& b : s.blocks)
      if (b.state != BlockState::inactive && !seen.contains(b.address))
        add(b.address, b.requested > 0 ? b.requested : b.size, s.stream, b.frame);
  }
  std::stable_sort(out.begin(), out.end(),
                   [](auto const& a, auto const& b) { return a.address < b.address; });
  return out;
}

}  // namespace

AllocationTrace trace_of(MemorySnapshot const& snapshot, int device) {
  AllocationTrace out;
  for (StackFrame const& f : snapshot.frames) out.names.push_back(f.function);
  std::vector<AllocatorEntry> const none;
  auto const d = static_cast<std::size_t>(device);
  auto const& entries = device >= 0 && d < snapshot.device_traces.size() ? snapshot.device_traces[d] : none;

  std::unordered_map<std::int64_t, std::int64_t> in_use;  // ids by address
  std::int64_t next_id = 0;
  auto const allocate = [&](AllocatorEntry const& e) {
    in_use[e.address] = next_id;
    out.events.push_back(event(AllocationKind::allocate, e, next_id++));
  };
  for (AllocatorEntry const& e : present_before(snapshot, device, entries)) allocate(e);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    AllocatorEntry const& e = entries[i];
    if (e.action == AllocatorAction::alloc) {
      allocate(e);
    } else if (e.action == AllocatorAction::free_completed) {
      auto const found = in_use.find(e.address);
      if (found == in_use.end()) continue;
      out.events.push_back(event(AllocationKind::free, e, found->second));
      in_use.erase(found);
    } else if (e.action == AllocatorAction::oom) {
      // Tried again; where it succeeds this time, its program has no use for it.
      out.events.push_back(event(AllocationKind::allocate, e, next_id));
      out.events.push_back(event(AllocationKind::free, e, next_id++));
    } else if (gives_back(e.action)) {
      bool const last = i + 1 == entries.size();
      if (last || (!gives_back(entries[i + 1].action) && !asks_for_memory(entries[i + 1].action)))
        out.events.push_back({AllocationKind::empty_cache, 0, 0, 0, e.time_us, -1});
    }
  }
  return out;
}

}  // namespace rollcast
