#include "reports/commands/catalog_topology.hpp"

#include <fmt/format.h>

#include <utility>

#include "calibrate/profiles.hpp"
#include "models/catalog/catalog.hpp"
#include "reports/commands/scenario_input.hpp"
#include "reports/output_file.hpp"
#include "reports/topology.hpp"
#include "scenarios/text/catalog_file.hpp"

namespace rollcast {
namespace {

constexpr int kMostNodes = 1024;  // a drawing; also bounds the size of the graph

struct Options {
  std::string node;
  std::string fabric;
  std::string storage_fabric;
  std::string dot;  // path, "-": standard output
  int nodes = 1;
};

template <class T>
T const* named(std::vector<T> const& all, std::string const& name, std::string_view what) {
  std::vector<std::string_view> names;
  for (T const& t : all) {
    if (t.name == name) return &t;
    names.push_back(t.name);
  }
  std::string_view const near = nearest(name, names);
  print_error(fmt::format(
      "the catalog has no {} '{}'; {}", what, shown(name),
      near.empty() ? fmt::format("there are {}", one_of(names)) : fmt::format("did you mean {}?", near)));
  return nullptr;
}

int draw(Options const& o, std::vector<std::string> const& files) {
  Catalog c = builtin_catalog();
  std::vector<Problem> problems;
  for (std::string const& file : files) {
    for (Problem& p : apply_catalog_file(file, c)) problems.push_back(std::move(p));
  }
  if (!problems.empty()) {
    print_problems(problems);
    return 2;
  }
  ClusterSpec spec;
  spec.nodes = o.nodes;
  Node const* const node = named(c.nodes, o.node, "node");
  if (node == nullptr) return 2;
  spec.node = *node;
  std::string const& fabric = o.fabric.empty() ? node->fabric : o.fabric;
  if (!fabric.empty()) {
    Fabric const* const found = named(c.fabrics, fabric, "fabric");
    if (found == nullptr) return 2;
    spec.fabric = *found;
  }
  if (!o.storage_fabric.empty()) {
    Fabric const* const found = named(c.fabrics, o.storage_fabric, "fabric");
    if (found == nullptr) return 2;
    if (node->storage_nics < 1) {
      print_error(fmt::format("{} has no network cards for a second network (storage_nics)", node->name));
      return 2;
    }
    spec.storage_fabric = *found;
  }
  Cluster const cluster = build_cluster(spec, profile_for(node->gpu));
  if (o.dot.empty()) return print(topology_text(cluster));
  if (std::string const error = write_file(o.dot, topology_dot(cluster)); !error.empty()) {
    print_error(error);
    return 2;
  }
  return 0;
}

}  // namespace

void add_topology_command(CLI::App& catalog, std::shared_ptr<std::vector<std::string> const> catalog_files,
                          int& exit_code) {
  auto const options = std::make_shared<Options>();
  CLI::App* const command = catalog.add_subcommand("topology", "Draw what is plugged into what in a node");
  command->add_option("node", options->node, "name of a node")->required();
  command->add_option("--nodes", options->nodes, "how many of them")->check(CLI::Range(1, kMostNodes));
  command->add_option("--fabric", options->fabric, "the network between them; default: the node's usual one");
  command->add_option("--storage-fabric", options->storage_fabric, "a second network, on the storage NICs");
  command->add_option("--dot", options->dot, "write Graphviz instead, to this file (-: standard output)");
  command->footer("Example:\n  rollcast catalog topology hgx-h100 --nodes 64 --storage-fabric roce-400g");
  command->callback([options, catalog_files = std::move(catalog_files), &exit_code] {
    exit_code = draw(*options, *catalog_files);
  });
}

}  // namespace rollcast
