#include <fmt/format.h>

#include <stdexcept>
#include <string>

#include "reports/topology.hpp"

namespace rollcast {
namespace {

std::string number(BytesPerSecond r) { return fmt::format("{:.4g}", r.value / 1e9); }

std::string label_of(ClusterVertex const& v) {
  std::string const i = std::to_string(v.index);
  switch (v.kind) {
    case VertexKind::gpu:
      return "GPU " + i;
    case VertexKind::nvswitch:
      return "NVSwitch";
    case VertexKind::pcie_switch:
      return "PCIe switch " + i;
    case VertexKind::numa:
      return "NUMA node " + i;
    case VertexKind::nvme:
      return "drives of host " + i;
    case VertexKind::nic:
      return "NIC " + i;
    case VertexKind::leaf:
      return "leaf " + i;
    case VertexKind::spine:
      return "spine";
    case VertexKind::storage_nic:
      return "storage NIC " + i;
    case VertexKind::storage_leaf:
      return "leaf " + i + " of the second network";
    case VertexKind::storage_spine:
      return "spine of the second network";
    case VertexKind::file_system:
      return "file system";
  }
  throw std::logic_error("no such VertexKind");
}

std::string shape_of(VertexKind kind) {
  switch (kind) {
    case VertexKind::gpu:
      return "box";
    case VertexKind::nic:
    case VertexKind::storage_nic:
      return "hexagon";
    case VertexKind::nvme:
    case VertexKind::file_system:
      return "cylinder";
    default:
      return "ellipse";
  }
}

}  // namespace

std::string topology_dot(Cluster const& cluster) {
  ClusterGraph const& g = cluster.graph;
  auto const capacity = [&](LinkId link) { return number(cluster.capacity.at(std::size_t(link))); };
  std::string out = "digraph cluster {\nrankdir=BT;\n";
  for (auto [v, end] = boost::vertices(g); v != end; ++v) {
    bool const named = g[*v].node >= 0 && cluster.spec.nodes > 1;
    std::string const node = named ? fmt::format("node {}\\n", g[*v].node) : "";
    out += fmt::format("{} [label=\"{}{}\", shape={}];\n", *v, node, label_of(g[*v]), shape_of(g[*v].kind));
  }
  for (auto [e, end] = boost::edges(g); e != end; ++e) {
    auto const from = boost::source(*e, g), to = boost::target(*e, g);
    LinkId const link = g[*e].link;
    LinkId const other = g[boost::edge(to, from, g).first].link;  // every cable has its way back
    if (other < link) continue;
    std::string const there = capacity(link), back = capacity(other);
    out += fmt::format("{} -> {} [label=\"{}\", dir={}];\n", from, to,
                       there == back ? there : there + " / " + back, from == to ? "none" : "both");
  }
  return out + "}\n";
}

}  // namespace rollcast
