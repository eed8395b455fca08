#include "sim/way.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace rollcast {

void Way::add(LinkId link, double share) {
  if (link < 0) throw std::logic_error("a communication over a cable that is not there");
  if (!c_.is_constraint[std::size_t(link)]) return;
  found_.push_back({link, share});
}

void Way::along(Cable const& cable, Heading heading, double share) {
  add(heading == Heading::out ? cable.up : cable.down, share);
}

void Way::against(Cable const& cable, Heading heading, double share) {
  add(heading == Heading::out ? cable.down : cable.up, share);
}

void Way::gpu_to_gpu(int from, int to, double share) {
  if (c_.spec.node.interconnect == Interconnect::nvswitch) {
    add(c_.gpu_nvlink[std::size_t(from)].up, share);
    add(c_.gpu_nvlink[std::size_t(to)].down, share);
    return;
  }
  if (are_bridged(from, to)) {
    add(c_.gpu_nvlink[std::size_t(from)].up, share);
    return;
  }
  int const a = c_.switch_of(from), b = c_.switch_of(to);
  bool const through_memory = !c_.spec.node.peer_access;
  add(c_.gpu_pcie[std::size_t(from)].up, share);
  add(c_.gpu_pcie[std::size_t(to)].down, share);
  if (a == b && !through_memory) return;
  add(c_.switch_upstream[std::size_t(a)].up, share);
  add(c_.switch_upstream[std::size_t(b)].down, share);
  if (through_memory) add(c_.numa_memory[std::size_t(c_.numa_of(from))], 2 * share);
  between_numa(c_.numa_of(from), c_.numa_of(to), Heading::out, share);
}

void Way::gpu_and_nic(int gpu, int nic, Heading heading, double share) {
  if (!c_.spec.node.peer_access || !c_.spec.fabric.gpu_direct) {
    gpu_and_memory(gpu, heading, share);
    memory_and_nic(c_.numa_of(gpu), nic, heading, share);
    return;
  }
  int const own = c_.switch_of(gpu), other = c_.switch_of_nic(nic);
  along(c_.gpu_pcie[std::size_t(gpu)], heading, share);
  if (own != other) {
    along(c_.switch_upstream[std::size_t(own)], heading, share);
    between_numa(c_.numa_of_switch(own), c_.numa_of_switch(other), heading, share);
    against(c_.switch_upstream[std::size_t(other)], heading, share);
  }
  against(c_.nic_pcie[std::size_t(nic)], heading, share);
}

void Way::gpu_and_memory(int gpu, Heading heading, double share) {
  along(c_.gpu_pcie[std::size_t(gpu)], heading, share);
  along(c_.switch_upstream[std::size_t(c_.switch_of(gpu))], heading, share);
  add(c_.numa_memory[std::size_t(c_.numa_of(gpu))], share);
}

void Way::memory_and_nic(int numa, int nic, Heading heading, double share) {
  int const s = c_.switch_of_nic(nic);
  add(c_.numa_memory[std::size_t(numa)], share);
  between_numa(numa, c_.numa_of_switch(s), heading, share);
  against(c_.switch_upstream[std::size_t(s)], heading, share);
  against(c_.nic_pcie[std::size_t(nic)], heading, share);
}

void Way::memory_and_storage_nic(int numa, int nic, Heading heading, double share) {
  add(c_.numa_memory[std::size_t(numa)], share);
  between_numa(numa, c_.numa_of_storage_nic(nic), heading, share);
  against(c_.storage_nic_pcie[std::size_t(nic)], heading, share);
}

void Way::memory_and_drives(int numa, int host, Heading heading, double share) {
  if (c_.drives.empty()) throw std::logic_error("a node without local drives");
  add(c_.numa_memory[std::size_t(numa)], share);
  between_numa(numa, c_.numa_of_drives(host), heading, share);
  along(c_.drives[std::size_t(host)], heading, share);
}

void Way::nic_to_nic(int from, int to, double share) {
  Network const& n = c_.network;
  add(n.nic[std::size_t(from)].up, share);
  add(n.nic[std::size_t(to)].down, share);
  int const a = n.leaf[std::size_t(from)], b = n.leaf[std::size_t(to)];
  if (a == b) return;
  add(n.leaf_uplink[std::size_t(a)].up, share);
  add(n.leaf_uplink[std::size_t(b)].down, share);
}

void Way::nic_and_spine(Network const& network, int nic, Heading heading, double share) {
  along(network.nic.at(std::size_t(nic)), heading, share);
  along(network.leaf_uplink[std::size_t(network.leaf[std::size_t(nic)])], heading, share);
}

void Way::spine_and_file_system(Heading heading, double share) { along(c_.file_system, heading, share); }

void Way::between_numa(int from, int to, Heading heading, double share) {
  if (heading == Heading::in) std::swap(from, to);
  for (int n = from; n < to; ++n) add(c_.socket[std::size_t(n)].up, share);
  for (int n = from; n > to; --n) add(c_.socket[std::size_t(n - 1)].down, share);
}

bool Way::are_bridged(int a, int b) const {
  return c_.spec.node.interconnect == Interconnect::nvlink_pairs && c_.node_of(a) == c_.node_of(b) &&
         a % c_.spec.node.gpus / 2 == b % c_.spec.node.gpus / 2;
}

Crossings Way::result() && {
  std::stable_sort(found_.begin(), found_.end(),
                   [](Crossing const& a, Crossing const& b) { return a.link < b.link; });
  Crossings out;
  for (Crossing const& c : found_) {
    if (out.empty() || out.back().link != c.link) {
      out.push_back(c);
    } else {
      out.back().share += c.share;
    }
  }
  return out;
}

}  // namespace rollcast
