#include "sim/storage_crossings.hpp"

#include <algorithm>
#include <stdexcept>

#include "sim/way.hpp"

namespace rollcast {
namespace {

void expect(bool given, char const* what) {
  if (!given) throw std::logic_error(what);
}

// Through one network card to the file system.
void add_shared(Cluster const& c, int numa, int nic, Heading heading, double share, Way& out) {
  bool const second = c.spec.storage_fabric.has_value();
  if (second) {
    out.memory_and_storage_nic(numa, nic, heading, share);
  } else {
    out.memory_and_nic(numa, nic, heading, share);
  }
  out.nic_and_spine(second ? c.storage_network : c.network, nic, heading, share);
  out.spine_and_file_system(heading, share);
}

}  // namespace

bool has_storage(Cluster const& cluster, StoragePlace place) {
  return place == StoragePlace::local ? !cluster.drives.empty() : cluster.file_system.up >= 0;
}

Crossings gpu_storage_crossings(Cluster const& cluster, int gpu, StoragePlace place, Heading heading) {
  expect(gpu >= 0 && gpu < cluster.spec.gpus(), "a GPU outside the cluster");
  expect(has_storage(cluster, place), "storage that the cluster does not have");
  Way out(cluster);
  out.gpu_and_memory(gpu, heading, 1);
  int const numa = cluster.numa_of(gpu);
  if (place == StoragePlace::local) {
    out.memory_and_drives(numa, cluster.host_of(gpu), heading, 1);
    return std::move(out).result();
  }
  bool const second = cluster.spec.storage_fabric.has_value();
  int const first = second ? cluster.storage_nic_of(gpu) : cluster.nic_of(gpu);
  int const nics = second ? 1 : cluster.nics_of(gpu);
  for (int n = 0; n < nics; ++n) add_shared(cluster, numa, first + n, heading, 1.0 / nics, out);
  return std::move(out).result();
}

Crossings node_storage_crossings(Cluster const& cluster, int node, StoragePlace place, Heading heading) {
  expect(node >= 0 && node < cluster.spec.nodes, "a node outside the cluster");
  expect(has_storage(cluster, place), "storage that the cluster does not have");
  Node const& n = cluster.spec.node;
  Way out(cluster);
  if (place == StoragePlace::local) {
    int const hosts = std::max(n.trays, 1);
    for (int host = node * hosts; host < (node + 1) * hosts; ++host)
      out.memory_and_drives(cluster.numa_of_drives(host), host, heading, 1.0 / hosts);
    return std::move(out).result();
  }
  bool const second = cluster.spec.storage_fabric.has_value();
  int const nics = second ? n.storage_nics : n.nics;
  for (int nic = node * nics; nic < (node + 1) * nics; ++nic) {
    int const numa =
        second ? cluster.numa_of_storage_nic(nic) : cluster.numa_of_switch(cluster.switch_of_nic(nic));
    add_shared(cluster, numa, nic, heading, 1.0 / nics, out);
  }
  return std::move(out).result();
}

}  // namespace rollcast
