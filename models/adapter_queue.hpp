// The requests that wait for a place in a rollout engine, by adapter, and which of them comes next.
//
// A tenant is an adapter, or the base model alone (-1). Its requests stand in order of arrival; one that was
// preempted stands before all others, of its tenant and of the whole queue. So the next of a tenant is its
// first, and the engine's next is the best first one, log2 of the tenants per change:
//   first_come  the one that stands first
//   grouped     of the first kind of adapter that has one: in the batch, in memory, absent; then as above
//   fair        of the tenant that was served least, then as first_come
// fair is the virtual token counter of Sheng et al., Fairness in Serving Large Language Models, OSDI 2024. A
// request is charged when it is admitted first, with prompt + 2 x response tokens, the weights of that paper.
// A tenant that neither waited nor ran is lifted to the least of those that do, or to what the last one had
// that did.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "models/serve_options.hpp"
#include "models/tournament.hpp"
#include "models/units.hpp"

namespace rollcast {

// Where an adapter is: used by a running sequence; in memory; neither there nor on its way; on its way.
enum class AdapterPlace : std::uint8_t { batch, resident, absent, loading };

class AdapterQueue {
 public:
  static constexpr int kNobody = -1;

  // Adapters 0 .. adapters - 1. All, and the base model, are in the place `at_first`.
  AdapterQueue(int adapters, ServeOrder order, AdapterPlace at_first);

  // A request, by its place among the engine's sequences, is known; it comes.
  void add(int sequence, int adapter);
  void arrive(int sequence, std::int64_t tokens_to_charge, Seconds at);
  void admit(int sequence);
  void return_to_front(int sequence);  // preempted
  void end_running(int sequence);
  void end_waiting(int sequence);

  int adapter(int sequence) const { return entry(sequence).adapter; }
  Seconds arrival(int sequence) const { return entry(sequence).arrival; }

  AdapterPlace place(int adapter) const { return tenant(adapter).place; }
  void move(int adapter, AdapterPlace to);

  // Of the requests whose adapter is in the batch and, if so asked, resident or absent. kNobody: none.
  int next(bool resident, bool absent) const;
  // The first to have arrived of those that wait.
  int oldest() const;

 private:
  static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();

  struct Entry {
    int adapter = -1;
    int previous = kNobody;
    int next = kNobody;
    bool charged = false;
    std::int64_t charge = 0;
    std::int64_t order = 0;    // place in the queue; below 0: returned to the front
    std::int64_t arrived = 0;  // 0, 1, 2 ...
    Seconds arrival;
  };
  struct Tenant {
    int head = kNobody;
    int tail = kNobody;
    int alive = 0;  // waiting or running
    std::int64_t served = 0;
    AdapterPlace place = AdapterPlace::absent;
  };
  struct Rank {
    std::int64_t served = 0;
    std::int64_t order = kNone;
    bool operator<(Rank const& o) const { return served != o.served ? served < o.served : order < o.order; }
  };
  static constexpr Rank kNoRank{kNone, kNone};

  Entry& entry(int sequence) { return entries_[static_cast<std::size_t>(sequence)]; }
  Entry const& entry(int sequence) const { return entries_[static_cast<std::size_t>(sequence)]; }
  Tenant& tenant(int adapter) { return tenants_[static_cast<std::size_t>(adapter + 1)]; }
  Tenant const& tenant(int adapter) const { return tenants_[static_cast<std::size_t>(adapter + 1)]; }
  Tournament<Rank>& line(AdapterPlace p) { return lines_[static_cast<std::size_t>(p)]; }
  void remove(int sequence);
  void leave(int adapter);
  void rank(int adapter);

  ServeOrder order_;
  std::vector<Entry> entries_;
  std::vector<Tenant> tenants_;  // the base model is the first
  // Of the tenants whose adapter is in the batch, resident, absent.
  std::array<Tournament<Rank>, 3> lines_;
  Tournament<std::int64_t> arrived_;  // of the tenants' first requests
  Tournament<std::int64_t> served_;   // of the tenants that wait or run
  std::int64_t last_served_ = 0;
  std::int64_t arrivals_ = 0;
  std::int64_t front_ = 0;
};

}  // namespace rollcast
