#include "sim/platform.hpp"

#include <algorithm>

namespace rollcast {

double seconds_per_stream_byte(std::vector<FlowPart> const& parts) {
  double slowest = 0;
  for (FlowPart const& p : parts) slowest = std::max(slowest, p.share / p.narrowest.value);
  return slowest;
}

std::vector<std::vector<FlowPart>> build_platform(Engine& engine, Cluster const& cluster,
                                                  std::vector<Traffic> const& traffics, Merging merging) {
  LinkPlan const plan = plan_links(cluster.shared.empty() ? cluster.capacity : cluster.shared, traffics,
                                   merging, cluster.capacity);
  std::vector<LinkClassId> links;
  for (BytesPerSecond const c : plan.class_capacity) links.push_back(engine.add_link(c));
  std::vector<std::vector<FlowPart>> out;
  for (auto const& flows : plan.flows) {
    auto& parts = out.emplace_back();
    for (PlannedFlow const& f : flows) {
      std::vector<LinkClassId> way;
      for (int const c : f.classes) way.push_back(links[static_cast<std::size_t>(c)]);
      parts.push_back({engine.route(way), f.share, f.narrowest, way});
    }
  }
  return out;
}

}  // namespace rollcast
