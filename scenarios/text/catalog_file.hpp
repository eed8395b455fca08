// A YAML file that changes or extends the catalog:
//
//   gpus:    {h100-sxm: {visible_memory: 79.2 GiB}, my-card: {bf16: 500 TFLOP/s, ...}}
//   nodes:   {my-node: {base: hgx-h100, nics: 4}}
//   fabrics: {my-net: {nic: 200 Gb/s, latency: 4 us}}
//   models:  {my-8b: {base: llama-3.1-8b, max_context: 32768}}
//
// An entry of a known name changes the fields that it gives; `base` starts from another entry; a new entry
// without `base` gives every field that a forecast needs, each missing one is a problem. Sections are read in
// the order gpus, nodes, fabrics, models, whatever their order in the file, so that a node may name a GPU of
// the same file. Nodes of the catalog that carry a changed GPU get the changed one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/catalog/catalog.hpp"
#include "scenarios/problem.hpp"

namespace rollcast {

// Returns every problem of the file; c is changed only when there is none. The sources of changed fields
// become "file:line".
std::vector<Problem> apply_catalog_file(std::string const& path, Catalog& c);
// text as if it stood in file `name`.
std::vector<Problem> apply_catalog_text(std::string_view text, std::string const& name, Catalog& c);

}  // namespace rollcast
