#include "scenarios/text/pool_fields.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/pools.hpp"
#include "scenarios/text/catalog_fields.hpp"

namespace rollcast {
namespace {

// GPUs of part of a node: a share of its NICs, at least one where it has any.
Node part_of(Node node, int gpus) {
  if (node.nics > 0) node.nics = std::max(1, node.nics * gpus / node.gpus);
  if (node.trays > 1) {  // whole hosts, or else as if from one
    int const trays = node.trays * gpus % node.gpus == 0 ? node.trays * gpus / node.gpus : 1;
    node.numa_nodes = node.numa_nodes / node.trays * trays;
    node.storage_nics = node.storage_nics / node.trays * trays;
    node.nvme_read *= static_cast<double>(trays) / node.trays;
    node.nvme_write *= static_cast<double>(trays) / node.trays;
    node.trays = trays;
  }
  node.gpus = gpus;
  node.gpus_per_pcie_switch = std::min(node.gpus_per_pcie_switch, gpus);
  if (node.numa_nodes > gpus) node.numa_nodes = gpus;
  return node;
}

void size_by_gpus(Fields& g, Pool& pool, int gpus) {
  Node& node = pool.cluster.node;
  if (gpus < node.gpus) {
    node = part_of(node, gpus);
    pool.cluster.nodes = 1;
    pool.part_of_node = true;
  } else if (gpus % node.gpus == 0) {
    pool.cluster.nodes = gpus / node.gpus;
  } else {
    g.problem(g.mark_of("gpus"), "gpus", fmt::format("{} GPUs are not whole nodes of {}", gpus, node.gpus),
              fmt::format("write fewer than {}, or a multiple of it", node.gpus));
  }
}

void describe_pool(Fields& g, Pool& pool, Catalog const& catalog) {
  reference(g, "node", pool.cluster.node, catalog, "its nodes; default: those of the cluster");
  if (!g.listing()) {
    Fabric const* usual = find_fabric(catalog, pool.cluster.node.fabric);
    if (g.has("node") && usual != nullptr) pool.cluster.fabric = *usual;
  }
  g.integer("nodes", pool.cluster.nodes, kCount, "how many of them");
  int gpus = 0;
  if (!g.has("gpus") && !g.listing()) return g.allow("gpus");
  g.integer("gpus", gpus, kCount, "instead of nodes: whole nodes, or part of one");
  if (g.listing()) {
    g.rows().back().fallback.clear();
    return;
  }
  if (g.has("nodes"))
    g.problem(g.mark_of("gpus"), "gpus", "a pool has nodes or gpus", "remove one of them");
  else if (gpus > 0)
    size_by_gpus(g, pool, gpus);
}

// The cluster is all pools together where they are of its nodes.
void check_sum(Fields& f, Job const& job, Mark at) {
  std::int64_t sum = 0;
  for (Pool const& p : job.pools) {
    if (p.cluster.node.name != job.cluster.node.name) return;
    sum += p.cluster.gpus();
  }
  if (sum != job.cluster.gpus()) {
    f.problem(at, "pools", fmt::format("{} GPUs in the pools, {} in the cluster", sum, job.cluster.gpus()),
              "let the pools' nodes add up to cluster.nodes");
  }
}

bool set_in_file(Reading const& reading, std::string const& key) {
  auto const found = std::find_if(reading.origins.begin(), reading.origins.end(),
                                  [&](Origin const& o) { return o.key == key; });
  return found != reading.origins.end() && found->from.find("preset") == std::string::npos &&
         found->from != "default";
}

void keep_states_on_gpu(Fields& f, FrameworkOptions& o) {
  for (auto const& [key, held] : {std::pair("framework.optimizer_offload", &o.optimizer_offload),
                                  std::pair("framework.parameters_offload", &o.parameters_offload)}) {
    if (!*held || set_in_file(f.reading(), key)) continue;
    *held = false;
    for (Origin& origin : f.reading().origins) {
      if (origin.key != key) continue;
      origin.value = "false";
      origin.from = "derived: the engines have GPUs of their own";
    }
  }
}

}  // namespace

bool read_pools(Fields& f, Job& job, ScenarioPlace const& place) {
  if (f.listing()) {
    f.rows().push_back(
        {"pools", "map of names", "", "GPUs given to roles; without it all share the cluster", false, true});
    Fields inner(f.rows(), "pools.<name>");
    Pool pool;
    describe_pool(inner, pool, place.catalog);
    return true;
  }
  bool good = true;
  f.custom("pools", "map of names", "", "GPUs given to roles", [&](Value const& v) {
    std::size_t const before = f.reading().problems.size();
    if (v.kind != ValueKind::map || v.entries.empty()) {
      f.problem(v.mark, "pools", "not a map of pools",
                "write for example pools: {train: {nodes: 1}, rollout: {nodes: 1}}");
      good = false;
      return;
    }
    for (Entry const& e : v.entries) {
      Pool pool{e.key, job.cluster, false};
      if (e.value.kind != ValueKind::map) {
        f.problem(e.value.mark, "pools", fmt::format("pool {} is not a map", shown(e.key)),
                  "write for example {nodes: 1}");
        continue;
      }
      Fields inner(f.reading(), &e.value, "pools." + e.key, e.mark, "default");
      describe_pool(inner, pool, place.catalog);
      inner.finish();
      job.pools.push_back(std::move(pool));
    }
    if (f.reading().problems.size() == before) check_sum(f, job, v.mark);
    good = f.reading().problems.size() == before;
  });
  return good;
}

void read_pool(Fields& f, std::string_view key, Job const& job, int& pool, std::string_view meaning) {
  f.custom(key, "name of a pool", "", meaning, [&](Value const& v) {
    std::vector<std::string_view> names;
    for (Pool const& p : job.pools) names.emplace_back(p.name);
    auto const found = std::find(names.begin(), names.end(), v.text);
    if (v.kind == ValueKind::scalar && found != names.end()) {
      pool = static_cast<int>(found - names.begin());
      f.origin(key, std::string(v.text));
      return;
    }
    std::string_view const near = nearest(v.text, names);
    f.problem(v.mark, key, fmt::format("there is no pool '{}'", shown(v.text)),
              names.empty()  ? "name the pools: pools: {train: {nodes: 1}, rollout: {nodes: 1}}"
              : near.empty() ? "write " + one_of(names)
                             : fmt::format("did you mean {}?", near));
  });
}

void read_placement(Fields& f, Job& job) {
  RolePools& p = job.role_pools;
  p.critic = p.reference = p.reward = p.actor;
  f.group("placement", "pools of the other roles; default: that of train", [&](Fields& g) {
    read_pool(g, "critic", job, p.critic, "the critic's (ppo)");
    read_pool(g, "reference", job, p.reference, "the reference model's");
    read_pool(g, "reward", job, p.reward, "the reward model's");
  });
  if (f.listing() || !has_rollout(job.algorithm) || colocated(job)) return;
  keep_states_on_gpu(f, job.framework);
}

}  // namespace rollcast
