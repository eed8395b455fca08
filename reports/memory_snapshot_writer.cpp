#include <nlohmann/json.hpp>

#include "reports/memory_snapshot.hpp"
#include "reports/pickle.hpp"

namespace rollcast {
namespace {

using Json = nlohmann::ordered_json;

char const* state_name(BlockState s) {
  switch (s) {
    case BlockState::active_allocated:
      return "active_allocated";
    case BlockState::active_pending_free:
      return "active_pending_free";
    case BlockState::inactive:
      break;
  }
  return "inactive";
}

Json frames_json(MemorySnapshot const& s, int frame) {
  if (frame < 0) return Json::array();
  StackFrame const& f = s.frames.at(static_cast<std::size_t>(frame));
  return Json::array({{{"name", f.function}, {"filename", f.file}, {"line", f.line}}});
}

Json segment_json(MemorySnapshot const& s, SnapshotSegment const& segment) {
  Json blocks = Json::array();
  for (SnapshotBlock const& b : segment.blocks) {
    blocks.push_back({{"address", b.address},
                      {"size", b.size},
                      {"requested_size", b.requested},
                      {"state", state_name(b.state)},
                      {"frames", frames_json(s, b.frame)}});
  }
  return {{"device", segment.device},
          {"address", segment.address},
          {"total_size", total_size(segment)},
          {"allocated_size", allocated_size(segment)},
          {"active_size", active_size(segment)},
          {"requested_size", requested_size(segment)},
          {"stream", segment.stream},
          {"segment_type", segment.large ? "large" : "small"},
          {"segment_pool_id", Json::array({segment.pool.first, segment.pool.second})},
          {"is_expandable", segment.expandable},
          {"frames", Json::array()},
          {"blocks", std::move(blocks)}};
}

Json entry_json(MemorySnapshot const& s, AllocatorEntry const& e) {
  return {{"action", name_of(e.action)},
          {e.action == AllocatorAction::oom ? "device_free" : "addr", e.address},
          {"size", e.size},
          {"stream", e.stream},
          {"time_us", e.time_us},
          {"frames", frames_json(s, e.name)}};
}

Json settings_json(AllocatorConfig const& c) {
  Json divisions = Json::object();
  for (std::size_t i = 0; i < c.roundup_power2_divisions.size(); ++i)
    divisions[std::to_string(1 << i)] = c.roundup_power2_divisions[i];
  return {{"PYTORCH_CUDA_ALLOC_CONF", to_text(c)},
          {"max_split_size", c.max_split_size == kUnlimited ? -1 : c.max_split_size},
          {"garbage_collection_threshold", c.garbage_collection_threshold},
          {"expandable_segments", c.expandable_segments},
          {"roundup_power2_divisions", std::move(divisions)}};
}

Json json(MemorySnapshot const& s) {
  Json segments = Json::array();
  for (SnapshotSegment const& segment : s.segments) segments.push_back(segment_json(s, segment));
  Json traces = Json::array();
  for (auto const& entries : s.device_traces) {
    Json trace = Json::array();
    for (AllocatorEntry const& e : entries) trace.push_back(entry_json(s, e));
    traces.push_back(std::move(trace));
  }
  return {{"segments", std::move(segments)},
          {"device_traces", std::move(traces)},
          {"allocator_settings", settings_json(s.config)},
          {"external_annotations", Json::array()}};
}

}  // namespace

std::string snapshot_json(MemorySnapshot const& s) { return json(s).dump() + "\n"; }
std::string snapshot_pickle(MemorySnapshot const& s) { return to_pickle(json(s)); }

}  // namespace rollcast
