// Ranks that wait for ranks that do not come: what a fault leaves behind.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/launcher.hpp"
#include "models/units.hpp"

namespace rollcast {

// Who times a group's operations: c10d's watchdog; an engine's caller, who gives up after its time-out (rpc);
// nobody (NCCL without c10d: vLLM's PyNccl, weight transfer engines).
enum class GroupTimer { c10d, rpc, none };
std::string_view name_of(GroupTimer t);

// A communicator with an operation that does not end.
struct StalledGroup {
  std::string name;                           // "fsdp", "gradients of stage 0"
  std::string operation;                      // as PyTorch's OpType: "ALLGATHER"
  std::optional<std::int64_t> sequence = {};  // of the group's collectives, from 1; absent: not counted
  GroupTimer timer = GroupTimer::c10d;
  std::optional<Seconds> timeout = {};  // its own; absent: the watchdog's
};

// "ALLGATHER 81".
std::string operation_text(StalledGroup const& g);

// Ranks are numbered within their pool.
struct WaitingRank {
  int pool = 0;
  int rank = 0;
  int group = 0;  // index into Stall::groups
  Seconds since;  // enqueued
};

struct MissingRank {
  int pool = 0;
  int rank = 0;
  Stop stop = Stop::hangs;
  Seconds at;  // when it stopped to take part
};

struct Stall {
  Seconds at;                        // of the first cause
  std::string cause;                 // "rank 17 runs out of memory: ..."
  std::vector<MissingRank> missing;  // empty: all have come, and the network does not carry it
  std::vector<StalledGroup> groups;
  std::vector<WaitingRank> waiting;
  // Ranks that stop later by themselves, where the job has not ended by then.
  std::vector<MissingRank> later = {};
  // A caller waits for an engine from then on, and gives up after WatchdogOptions::rpc_timeout.
  std::optional<Seconds> called = {};
  // The cycle of a deadlock, in words; empty: there is none.
  std::string cycle;
  // Who is waited for where no rank is: "the reward function in the driver". Nothing of NCCL is to blame
  // then.
  std::string elsewhere;
};

// Of the ranks that are missing, else of those that wait; 0 without either.
int pool_of_cause(Stall const& s);

}  // namespace rollcast
