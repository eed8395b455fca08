// What PyTorch's flight recorder dumps of one rank, version 2.4: the last collectives that it enqueued, the
// groups that it belongs to and how far each has come. Field names are PyTorch's
// (torch/csrc/distributed/c10d/ FlightRecorder.hpp and FlightRecorderDetail.hpp); reports/flight_record_json
// reads and writes the files.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace rollcast {

struct FlightFrame {
  std::string name;
  std::string filename;
  std::int64_t line = 0;
};

// completed and started are what the recorder has *noticed*, up to a poll of the watchdog late. Without event
// timing (TORCH_NCCL_ENABLE_TIMING) nothing is ever `started`.
enum class FlightState { scheduled, started, completed };

// Sizes of the tensors of one side: one list of dimensions a tensor; {} is a scalar.
using FlightSizes = std::vector<std::vector<std::int64_t>>;

struct FlightEntry {
  std::vector<FlightFrame> frames;  // innermost first; the JSON form of PyTorch has none
  std::int64_t record_id = 0;       // counts what the rank has recorded; the buffer keeps the last N
  std::int64_t pg_id = 0;           // the rank's own number of the group: the key of pg_status
  std::string pg_name;              // process_group[0], the key of pg_config: the same on every rank
  std::string pg_desc;              // process_group[1]
  std::int64_t collective_seq_id =
      0;                        // one per collective or coalesced group: equal on all ranks of the group
  std::int64_t p2p_seq_id = 0;  // the same for sends and receives; the rank's own count
  std::int64_t op_id = 0;       // one per operation, also inside a coalesced group
  std::string profiling_name;   // "nccl:all_reduce", "nccl:send 0->1", "nccl:recv 1<-0", ranks of the group
  std::int64_t time_created_ns = 0;  // enqueued by the CPU; Unix time
  std::int64_t timeout_ms = 0;
  std::optional<double> duration_ms;  // of the kernel; with event timing alone
  FlightSizes input_sizes;
  std::vector<std::string> input_dtypes;  // "Float", "BFloat16", ...
  FlightSizes output_sizes;
  std::vector<std::string> output_dtypes;
  FlightState state = FlightState::scheduled;
  std::optional<std::int64_t> time_discovered_started_ns;
  std::optional<std::int64_t> time_discovered_completed_ns;
  bool retired = false;  // off the watchdog's list; retired and not completed: timed out
  bool is_p2p = false;
};

struct FlightGroup {
  std::string name;
  std::string desc;
  std::vector<int> ranks;  // global ranks, in the file a text: "[0, 1, 2, 3]"
};

// Sequence numbers; -1: none yet. A group that also sends and receives counts both kinds here.
struct FlightStatus {
  std::int64_t last_enqueued_collective = -1;
  std::int64_t last_started_collective = -1;
  std::int64_t last_completed_collective = -1;
};

struct FlightDump {
  int rank = -1;       // global; not in the file but at the end of its name: nccl_trace_rank_3
  std::string source;  // name of the file, for messages
  std::string version = "2.4";
  std::map<std::string, FlightGroup> pg_config;   // by name of the group
  std::map<std::string, FlightStatus> pg_status;  // by pg_id as text
  std::vector<FlightEntry> entries;               // in the order of recording
};

}  // namespace rollcast
