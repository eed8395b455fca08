// rollcast catalog topology NODE [--nodes N] [--fabric F] [--storage-fabric F] [--dot FILE]
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

namespace rollcast {

// Draws a node of the catalog and the networks that it hangs on, with the bandwidths of its GPU's built-in
// profile. catalog_files: those that change the catalog.
void add_topology_command(CLI::App& catalog, std::shared_ptr<std::vector<std::string> const> catalog_files,
                          int& exit_code);

}  // namespace rollcast
