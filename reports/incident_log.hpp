// Lines of logs that tell why a run died, as PyTorch, NCCL, torchrun and Ray print them and people paste
// them.
//
// Known forms (each seen in public logs of several versions, or in ProcessGroupNCCL.cpp):
//   [rank3]:[E1112 10:42:28.123456789 ProcessGroupNCCL.cpp:607] [Rank 3] Watchdog caught collective operation
//   timeout:
//     WorkNCCL(SeqNum=.., OpType=.., NumelIn=.., NumelOut=.., Timeout(ms)=..) ran for .. milliseconds ...
//   [PG ID 2 PG GUID 9(desc) Rank 3] | [PG 1 Rank 3] | [PG 0 (default_pg) Rank 3], followed by "... at work:
//   N" |
//     "at work sequence id: N" | "at NCCL work: N", "last enqueued [NCCL] work: N, last completed [NCCL]
//     work: N"
//   ... Received a dump signal due to a collective timeout from [rank N | this local rank] ...
//   ... watchdog got stuck for N seconds | Heartbeat monitor timed out
//   torch[.cuda].OutOfMemoryError, CUDA out of memory, killed due to memory pressure, Out of memory: Killed
//   process the last line of a Python traceback; CUDA error: ...; NVRM: Xid ... NCCL WARN ...; NCCL error,
//   ncclRemoteError, ... torchrun's blocks "Root Cause (first observed failure)" and "Failures:", failed
//   (exitcode: N) local_rank: N,
//     Received 15 death signal, closing signal SIGTERM; Ray's "(Name pid=N, ip=A)" in front of a line
// Everything else is passed over. [rankN] counts in the run, Rank N inside the group. A process of Ray that
// names its rank in one line has it in all.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/incident_fact.hpp"

namespace rollcast {

// In the order of the lines. Exceptions that come of another rank's death (ChildFailedError, RayTaskError,
// ActorDiedError, DistBackendError, a connection that the peer closed) are no facts of their own.
std::vector<IncidentFact> read_incident_log(std::string_view content, std::string const& name);

}  // namespace rollcast
