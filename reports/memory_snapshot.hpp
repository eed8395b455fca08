// Snapshots of PyTorch's CUDA memory as files.
//
// Read: torch.cuda.memory._snapshot() as JSON. PyTorch pickles it; one line of Python turns the one into the
// other:  json.dump(pickle.load(open("snapshot.pickle", "rb")), open("snapshot.json", "w"))
// Written: the same JSON, or a pickle that https://pytorch.org/memory_viz and torch.cuda._memory_viz read.
// Format: torch/csrc/cuda/Module.cpp (THCPModule_memorySnapshot) and torch/utils/viz/MemoryViz.js of PyTorch.
#pragma once

#include <istream>
#include <optional>
#include <string>

#include "models/memory_snapshot.hpp"

namespace rollcast {

// A snapshot, or one line that says what is wrong: "snapshot.json: segments[3].total_size: ...". Only the
// innermost frame of a stack is kept. Keys that older versions do not write may be missing: requested_size,
// is_expandable, segment_pool_id, time_us, frames, allocator_settings, device_traces.
struct SnapshotResult {
  std::optional<MemorySnapshot> snapshot;
  std::string error;
};
SnapshotResult read_memory_snapshot(std::istream& in, std::string const& name);

std::string snapshot_json(MemorySnapshot const& s);
std::string snapshot_pickle(MemorySnapshot const& s);

}  // namespace rollcast
