// From a cluster and everything that will be sent on it to links and routes of the engine. Call it once, with
// all traffics of the run, before run(): classes depend on all of them.
#pragma once

#include <vector>

#include "sim/engine.hpp"
#include "sim/link_classes.hpp"

namespace rollcast {

// What one traffic starts together: flows of share x stream bytes each.
struct FlowPart {
  RouteId route;
  double share = 1;
  BytesPerSecond narrowest;  // PlannedFlow::narrowest
  std::vector<LinkClassId> links = {};
};

// Seconds that one byte of the stream takes alone: max over parts of share / narrowest.
double seconds_per_stream_byte(std::vector<FlowPart> const& parts);

// Parts of each traffic, in the order of `traffics`.
std::vector<std::vector<FlowPart>> build_platform(Engine& engine, Cluster const& cluster,
                                                  std::vector<Traffic> const& traffics,
                                                  Merging merging = Merging::classes);

}  // namespace rollcast
