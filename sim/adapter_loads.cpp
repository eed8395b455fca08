#include "sim/adapter_loads.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <stdexcept>
#include <utility>

#include "models/adapter_memory.hpp"
#include "sim/storage_crossings.hpp"

namespace rollcast {
namespace {

// Slowest link of copies that start together, seconds a byte.
Seconds slowest(Cluster const& cluster, std::vector<Crossings> const& copies) {
  std::map<LinkId, double> sum;
  for (Crossings const& way : copies) {
    for (Crossing const& c : way) sum[c.link] += c.share;
  }
  double most = 0;
  for (auto const& [link, share] : sum)
    most = std::max(most, share / cluster.capacity[static_cast<std::size_t>(link)].value);
  return Seconds(most);
}

AdapterCopy copy_of_variant(Job const& job, Profile const& profile, AdapterVariant const& v) {
  AdapterCopy c;
  c.whole = adapter_bytes(job.model, v);
  c.on_rank = adapter_rank_bytes(job.model, job.rollout, v, job.serve->adapters.fully_sharded);
  c.first_call = Seconds(profile.kernel_launch.value);
  c.calls = static_cast<double>(adapter_factors(job.model, job.rollout, v)) * c.first_call;
  return c;
}

}  // namespace

AdapterRoutes adapter_routes(Engine& engine, Job const& job, Profile const& profile) {
  ServedAdapters const& adapters = job.serve->adapters;
  Cluster const cluster = build_cluster(job.cluster, profile);
  AdapterRoutes routes;
  routes.ranks = job.rollout.parallel.ranks_per_replica();
  std::vector<Traffic> traffics;
  for (int e = 0; e < rollout_engines(job); ++e) {
    Traffic traffic{"adapters of an engine", {}};
    auto& nodes = routes.nodes_of_engine.emplace_back();
    for (int rank = e * routes.ranks; rank < (e + 1) * routes.ranks; ++rank) {
      traffic.copies.push_back(host_copy_crossings(cluster, rank, Direction::host_to_device));
      if (nodes.empty() || nodes.back() != cluster.node_of(rank)) nodes.push_back(cluster.node_of(rank));
    }
    if (e == 0) routes.per_byte = slowest(cluster, traffic.copies);
    traffics.push_back(std::move(traffic));
  }
  bool const from_storage = adapters.host_adapters > 0 && adapters.host_adapters < adapters.count;
  StoragePlace const place =
      adapters.storage == AdapterStorage::local ? StoragePlace::local : StoragePlace::shared;
  for (int node = 0; from_storage && node < job.cluster.nodes; ++node)
    traffics.push_back({"adapters of a node", {node_storage_crossings(cluster, node, place, Heading::in)}});
  auto parts = build_platform(engine, cluster, traffics);
  auto const engines = static_cast<std::ptrdiff_t>(routes.nodes_of_engine.size());
  routes.of_node.assign(parts.begin() + engines, parts.end());
  parts.resize(static_cast<std::size_t>(engines));
  routes.of_engine = std::move(parts);
  for (AdapterVariant const& v : adapters.variants)
    routes.variants.push_back(copy_of_variant(job, profile, v));
  return routes;
}

Seconds cold_load(AdapterRoutes const& routes, int variant) {
  AdapterCopy const& c = routes.variants[static_cast<std::size_t>(variant)];
  return max(c.calls, c.first_call + c.on_rank.value * routes.per_byte);
}

AdapterLoads::AdapterLoads(Engine& engine, AdapterRoutes const& routes, ServedAdapters const& adapters)
    : engine_(engine),
      routes_(routes),
      storage_loads_(routes.of_engine.size()),
      moved_(routes.of_engine.size()) {
  if (routes.of_node.empty()) return;
  held_ = static_cast<std::size_t>(adapters.host_adapters);
  nodes_.resize(routes.of_node.size());
  for (Node& n : nodes_) n.adapters.resize(static_cast<std::size_t>(adapters.count));
}

void AdapterLoads::start(int engine, int adapter) {
  std::size_t load = loads_.size();
  if (free_.empty()) {
    loads_.emplace_back();
  } else {
    load = free_.back();
    free_.pop_back();
  }
  auto const& nodes = routes_.nodes_of_engine[static_cast<std::size_t>(engine)];
  loads_[load] = {{engine, adapter}, static_cast<int>(nodes.size()), 0, false, {}};
  ++under_way_;
  moved_[static_cast<std::size_t>(engine)] += copy_of(adapter).on_rank * routes_.ranks;
  if (held_ == 0) return copy(load);
  for (int const n : nodes) {
    nodes_[static_cast<std::size_t>(n)].asked.push_back(load);
    give_asked(n);
  }
}

void AdapterLoads::give_asked(int node) {
  std::deque<std::size_t>& asked = nodes_[static_cast<std::size_t>(node)].asked;
  while (!asked.empty() && give(node, asked.front())) asked.pop_front();
}

bool AdapterLoads::give(int node, std::size_t load) {
  Node& n = nodes_[static_cast<std::size_t>(node)];
  int const adapter = loads_[load].what.adapter;
  Held& held = n.adapters[static_cast<std::size_t>(adapter)];
  if (held.place == Place::storage) {
    if (!make_room(n)) return false;
    read(node, adapter);
  }
  ++held.copies;
  n.recent.splice(n.recent.begin(), n.recent, held.at);
  if (held.place == Place::host) {
    have(load);
    return true;
  }
  held.waiting.push_back(load);
  Load& l = loads_[load];
  if (!l.from_storage) ++storage_loads_[static_cast<std::size_t>(l.what.engine)];
  l.from_storage = true;
  return true;
}

void AdapterLoads::have(std::size_t load) {
  if (--loads_[load].nodes_left == 0) copy(load);
}

bool AdapterLoads::make_room(Node& node) {
  if (node.recent.size() < held_) return true;
  for (auto last = node.recent.rbegin(); last != node.recent.rend(); ++last) {
    Held& held = node.adapters[static_cast<std::size_t>(*last)];
    if (held.copies > 0) continue;
    held.place = Place::storage;
    node.recent.erase(held.at);
    return true;
  }
  return false;
}

void AdapterLoads::read(int node, int adapter) {
  Node& n = nodes_[static_cast<std::size_t>(node)];
  Held& held = n.adapters[static_cast<std::size_t>(adapter)];
  held.place = Place::coming;
  held.at = n.recent.insert(n.recent.begin(), adapter);
  auto const left = std::make_shared<int>(0);
  for (FlowPart const& part : routes_.of_node[static_cast<std::size_t>(node)]) {
    ++*left;
    engine_.flow(part.route, copy_of(adapter).whole * part.share, "adapter from storage",
                 [this, node, adapter, left] {
                   if (--*left == 0) come(node, adapter);
                 });
  }
}

void AdapterLoads::come(int node, int adapter) {
  Held& held = nodes_[static_cast<std::size_t>(node)].adapters[static_cast<std::size_t>(adapter)];
  held.place = Place::host;
  for (std::size_t const load : std::exchange(held.waiting, {})) have(load);
}

void AdapterLoads::copy(std::size_t load) {
  Load& l = loads_[load];
  l.began = engine_.now();
  AdapterCopy const& c = copy_of(l.what.adapter);
  engine_.at(l.began + c.first_call, [this, load, stream = c.on_rank] {
    auto const& parts = routes_.of_engine[static_cast<std::size_t>(loads_[load].what.engine)];
    loads_[load].flows_left = static_cast<int>(parts.size());
    if (parts.empty()) return end_flows(load);
    for (FlowPart const& part : parts) {
      engine_.flow(part.route, stream * part.share, "adapter", [this, load] {
        if (--loads_[load].flows_left == 0) end_flows(load);
      });
    }
  });
}

void AdapterLoads::end_flows(std::size_t load) {
  Load const& l = loads_[load];
  Seconds const called = l.began + copy_of(l.what.adapter).calls;
  if (!(engine_.now() < called)) return finish(load);
  engine_.at(called, [this, load] { finish(load); });
}

void AdapterLoads::finish(std::size_t load) {
  Loaded const what = loads_[load].what;
  free_.push_back(load);
  loaded_.push_back(what);
  for (int const n : routes_.nodes_of_engine[static_cast<std::size_t>(what.engine)]) {
    if (held_ == 0) break;
    --nodes_[static_cast<std::size_t>(n)].adapters[static_cast<std::size_t>(what.adapter)].copies;
    give_asked(n);
  }
  engine_.wake(arrived_);
}

std::vector<AdapterLoads::Loaded> AdapterLoads::take() {
  under_way_ -= static_cast<int>(loaded_.size());
  return std::exchange(loaded_, {});
}

}  // namespace rollcast
