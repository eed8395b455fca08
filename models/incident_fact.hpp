// What one line of a log says about the death of a run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "models/units.hpp"

namespace rollcast {

enum class FactKind {
  watchdog_timeout,  // PyTorch's watchdog: a collective ran for longer than its timeout
  watchdog_status,   // the same thread: the sequence number, last enqueued and last completed work of a group
  dump_signal,       // a rank dumps because it or another rank has timed out
  heartbeat_stuck,   // the monitor: the watchdog itself makes no progress
  out_of_memory,     // of a GPU, of the host or a killed worker
  exception,         // a Python exception or CUDA error that does not itself come from another rank's death
  nccl_warning,      // NCCL WARN
  nccl_error,        // a communicator failed: remote error, DistBackendError, the watchdog's thread ends
  process_abort,     // terminate called
  process_exit,      // the launcher tells an exit code
  launcher_stop,     // the launcher stops the others
  request_timeout,   // a remote call or HTTP request took too long
};

// Whose number the rank is. A group's log prefix counts ranks inside the group; the launcher's inside the
// node.
enum class RankSource { none, world, group, node };

struct IncidentFact {
  FactKind kind = FactKind::exception;
  std::optional<Seconds>
      time;       // since the start of the year (of 366 days: logs do not tell it), clock of the log
  Seconds after;  // of the line or, without one, of the last line above with a time; 0: none
  int rank = -1;
  RankSource rank_source = RankSource::none;
  std::string process;  // "pid=4954, ip=10.7.35.246"; empty: not told

  std::string group;       // the name of pg_config (PG GUID); empty: not told
  std::string group_desc;  // "default_pg"
  std::string op;          // "ALLTOALL"
  std::int64_t seq = -1;   // -1, here and below: not told
  std::int64_t numel_in = -1;
  std::int64_t numel_out = -1;
  std::int64_t timeout_ms = -1;
  std::int64_t ran_ms = -1;
  std::int64_t last_enqueued = -2;  // -2: not told; -1 is what PyTorch prints for none
  std::int64_t last_completed = -2;
  int from_rank = -1;                     // dump_signal: who timed out first; -1: this rank, or not told
  std::optional<std::int64_t> exit_code;  // process_exit
  bool first_observed = false;            // process_exit: the launcher's root cause

  bool folded = false;  // Ray tells that other processes wrote the same and does not print theirs
  std::string text;     // the line without its prefixes, at most 300 bytes
  std::string file;
  int line = 0;  // 1-based
};

}  // namespace rollcast
