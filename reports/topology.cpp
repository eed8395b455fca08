#include "reports/topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scenarios/text/catalog_fields.hpp"

namespace rollcast {
namespace {

struct Branch {
  std::string label;
  std::string detail;
  std::vector<Branch> below;
};

void draw(Branch const& b, std::string const& indent, std::string& out) {
  for (std::size_t i = 0; i < b.below.size(); ++i) {
    Branch const& child = b.below[i];
    bool const last = i + 1 == b.below.size();
    std::string const label = indent + (last ? "`- " : "|- ") + child.label;
    out += child.detail.empty() ? label + "\n" : fmt::format("{:<28} {}\n", label, child.detail);
    draw(child, indent + (last ? "   " : "|  "), out);
  }
}

std::string tree(Branch const& root) {
  std::string out = root.label + "\n";
  draw(root, "", out);
  return out;
}

std::string counted(std::int64_t n, std::string_view noun) {
  return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s");
}

std::string number(BytesPerSecond r) { return fmt::format("{:.4g}", r.value / 1e9); }

class Drawing {
 public:
  explicit Drawing(Cluster const& cluster)
      : c_(cluster), node_(cluster.spec.node), hosts_(std::max(cluster.spec.node.trays, 1)) {}

  std::string text() const {
    std::string out =
        fmt::format("{}: {} {}, {}; GB/s per direction, as forecasts take them\n\n", node_.name,
                    counted(c_.spec.gpus(), "GPU"), node_.gpu.name, counted(c_.spec.nodes, "node"));
    out += tree(node());
    if (!c_.network.leaf_uplink.empty()) out += "\n" + tree(network());
    if (!c_.storage_network.leaf_uplink.empty()) out += "\n" + tree(second_network());
    return out + "\n" + tree(ways());
  }

 private:
  std::string capacity(LinkId link) const { return number(c_.capacity.at(std::size_t(link))); }
  std::string up(Cable const& cable) const { return capacity(cable.up); }

  std::string read_and_write(Cable const& storage) const {
    return fmt::format("read {}, write {}", capacity(storage.down), up(storage));
  }

  Branch node() const {
    Branch out{hosts_ > 1 ? fmt::format("node of {} hosts, all alike", hosts_) : "node", "", {}};
    if (node_.interconnect == Interconnect::nvswitch)
      out.below.push_back({"NVSwitch", counted(node_.gpus, "GPU"), {}});
    if (hosts_ > 1) out.below.push_back({"host 0", "", {}});
    std::vector<Branch>& hosts = hosts_ > 1 ? out.below.back().below : out.below;
    for (int n = 0; n < node_.numa_nodes / hosts_; ++n) hosts.push_back(numa(n));
    return out;
  }

  Branch numa(int n) const {
    Branch out{fmt::format("NUMA node {}", n),
               "memory " + capacity(c_.numa_memory[std::size_t(n)]) + ", both directions together",
               {}};
    if (Cable const& next = c_.socket[std::size_t(n)]; next.up >= 0)
      out.detail += fmt::format("; {} to NUMA node {}", up(next), n + 1);
    for (int s = 0; s < c_.switches_per_node; ++s) {
      if (c_.numa_of_switch(s) == n) out.below.push_back(pcie_switch(s));
    }
    for (int i = 0; i < node_.storage_nics; ++i) {
      if (c_.numa_of_storage_nic(i) != n) continue;
      out.below.push_back({fmt::format("storage NIC {}", i),
                           card(c_.storage_nic_pcie[std::size_t(i)], c_.storage_network, i),
                           {}});
    }
    if (!c_.drives.empty() && c_.numa_of_drives(0) == n)
      out.below.push_back({"drives", read_and_write(c_.drives[0]), {}});
    return out;
  }

  Branch pcie_switch(int s) const {
    Branch out{fmt::format("PCIe switch {}", s), up(c_.switch_upstream[std::size_t(s)]) + " to the host", {}};
    for (int g = 0; g < node_.gpus; ++g) {
      if (c_.switch_of(g) == s) out.below.push_back(gpu(g));
    }
    for (int i = 0; i < node_.nics; ++i) {
      if (c_.switch_of_nic(i) != s) continue;
      out.below.push_back({fmt::format("NIC {}", i), card(c_.nic_pcie[std::size_t(i)], c_.network, i), {}});
    }
    return out;
  }

