// Adapters on their way into the engines' memory, as flows.
//
//   host memory -> GPU   to each rank of the engine over its PCIe, as all host copies go. Factors are copied
//                        one by one; a call takes a kernel launch (the profile's), and calls run ahead of the
//                        copies: so a load is the first call and the flow, or all of its calls, if those take
//                        longer.
//   storage -> host      where the engine's node does not hold the adapter (ServedAdapters::host_adapters,
//                        least recently used), the whole adapter first. A load joins one that is under way.
//                        What is being read or copied from stays. A load that finds no room on a node waits
//                        for some, and later ones behind it: else two loads of several nodes could each hold
//                        what the other waits for.
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <vector>

#include "models/job.hpp"
#include "models/profile.hpp"
#include "sim/engine.hpp"
#include "sim/platform.hpp"

namespace rollcast {

// Times of one variant on an engine that has its links for itself.
struct AdapterCopy {
  Bytes whole;
  Bytes on_rank;
  Seconds first_call;
  Seconds calls;  // of a load, the first one too
};

struct AdapterRoutes {
  std::vector<std::vector<FlowPart>> of_engine;  // the stream is what one rank is given
  std::vector<std::vector<int>> nodes_of_engine;
  std::vector<std::vector<FlowPart>> of_node;  // from storage; empty: the nodes hold all adapters
  std::vector<AdapterCopy> variants;
  Seconds per_byte;  // of the stream to the first engine, alone
  int ranks = 1;     // of an engine
};

// job: as the engines' pool sees it. Before run(). std::logic_error: adapters on storage that is not there.
AdapterRoutes adapter_routes(Engine& engine, Job const& job, Profile const& profile);

// From host memory, with nothing else under way.
Seconds cold_load(AdapterRoutes const& routes, int variant);

class AdapterLoads {
 public:
  struct Loaded {
    int engine = 0;
    int adapter = 0;
  };

  // engine, routes and adapters must outlive it.
  AdapterLoads(Engine& engine, AdapterRoutes const& routes, ServedAdapters const& adapters);
  AdapterLoads(AdapterLoads const&) = delete;
  AdapterLoads& operator=(AdapterLoads const&) = delete;

  void start(int engine, int adapter);  // now
  bool under_way() const { return under_way_ > 0; }
  Wake& arrived() { return arrived_; }  // woken whenever something can be taken
  std::vector<Loaded> take();           // in order of arrival

  std::int64_t storage_loads(int engine) const { return storage_loads_[static_cast<std::size_t>(engine)]; }
  Bytes moved(int engine) const { return moved_[static_cast<std::size_t>(engine)]; }

 private:
  enum class Place : std::uint8_t { storage, coming, host };
  struct Held {  // an adapter, as a node's memory has it
    Place place = Place::storage;
    int copies = 0;                         // loads that have it, or wait for it to come
    std::vector<std::size_t> waiting = {};  // loads
    std::list<int>::iterator at = {};       // in Node::recent
  };
  struct Node {
    std::vector<Held> adapters;
    std::list<int> recent;          // held or coming, the last used first
    std::deque<std::size_t> asked;  // loads, for want of room and behind one such
  };
  struct Load {
    Loaded what;
    int nodes_left = 0;  // that do not hold it for this load yet
    int flows_left = 0;
    bool from_storage = false;
    Seconds began;
  };

  void give_asked(int node);
  bool give(int node, std::size_t load);  // false: no room
  void have(std::size_t load);            // a node of it holds the adapter
  bool make_room(Node& node);
  void read(int node, int adapter);
  void come(int node, int adapter);
  void copy(std::size_t load);
  void end_flows(std::size_t load);
  void finish(std::size_t load);
  AdapterCopy const& copy_of(int adapter) const {
    return routes_.variants[static_cast<std::size_t>(adapter) % routes_.variants.size()];
  }

  Engine& engine_;
  AdapterRoutes const& routes_;
  std::size_t held_ = 0;  // adapters that a node holds; 0: all
  std::vector<Node> nodes_;
  std::vector<Load> loads_;
  std::vector<std::size_t> free_;
  std::vector<Loaded> loaded_;
  std::vector<std::int64_t> storage_loads_;
  std::vector<Bytes> moved_;
  int under_way_ = 0;
  Wake arrived_;
};

}  // namespace rollcast
