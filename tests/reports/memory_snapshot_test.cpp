#include "reports/memory_snapshot.hpp"

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <string_view>

#include "reports/pickle.hpp"

namespace rollcast {
namespace {

// As PyTorch writes it: a segment of 2 MiB with one block in use, its history, and stacks of two frames.
constexpr std::string_view kText = R"({
  "segments": [{"device": 0, "address": 139820000000000, "total_size": 2097152, "allocated_size": 512,
    "active_size": 512, "requested_size": 400, "stream": 0, "segment_type": "small", "segment_pool_id": [0, 0],
    "is_expandable": false,
    "frames": [{"name": "empty", "filename": "ops.py", "line": 7}],
    "blocks": [
      {"address": 139820000000000, "size": 512, "requested_size": 400, "state": "active_allocated",
       "frames": [{"name": "forward", "filename": "model.py", "line": 12},
                  {"name": "main", "filename": "train.py", "line": 3, "more": {"frames": [{"a": 1}]}}]},
      {"address": 139820000000512, "size": 2096640, "requested_size": 0, "state": "inactive", "frames": []}]}],
  "device_traces": [[
    {"action": "segment_alloc", "addr": 139820000000000, "size": 2097152, "stream": 0, "time_us": 5,
     "compile_context": "", "user_metadata": "", "frames": []},
    {"action": "alloc", "addr": 139820000000000, "size": 400, "stream": 0, "time_us": 6,
     "frames": [{"name": "forward", "filename": "model.py", "line": 12},
                {"name": "main", "filename": "train.py", "line": 3}]},
    {"action": "oom", "device_free": 1024, "size": 4096, "stream": 0, "time_us": 7},
    {"action": "snapshot", "addr": 0, "size": 512, "stream": 0, "time_us": 8}]],
  "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "large_segment_size_mb:12", "max_split_size": -1,
    "garbage_collection_threshold": 0.5, "expandable_segments": true,
    "roundup_power2_divisions": {"1": 4, "2": 8}},
  "external_annotations": []
})";

SnapshotResult read(std::string_view text) {
  std::istringstream in{std::string(text)};
  return read_memory_snapshot(in, "snapshot.json");
}

TEST(MemorySnapshotFile, ReadsWhatPyTorchWrites) {
  SnapshotResult const r = read(kText);
  ASSERT_TRUE(r.snapshot.has_value()) << r.error;
  MemorySnapshot const& s = *r.snapshot;
  ASSERT_EQ(s.segments.size(), 1U);
  EXPECT_FALSE(s.segments[0].large);
  ASSERT_EQ(s.segments[0].blocks.size(), 2U);
  EXPECT_EQ(s.segments[0].blocks[0].requested, 400);
  EXPECT_EQ(s.segments[0].blocks[1].address, 139820000000512);
  EXPECT_EQ(allocated_size(s.segments[0]), 512);
  ASSERT_EQ(s.frames.size(), 1U);  // the innermost of two equal stacks
  EXPECT_EQ(s.frames[0], (StackFrame{"forward", "model.py", 12}));
  EXPECT_EQ(s.segments[0].blocks[0].frame, 0);
  ASSERT_EQ(s.device_traces.size(), 1U);
  ASSERT_EQ(s.device_traces[0].size(), 4U);
  EXPECT_EQ(s.device_traces[0][1], (AllocatorEntry{AllocatorAction::alloc, 139820000000000, 400, 0, 6, 0}));
  EXPECT_EQ(s.device_traces[0][2].address, 1024);
  EXPECT_EQ(s.config.large_segment_size, 12 * kMiB);
  EXPECT_EQ(s.config.max_split_size, kUnlimited);
  EXPECT_TRUE(s.config.expandable_segments);
  EXPECT_EQ(s.config.roundup_power2_divisions[1], 8);
}

TEST(MemorySnapshotFile, WhatIsWrittenReadsBack) {
  MemorySnapshot const s = read(kText).snapshot.value();
  std::string const text = snapshot_json(s);
  SnapshotResult const again = read(text);
  ASSERT_TRUE(again.snapshot.has_value()) << again.error;
  EXPECT_EQ(*again.snapshot, s);
  EXPECT_EQ(snapshot_json(*again.snapshot), text);
}

// An allocator's own: with pools, streams, a mapped part of a range and an out-of-memory.
TEST(MemorySnapshotFile, AnAllocatorsSnapshotReadsBack) {
  AllocationTrace trace;
  trace.names = {"weights", "graph", "logits"};
  trace.events = {{AllocationKind::allocate, 1, 3 * kMiB, 0, 1, 0},
                  {AllocationKind::begin_pool, 4, 0, 0, 2, -1},
                  {AllocationKind::allocate, 2, 100, 3, 3, 1},
                  {AllocationKind::end_pool, 4, 0, 0, 4, -1},
                  {AllocationKind::expandable_segments, 0, 1, 0, 5, -1},
                  {AllocationKind::allocate, 3, 30 * kMiB, 0, 6, 2},
                  {AllocationKind::allocate, 4, 90 * kMiB, 0, 7, 2}};
  CachingAllocator allocator({}, 128 * kMiB);
  allocator.record_history();
  EXPECT_EQ(replay(trace, allocator).failed_event, 6U);
  MemorySnapshot const s = snapshot_of(allocator, trace.names, 0);
  EXPECT_EQ(s.segments.size(), 3U);
  SnapshotResult const again = read(snapshot_json(s));
  ASSERT_TRUE(again.snapshot.has_value()) << again.error;
  EXPECT_EQ(snapshot_json(*again.snapshot), snapshot_json(s));
}