  Branch gpu(int g) const {
    auto const i = std::size_t(g);
    Branch out{fmt::format("GPU {}", g), "PCIe " + up(c_.gpu_pcie[i]), {}};
    if (c_.gpu_nvlink[i].up >= 0) {
      out.detail += ", NVLink " + up(c_.gpu_nvlink[i]);
      if (node_.interconnect == Interconnect::nvlink_pairs) out.detail += fmt::format(" to GPU {}", g ^ 1);
    }
    int const nic = c_.nic_of(g);
    if (nic < 0) return out;
    int const last = nic + c_.nics_of(g) - 1;
    out.detail += last > nic ? fmt::format(", NICs {} to {}", nic, last) : fmt::format(", NIC {}", nic);
    int const s = c_.switch_of_nic(nic);
    if (c_.numa_of_switch(s) != c_.numa_of(g)) {
      out.detail += " across the sockets";
    } else if (s != c_.switch_of(g)) {
      out.detail += " of another switch";
    }
    return out;
  }

  std::string card(Cable const& slot, Network const& network, int i) const {
    std::string out = "slot " + up(slot);
    if (network.leaf[std::size_t(i)] >= 0) out += ", network " + up(network.nic[std::size_t(i)]);
    return out;
  }

  Branch network() const {
    Fabric const& f = c_.spec.fabric;
    Branch out = levels(f, "network", c_.network);
    if (!f.gpu_direct) out.label += ", from host memory alone";
    return out;
  }
  Branch second_network() const {
    return levels(*c_.spec.storage_fabric, "second network", c_.storage_network);
  }

  Branch levels(Fabric const& f, std::string_view title, Network const& network) const {
    std::size_t const leaves = network.leaf_uplink.size();
    auto const below = std::count(network.leaf.begin(), network.leaf.end(), 0);
    bool const limits = c_.is_constraint[std::size_t(network.leaf_uplink[0].up)];
    std::string leaf = fmt::format("{} to the spine", up(network.leaf_uplink[0]));
    if (!limits) leaf += ", never the narrowest";
    Branch out{fmt::format("{} {}: {}, {}, up to {} under a leaf, oversubscription {:.6g}", title, f.name,
                           name_of(f.kind), f.rail_optimized ? "rail-optimized" : "fat tree",
                           counted(f.nodes_per_leaf, "node"), f.oversubscription),
               "",
               {}};
    if (c_.file_system.up >= 0 && (&network == &c_.storage_network || !c_.spec.storage_fabric))
      out.below.push_back({"file system", read_and_write(c_.file_system), {}});
    Branch spine{"spine", leaves > 1 ? fmt::format("{} leaves", leaves) : "one leaf", {}};
    spine.below.push_back(
        {leaves > 1 ? fmt::format("leaves 0 to {}", leaves - 1) : "leaf 0", std::move(leaf), {}});
    spine.below.back().below.push_back(
        {counted(below, "NIC"),
         "network " + up(network.nic[0]) + (f.rail_optimized ? ", of one rail" : ""),
         {}});
    out.below.push_back(std::move(spine));
    return out;
  }

  Branch ways() const {
    Branch out{"ways", "", {}};
    auto const add = [&](std::string what, std::string how) {
      out.below.push_back({std::move(what), std::move(how), {}});
    };
    std::string_view const pcie =
        node_.peer_access ? "over PCIe" : "through host memory, which carries it twice";
    switch (node_.interconnect) {
      case Interconnect::nvswitch:
        add("GPU to GPU", "over NVLink");
        break;
      case Interconnect::nvlink_pairs:
        add("GPU to GPU", fmt::format("of a pair over NVLink, else {}", pcie));
        break;
      case Interconnect::pcie:
        add("GPU to GPU", std::string(pcie));
        break;
    }
    if (node_.nics > 0) {
      bool const direct = node_.peer_access && c_.spec.fabric.gpu_direct;
      add("GPU to NIC", direct ? "directly over PCIe" : "through host memory, which carries it twice");
    }
    if (!c_.drives.empty() || c_.file_system.up >= 0 || node_.storage_nics > 0)
      add("GPU to storage", "through host memory, which carries it twice");
    return out;
  }

  Cluster const& c_;
  Node const& node_;
  int hosts_;
};

}  // namespace

std::string topology_text(Cluster const& cluster) { return Drawing(cluster).text(); }

}  // namespace rollcast
