// Communicators and their collectives. Arrivals are data: at the start of a phase a rank class posts when it
// will enqueue each of its collectives, by a plain call; the engine sees one alarm and one flow (or one per
// distinct byte count) per collective, and an actor blocks only where it joins one.
//
// Operations of a communicator run in order, one at a time, numbered from 0 in the order in which each member
// posts them. An operation starts at max(last arrival, end of the one before), waits alpha, then sends. Alone
// on the network it takes CollectivePrice::total(): the stream's bytes are chosen so that the narrowest link
// gives bytes_per_link / bandwidth; with others on its links it takes its max-min share. So the price must be
// that of the group alone (Group::sharing of 1): sharing is what the simulation adds.
//
// Errors (std::logic_error): a member that is not there, an arrival before an earlier one of the same member,
// members that post different prices for one operation.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/prices.hpp"
#include "sim/engine.hpp"
#include "sim/platform.hpp"

namespace rollcast {

struct CommunicatorId {
  std::int32_t value = -1;
  friend auto operator<=>(CommunicatorId, CommunicatorId) = default;
};

// A member is a rank class: ranks with the same times post as one.
struct CommunicatorSpec {
  std::string name;
  int members = 0;
  std::vector<FlowPart> parts;  // of build_platform; empty: nothing is crossed, only alpha is paid
};

struct Arrival {
  Seconds time;  // enqueue
  CollectivePrice price;
};

// One operation that ended.
struct CollectiveRecord {
  CommunicatorId communicator;
  std::int64_t operation = 0;
  Seconds first_arrival;
  Seconds last_arrival;
  Seconds start;  // of alpha
  Seconds end;
};

class Collectives {
 public:
  explicit Collectives(Engine& engine);  // the engine must outlive it
  Collectives(Collectives const&) = delete;
  Collectives& operator=(Collectives const&) = delete;

  CommunicatorId add_communicator(CommunicatorSpec spec);

  // Enqueue times of this member's next operations, ascending. Returns the number of the first of them.
  // Does not block; callable from actors and callbacks.
  std::int64_t post(CommunicatorId communicator, int member, std::span<Arrival const> arrivals);

  // Blocks the calling actor until the operation has ended, and returns when it did. At once if it has.
  Seconds join(CommunicatorId communicator, std::int64_t operation);

  // Of an operation that has ended.
  CollectiveRecord const& record(CommunicatorId communicator, std::int64_t operation) const;

  // Takes back the arrivals of a member that lie after `time` (a rank that died then), for operations that
  // have not started. Those never start; the member must not post again.
  void retract(CommunicatorId communicator, int member, Seconds time);

  // Calls `late` once for an operation that is not done this long after its first member has enqueued it: the
  // watchdog of that member. Before anything is posted.
  void set_timeout(Seconds timeout, std::function<void(CommunicatorId)> late);

  // When the member enqueued its first operation that has not ended; absent: it waits in none.
  std::optional<Seconds> pending_arrival(CommunicatorId communicator, int member) const;
  std::int64_t operations_done(CommunicatorId communicator) const;
  int members(CommunicatorId communicator) const;

  // Members that have not (or not any more) posted this operation: for whom the others wait.
  std::vector<int> missing_members(CommunicatorId communicator, std::int64_t operation) const;

  std::string const& name(CommunicatorId communicator) const;
  std::vector<CollectiveRecord> const& records() const { return records_; }  // in the order of their ends

 private:
  struct Operation {
    CollectivePrice price;
    std::vector<std::optional<Seconds>> arrivals;  // of each member
    int posted = 0;
    bool is_scheduled = false;  // its start is known: the rest below holds
    Seconds first;
    Seconds last;
    Seconds start;
    AlarmId alarm;  // at the end of alpha
    int flows_left = 0;
    std::shared_ptr<Wake> ended = std::make_shared<Wake>();
  };
  struct Communicator {
    CommunicatorSpec spec;
    double seconds_per_byte = 0;
    std::deque<Operation> pending;   // the operations after those in `ended`
    std::vector<std::size_t> ended;  // the operations that have ended: indices into records_
    std::vector<std::int64_t> next;  // of each member: its next operation
    std::vector<Seconds> latest;     // of each member: its latest arrival
    std::optional<AlarmId> limit;    // of the first pending operation
    Seconds limit_at;
  };

  Communicator& at(CommunicatorId id);
  Communicator const& at(CommunicatorId id) const;
  void schedule(CommunicatorId id);
  void watch(CommunicatorId id);
  void send(CommunicatorId id);
  void end(CommunicatorId id);

  Engine& engine_;
  std::optional<Seconds> timeout_;
  std::function<void(CommunicatorId)> late_;
  std::vector<Communicator> communicators_;
  std::vector<CollectiveRecord> records_;
};

}  // namespace rollcast
