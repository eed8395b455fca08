#include "reports/snapshot_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

namespace rollcast {
namespace {

constexpr std::size_t kShownNames = 10;

std::string frame_text(MemorySnapshot const& s, int frame) {
  if (frame < 0) return "(no stack)";
  StackFrame const& f = s.frames[static_cast<std::size_t>(frame)];
  return f.file.empty() ? f.function : fmt::format("{} ({}:{})", f.function, f.file, f.line);
}

std::string state_text(MemorySnapshot const& s, std::string const& name, int device) {
  std::int64_t reserved = 0, allocated = 0, largest = 0;
  int segments = 0;
  std::map<int, std::int64_t> of_frame;
  for (SnapshotSegment const& segment : s.segments) {
    if (segment.device != device) continue;
    ++segments;
    reserved += total_size(segment);
    allocated += allocated_size(segment);
    for (SnapshotBlock const& b : segment.blocks) {
      if (b.state == BlockState::inactive)
        largest = std::max(largest, b.size);
      else
        of_frame[b.frame] += b.size;
    }
  }
  std::string out = fmt::format(
      "{}, GPU {}: {} allocated of {} reserved in {} segments; {} are held but unused, the largest free "
      "block "
      "has {}.\n",
      name, device, torch_size(allocated), torch_size(reserved), segments, torch_size(reserved - allocated),
      torch_size(largest));
  std::vector<std::pair<std::int64_t, int>> most;
  for (auto const& [frame, bytes] : of_frame) most.emplace_back(-bytes, frame);
  std::sort(most.begin(), most.end());
  if (!most.empty()) out += "\nIn use\n";
  for (std::size_t i = 0; i < std::min(most.size(), kShownNames); ++i)
    out += fmt::format("  {:>12}  {}\n", torch_size(-most[i].first), frame_text(s, most[i].second));
  return out;
}

}  // namespace

std::string snapshot_text(MemorySnapshot const& s, std::string const& name, ReplayOptions const& options) {
  std::string out = state_text(s, name, options.device);
  AllocationTrace const trace = trace_of(s, options.device);
  CachingAllocator allocator(options.config, options.total);
  Replay const r = replay(trace, allocator);
  std::string const settings = to_text(options.config);
  out += fmt::format(
      "\nReplayed, {} events, {}: peak {} allocated, {} reserved; {} segments or ranges from the driver, {} "
      "given "
      "back, {} retries after the cache was given back.\n",
      trace.events.size(), settings.empty() ? "PyTorch's defaults" : settings,
      torch_size(r.stats.peak_allocated), torch_size(r.stats.peak_reserved), r.stats.calls.num_device_alloc(),
      r.stats.calls.num_device_free(), r.stats.num_alloc_retries);
  if (!r.failed_event) {
    return out + (options.total == kAnyCard
                      ? "All of it fits on a card without limit; --visible-memory sets one.\n"
                      : "All of it fits.\n");
  }
  AllocationEvent const& e = trace.events[*r.failed_event];
  out += fmt::format("Out of memory at event {}", *r.failed_event);
  if (e.name >= 0) out += ", " + trace.names[static_cast<std::size_t>(e.name)];
  out += ".\n";
  if (r.out_of_memory) out += message(*r.out_of_memory, options.device) + "\n";
  return out;
}

}  // namespace rollcast