std::string error_with(std::string const& from, std::string const& to) {
  std::string text(kText);
  auto const place = text.find(from);
  EXPECT_NE(place, std::string::npos) << from;
  text.replace(place, from.size(), to);
  SnapshotResult const r = read(text);
  EXPECT_FALSE(r.snapshot.has_value());
  return r.error;
}

TEST(MemorySnapshotFile, SaysWhatIsWrong) {
  EXPECT_TRUE(read("{").error.starts_with("snapshot.json: not JSON; "));
  EXPECT_EQ(read("[]").error, "snapshot.json: expected an object");
  EXPECT_EQ(read("{}").error, "snapshot.json: segments is missing");
  EXPECT_EQ(read(R"({"segments": [3]})").error, "snapshot.json: segments[0]: expected an object");
  EXPECT_EQ(error_with("\"total_size\": 2097152", "\"total_size\": 2097153"),
            "snapshot.json: segments[0]: total_size is not the sum of its blocks");
  EXPECT_EQ(error_with("\"size\": 512", "\"size\": -512"),
            "snapshot.json: segments[0].blocks[0]: size is out of range");
  EXPECT_EQ(error_with("\"inactive\"", "\"lost\""),
            "snapshot.json: segments[0].blocks[1]: unknown state 'lost'");
  EXPECT_EQ(error_with("\"segment_alloc\"", "\"rent\""),
            "snapshot.json: device_traces[0][0]: unknown action 'rent'");
  EXPECT_EQ(error_with("\"address\": 139820000000000", "\"address\": 18446744073709551615"),
            "snapshot.json: segments[0]: address is not a whole number");
  EXPECT_EQ(error_with("\"1\": 4", "\"1\": 5"),
            "snapshot.json: allocator_settings.roundup_power2_divisions: 1 is not a power of two");
  EXPECT_EQ(error_with("large_segment_size_mb:12", "backend:cudaMallocAsync"),
            "snapshot.json: allocator_settings: PYTORCH_CUDA_ALLOC_CONF: backend 'cudaMallocAsync' is not "
            "modelled; only native is");
}

// Older versions wrote less.
TEST(MemorySnapshotFile, OlderFilesLackKeys) {
  SnapshotResult const r = read(R"({"segments": [{"device": 1, "address": 4096, "total_size": 1536,
      "stream": 0, "segment_type": "large", "blocks": [{"size": 512, "state": "active_awaiting_free"},
      {"size": 1024, "state": "inactive"}]}]})");
  ASSERT_TRUE(r.snapshot.has_value()) << r.error;
  EXPECT_EQ(r.snapshot->segments[0].blocks[0].state, BlockState::active_pending_free);
  EXPECT_EQ(r.snapshot->segments[0].blocks[1].address, 4096 + 512);
  EXPECT_EQ(requested_size(r.snapshot->segments[0]), 512);
  EXPECT_TRUE(r.snapshot->device_traces.empty());
}

std::string bytes(std::initializer_list<int> list) {
  std::string out;
  for (int const b : list) out += static_cast<char>(b);
  return out;
}

// Protocol 4, then the operations that Python's pickletools lists: } dict, ( mark, X or 0x8c text, u set
// items, ] list, e append all, K M J integers of 1, 2, 4 bytes, 0x8a of eight, G big-endian double, N none.
TEST(Pickle, WritesTheOperationsOfPythonsFormat) {
  using Json = nlohmann::ordered_json;
  EXPECT_EQ(to_pickle(Json::object()), bytes({0x80, 4, '}', '.'}));
  EXPECT_EQ(to_pickle({{"a", true}, {"b", nullptr}}),
            bytes({0x80, 4, '}', '(', 0x8c, 1, 'a', 0x88, 0x8c, 1, 'b', 'N', 'u', '.'}));
  EXPECT_EQ(to_pickle(Json::array({255, 256, -1})),
            bytes({0x80, 4, ']', '(', 'K', 255, 'M', 0, 1, 'J', 255, 255, 255, 255, 'e', '.'}));
  EXPECT_EQ(to_pickle(std::int64_t{1} << 40), bytes({0x80, 4, 0x8a, 8, 0, 0, 0, 0, 0, 1, 0, 0, '.'}));
  EXPECT_EQ(to_pickle(1.0), bytes({0x80, 4, 'G', 0x3f, 0xf0, 0, 0, 0, 0, 0, 0, '.'}));
  EXPECT_EQ(to_pickle(std::string(300, 'x')).substr(0, 7), bytes({0x80, 4, 'X', 44, 1, 0, 0}));
}

// Lists go in batches of a thousand: 1001 items are two, of which each has its mark and its end.
TEST(Pickle, LongListsGoInBatches) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (int i = 0; i < 1001; ++i) list.push_back(nullptr);
  EXPECT_EQ(to_pickle(list), bytes({0x80, 4, ']', '('}) + std::string(1000, 'N') + "e(Ne.");
}

TEST(Pickle, ASnapshotIsItsJson) {
  MemorySnapshot const s = read(kText).snapshot.value();
  EXPECT_EQ(snapshot_pickle(s), to_pickle(nlohmann::ordered_json::parse(snapshot_json(s))));
}

}  // namespace
}  // namespace rollcast
