// The graph of a cluster, drawn.
#pragma once

#include <string>

#include "sim/cluster.hpp"

namespace rollcast {

// As a tree for people: a node (all are alike; of a node of several hosts the first one) with its NUMA nodes,
// PCIe switches, GPUs and cards, each with the bandwidths of its links in GB/s per direction; the networks
// with their leaves and spines; and the ways that traffic takes through the host. Lines end with "\n".
std::string topology_text(Cluster const& cluster);

// As a Graphviz digraph: a vertex for each vertex of the graph, an edge for each cable (both directions) and
// for each host memory.
std::string topology_dot(Cluster const& cluster);

}  // namespace rollcast
