// Collectives of several communicators on the same GPUs: whether the ranks' programs come to their end, and
// if not, who waits for whom.
//
// What NCCL says (user guide, "Using multiple NCCL communicators concurrently"; NVIDIA/nccl issues 195, 522
// and 592), in the words of this file:
//   - The n-th collective that a rank issues in a communicator meets the n-th of every other member. One
//     communicator's collectives run one after another on a rank, in the order of their issue, whatever
//     streams they are on.
//   - Collectives of one stream run one after another. Those of different streams may run side by side, but
//     nothing promises it: their kernels need room on the GPU, and streams share hardware queues.
//   - A kernel that has started holds its place until every member has started its own; then all members are
//     done after the longest duration that one of them gives.
// So programs finish for sure when every GPU issues in one order. They need not finish when two ranks that
// share two communicators start them in different orders and have no room for both.
//
// A place that is free goes to what the rank issued first among the collectives that may start. Collectives
// that end at the same time do so before the next ones start.
//
// Every rank issues its program without a pause: the clock starts when all begin. std::logic_error: a
// member, communicator, name or `after` out of range, a rank in a communicator that it is no member of, no
// place at all.
//
// Cost: n log n in the collectives of all ranks.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/units.hpp"

namespace rollcast {

struct CommunicatorGroup {
  std::string name;          // "weight transfer"
  std::vector<int> members;  // ranks
};

struct IssuedCollective {
  int communicator = 0;
  int stream = 0;  // of the rank
  int name = 0;    // index into CollectivePrograms::names
  int after = -1;  // an earlier one of the same rank that must be done (an event); -1: none
  Seconds duration = {};
};

struct RankProgram {
  std::string name;                      // "rank 3"
  std::vector<IssuedCollective> issued;  // in this order
  std::optional<int> concurrent = {};    // kernels that run at a time; absent: no limit
};

struct CollectivePrograms {
  std::vector<CommunicatorGroup> communicators;
  std::vector<std::string> names;  // of collectives: "broadcast 2"
  std::vector<RankProgram> ranks;
};

struct StartedRank {
  int rank = 0;
  Seconds since;  // it started the collective
};

// A collective that some members have started and that never ends.
struct StalledCollective {
  int communicator = 0;
  int sequence = 0;  // within the communicator, from 0
  int name = 0;
  std::vector<StartedRank> waiting = {};
  std::vector<int> queued = {};   // have issued it, and it stands behind another that does not end
  std::vector<int> missing = {};  // never issue it
};

// `rank` has started a collective, which waits for `waits_for`, the rank of the next link (of the last one:
// of the first).
struct CycleLink {
  int rank = 0;
  int communicator = 0;
  int sequence = 0;
  int name = 0;
  int waits_for = 0;
};

struct CollectiveRun {
  bool finishes = true;
  Seconds end;  // of the last collective; of a stall, when the last rank began to wait
  std::vector<StalledCollective> stalled = {};  // by communicator and sequence
  std::vector<CycleLink> cycle = {};            // empty: no circle, a rank never issues what others wait in
};

CollectiveRun run_collectives(CollectivePrograms const& p);

// "rank 0 is in broadcast 1 (weight transfer) and waits for rank 1, rank 1 is in gather 2 (trainer) and waits
// for rank 0"; without a circle "rank 0 is in gather 2 (trainer) and waits for rank 1, which never issues
// it". Of a long circle the first four. Empty when it finishes.
std::string stall_sentence(CollectivePrograms const& p, CollectiveRun const& r);

}  // namespace rollcast
