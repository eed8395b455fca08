// When a process ends that waits in a collective which does not end: PyTorch's watchdog and heartbeat monitor
// (torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp, its HeartbeatMonitor and Watchdog classes).
//
// A timer runs from the enqueue on the CPU, and only on ranks that have enqueued. With T the timeout, p the
// poll, D the dump wait, H the heartbeat timeout, and u in [0, 1) where the rank's polls fall:
//   detected = enqueued + T + u p
//   skip_clean_up, tear_down: the process is aborted at detected + 4 D (without a dump: at detected)
//   clean_up_only:            the communicators are aborted at that time, the process lives
//   none:                     nothing happens
// tear_down and clean_up_only abort the communicators first, which may itself hang (abort_hangs); the
// watchdog then shows no sign of life and the monitor of the default group ends the process:
//   after a dump was asked for   it sees that within a second, writes, waits H, aborts: detected + 1 s + H
//   without one                  it looks every H from the group's start on, and compares: the second look
//                                after the last beat, in [H, 2 H) after it, and aborts at once
// A rank that has no timer of its own sees within a second that another one dumps, and its monitor aborts it
// H later, if nothing else did.
#pragma once

#include <optional>
#include <string_view>

#include "models/units.hpp"

namespace rollcast {

// TORCH_NCCL_ASYNC_ERROR_HANDLING 0 to 3.
enum class ErrorHandling { none, tear_down, clean_up_only, skip_clean_up };
std::string_view name_of(ErrorHandling e);

struct WatchdogOptions {
  Seconds timeout = Seconds(600);  // of the trainer's process groups
  Seconds poll = Seconds(0.1);
  ErrorHandling error_handling = ErrorHandling::skip_clean_up;
  bool dump_on_timeout = true;       // TORCH_NCCL_DUMP_ON_TIMEOUT
  Seconds dump_wait = Seconds(15);   // D: TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC
  bool monitoring = true;            // TORCH_NCCL_ENABLE_MONITORING
  Seconds heartbeat = Seconds(480);  // H: TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC
  bool abort_hangs = false;          // aborting a communicator never returns
  // Between engines and their callers: what a call to an engine's ranks may take.
  Seconds rpc_timeout = Seconds(300);
  // Workers tell each other that they live, every so often; 0: not. Whoever misses so many in a row is dead.
  Seconds worker_heartbeat;
  int missed_heartbeats = 3;
};

// What becomes of one rank. Nothing set: it waits on.
struct RankEnd {
  std::optional<Seconds> detected;  // by its own timer
  std::optional<Seconds> dumped;    // its flight recorder is written
  std::optional<Seconds> monitor;   // its heartbeat monitor reports the watchdog stuck
  std::optional<Seconds> aborted;   // communicators
  std::optional<Seconds> dies;
  bool by_monitor = false;  // not by its watchdog
};

// Of a rank that has enqueued. group_start: when the default group was made. u: see above.
RankEnd end_of_waiting(WatchdogOptions const& o, Seconds enqueued, Seconds group_start, double u);
// Of a rank whose process lives and has no timer of its own, where another one detects.
RankEnd end_of_told(WatchdogOptions const& o, Seconds first_detected);

}  // namespace rollcast
