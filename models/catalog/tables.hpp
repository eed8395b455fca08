// The tables behind builtin_catalog(), one file each.
#pragma once

#include <vector>

#include "models/architecture.hpp"
#include "models/hardware.hpp"

namespace rollcast {

std::vector<Gpu> gpu_table();
// Throws std::logic_error when a node names a GPU that is not in gpus.
std::vector<Node> node_table(std::vector<Gpu> const& gpus);
std::vector<Fabric> fabric_table();
std::vector<Architecture> architecture_table();

}  // namespace rollcast
