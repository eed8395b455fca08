// Where the ranks of a run are held, and by whom, read off their flight recorder dumps. A part of
// models/blame.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "models/flight_record.hpp"

namespace rollcast {

// A collective of a group, or a send and its receive (seq -1, source and destination as global ranks).
struct HeldKey {
  int group = -1;  // place in DumpWaits::groups
  std::int64_t seq = -1;
  int source = -1;
  int destination = -1;
  auto tied() const { return std::tie(group, seq, source, destination); }
  bool operator==(HeldKey const& o) const { return tied() == o.tied(); }
  bool operator<(HeldKey const& o) const { return tied() < o.tied(); }
};

struct HeldCollective {
  HeldKey key;
  std::string op;                             // without "nccl:", of the ranks that agree most
  std::map<int, FlightEntry const*> entries;  // by rank, of those that have it in their buffer
  std::vector<int> waiting;                   // enqueued, not completed
  std::vector<int> absent;                    // has not enqueued it
  std::vector<int> undumped;                  // member without a dump
  std::vector<int> differing;                 // fewest ranks with another operation or sizes; on a tie all
  std::string difference;                     // in words
  std::vector<int> behind;                    // enqueued, not started, and held at another one
  std::vector<int> unstarted;                 // the same, not held elsewhere, where others have started
  bool timed_out = false;                     // on some rank
  std::int64_t first_created_ns = 0;          // of its waiting ranks
};

struct DumpWaits {
  std::vector<FlightGroup> groups;         // groups of one name and other ranks are different groups
  std::map<int, FlightDump const*> dumps;  // by rank
  std::map<int, HeldKey> held_at;          // ranks with something unfinished
  std::map<HeldKey, HeldCollective>
      held;  // what some rank is held at, and earlier mismatches of these groups
};

// `dumps` must outlive the result. Two dumps of one rank: the last one counts.
DumpWaits dump_waits(std::vector<FlightDump> const& dumps);

// The last sequence number that a rank has enqueued or completed in a group; -1: none. -2: not known, since
// the buffer has dropped older records and holds none of the group.
struct GroupProgress {
  std::int64_t enqueued = -1;
  std::int64_t completed = -1;
};
GroupProgress progress_of(FlightDump const& dump, FlightGroup const& group);

}  // namespace rollcast
