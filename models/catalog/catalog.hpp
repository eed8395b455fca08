// The embedded catalog: GPUs, nodes, fabrics and architectures as C++ tables, each number with its source.
// A Catalog is a value, so that a file can override or extend a copy of the built-in one.
#pragma once

#include <string_view>
#include <vector>

#include "models/architecture.hpp"
#include "models/hardware.hpp"

namespace rollcast {

struct Catalog {
  std::vector<Gpu> gpus;
  std::vector<Node> nodes;
  std::vector<Fabric> fabrics;
  std::vector<Architecture> architectures;
};

Catalog const& builtin_catalog();

// nullptr when there is no such name. A model is also found by its Hugging Face name, with or without the
// organisation and in any case ("Qwen/Qwen2.5-7B-Instruct"): tuned versions (-Instruct, -Chat, -Base, ...)
// resolve to the entry whose shapes they share.
Gpu const* find_gpu(Catalog const& c, std::string_view name);
Node const* find_node(Catalog const& c, std::string_view name);
Fabric const* find_fabric(Catalog const& c, std::string_view name);
Architecture const* find_architecture(Catalog const& c, std::string_view name);

}  // namespace rollcast
