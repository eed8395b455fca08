// Dumps of PyTorch's flight recorder as files: the pickle that it writes by itself, and the JSON of its
// dump_nccl_trace_json handler. Source: torch/csrc/distributed/c10d/FlightRecorder{.hpp,.cpp,Detail.hpp},
// where the JSON differs from the pickle so:
//   pg_status holds its numbers as texts;
//   time_discovered_started_ns and ..._completed_ns are 0, not None, for what was not noticed;
//   entries is left out when there are none, and an entry has no frames (ours has them where the struct
//   does); process_group is a list of two, a tuple in the pickle.
// In both, ranks of pg_config is a text, "[0, 1]", and duration_ms is there only when it was measured.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/flight_record.hpp"

namespace rollcast {

// Keys in alphabetical order and no blanks, as PyTorch writes them; durations with 9 significant digits. A
// text that is not UTF-8 has its wrong bytes replaced.
std::string flight_record_json(FlightDump const& dump);

// The same as a pickle, which torch.distributed.flight_recorder (fr_trace) reads.
std::string flight_record_pickle(FlightDump const& dump);

// What the file of a rank is called: "nccl_trace_rank_3".
std::string flight_record_name(int rank);

// Whether content looks like one: a pickle, or JSON with a key of a dump near its beginning.
bool is_flight_record(std::string_view content);

// A dump, or what is wrong with it, at most 20 lines: "nccl_trace_rank_3: /entries/4/state: ...". The rank is
// the number at the end of the name without its extension. Read are versions 2.x; keys that older ones lack
// may be missing (pg_config, pg_status, dtypes, timeout_ms, is_p2p, op_id, p2p_seq_id, frames), unknown ones
// are passed over. JSON up to 128 MiB, 64 deep; pickles as from_pickle.
struct FlightRecordResult {
  std::optional<FlightDump> dump;
  std::vector<std::string> problems;
};
FlightRecordResult read_flight_record(std::string_view content, std::string const& name);

}  // namespace rollcast
