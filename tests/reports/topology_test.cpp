#include "reports/topology.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "tests/reports/golden.hpp"
#include "tests/sim/cluster_fixtures.hpp"

namespace rollcast {
namespace {

using testing::HasSubstr;

// Two nodes of four cards without peer access: two switches, two NUMA nodes, one NIC, a second network.
ClusterSpec drawn_cluster() {
  ClusterSpec spec = with_storage(cluster_spec(2, 4, Interconnect::pcie));
  spec.node.name = "small";
  spec.node.gpu.name = "card";
  spec.node.peer_access = false;
  spec.node.nics = 1;
  spec.fabric.name = "first";
  spec.fabric.oversubscription = 2;
  spec.fabric.rail_optimized = false;
  spec.fabric.nodes_per_leaf = 1;
  return spec;
}

TEST(Topology, IsDrawnAsATree) {
  expect_golden(topology_text(build_cluster(drawn_cluster(), profile_of_ones())), "topology_small.txt");
}

TEST(Topology, OfTraysShowsOne) {
  ClusterSpec spec = cluster_spec(1);
  spec.node.gpus_per_pcie_switch = 1;
  spec.node.trays = spec.node.numa_nodes = 4;
  std::string const text = topology_text(build_cluster(spec, profile_of_ones()));
  EXPECT_THAT(text, HasSubstr("node of 4 hosts, all alike\n"));
  EXPECT_THAT(text, HasSubstr("GPU 1 "));
  EXPECT_THAT(text, testing::Not(HasSubstr("GPU 2 ")));
}

// A reader of the format: as many vertices as the graph has, one edge for each cable and each memory.
TEST(Topology, DotCanBeRead) {
  for (auto const kind : {Interconnect::nvswitch, Interconnect::nvlink_pairs, Interconnect::pcie}) {
    ClusterSpec spec = drawn_cluster();
    spec.node.interconnect = kind;
    Cluster const c = build_cluster(spec, profile_of_ones());
    std::string const dot = topology_dot(c);
    std::size_t vertices = 0, edges = 0;
    std::istringstream lines(dot);
    std::string line, last;
    for (; std::getline(lines, line); last = line) {
      EXPECT_EQ(std::count(line.begin(), line.end(), '"') % 2, 0) << line;
      if (line.find("->") != std::string::npos) {
        ++edges;
      } else if (line.find("[label=\"") != std::string::npos) {
        ++vertices;
      }
    }
    EXPECT_THAT(dot, testing::StartsWith("digraph cluster {\n"));
    EXPECT_EQ(last, "}");
    EXPECT_EQ(vertices, boost::num_vertices(c.graph));
    EXPECT_EQ(edges, (c.capacity.size() + c.numa_memory.size()) / 2);
    EXPECT_THAT(dot, HasSubstr("label=\"node 1\\nGPU 3\", shape=box"));
    EXPECT_THAT(dot, HasSubstr("label=\"60 / 90\"")) << "the file system, written and read";
  }
}

}  // namespace
}  // namespace rollcast
