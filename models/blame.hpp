// Which rank a stuck run has to thank, from flight recorder dumps of some or all ranks and from lines of its
// logs.
//
// From dumps. A rank is held at its oldest unfinished collective (smallest record_id). A collective waits for
// the ranks of its group that have not enqueued it; when all have, for those that have not started it and are
// held at another one. Following held ranks from collective to collective ends
//   at a rank that is held nowhere (or has left no dump): it is the culprit,
//   at a collective that ranks entered differently (operation, sizes, types): the fewest that agree are,
//   at one that all ranks entered alike: no rank is; a rank that alone has not started it is, where timing is
//   on, or in a cycle: two ranks issued the same collectives in different orders.
// Sizes are compared as PyTorch's analyser does (tools/flight_recorder/components/types.py): not those of
// all_to_all, inputs of scatter, outputs of gather. Of several ends the one whose first waiter enqueued
// earliest is told.
//
// From logs. An out-of-memory, an exception or a death by another signal than the watchdog's (SIGABRT) or the
// launcher's (SIGTERM) that stands before the first time-out is the first cause, whatever the dumps say. Else
// the rank whose last enqueued work is below the one that timed out; else the only one of ranks 0 to the
// highest seen that does not report the time-out. With no line of NCCL, NCCL is not blamed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/flight_record.hpp"
#include "models/incident_fact.hpp"

namespace rollcast {

enum class BlameKind {
  first_failure,  // a rank failed by itself before anything timed out
  missing_rank,   // ranks that have not enqueued a collective
  no_dump,        // the same of ranks that left no dump: dead, or the file is not here
  mismatch,       // ranks that entered another collective, or one of other sizes
  not_started,    // enqueued, but its GPU has not come to it
  order_cycle,    // collectives in different orders
  all_waiting,    // every rank is in it: network, GPU or NCCL, or a rank that the files do not show
  nothing_stuck,  // dumps without anything unfinished, or nothing out of the ordinary
  no_collective,  // logs without a line of NCCL
};
std::string_view name_of(BlameKind k);

enum class RankPart { fine, waits, missing, differs, not_started, no_dump, failed };
std::string_view name_of(RankPart p);

struct BlameEvidence {
  std::string file;
  int line = 0;  // 0: of the whole file
  std::string text;
};

struct RankStanding {
  int rank = -1;
  RankPart part = RankPart::fine;
  std::string where;                // "all_reduce seq 12 of tp", or what it failed of; may be empty
  std::int64_t last_enqueued = -2;  // in the blamed group; -2: not known, -1: nothing
  std::int64_t last_completed = -2;
};

struct Blame {
  BlameKind kind = BlameKind::nothing_stuck;
  std::string verdict;  // one or two sentences
  std::vector<int> culprits;
  std::string group;  // name; empty: no collective is concerned, or not told
  std::string group_desc;
  std::string op;
  std::int64_t seq = -1;  // -1: none, or a send or receive
  std::vector<int> waiting;
  std::vector<std::string>
      chain;  // who waits for whom, from the first waiters to the culprit, or round the cycle
  std::vector<RankStanding> ranks;
  std::vector<BlameEvidence> evidence;
  std::vector<std::string> certain;   // what the files say
  std::vector<std::string> inferred;  // what is concluded
  std::vector<std::string> missing;   // what would make it surer
};

Blame blame(std::vector<FlightDump> const& dumps, std::vector<IncidentFact> const& facts);

// The two halves. `facts` are in order (in_order).
Blame blame_dumps(std::vector<FlightDump> const& dumps);
Blame blame_logs(std::vector<IncidentFact> const& facts);

// Facts by time; one without follows the last one above it in its file, of equal times the order is file,
// line.
std::vector<IncidentFact> in_order(std::vector<IncidentFact> facts);

// A text as it begins a sentence.
std::string capital(std::string text);
// "ALLTOALL seq 4486 of pg 9 (ulysses)"; parts that are not known are left out.
std::string collective_text(std::string const& op, std::int64_t seq, std::string const& group,
                            std::string const& desc);

}  // namespace rollcast
