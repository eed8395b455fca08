// Which links data crosses between GPUs or host memory and storage. Storage is reached through the memory of
// a host (GPUDirect Storage is not modelled).
//
//   drives of the host     memory, the sockets to the first NUMA node of the host, the drives
//   shared file system     memory, the NICs of the second network or, without one, those for training
//   traffic,
//                          their leaf, the spine, the file system
//
// The stream is what is written (Heading::out) or read (Heading::in).
#pragma once

#include "sim/crossings.hpp"

namespace rollcast {

enum class StoragePlace { local, shared };

// Between a GPU's memory and storage: its memory link is crossed twice, in and out again. The network card is
// the nearest one of the second network, or the GPU's own, in equal parts.
Crossings gpu_storage_crossings(Cluster const& cluster, int gpu, StoragePlace place, Heading heading);

// Between the host memory of a node and storage: in equal parts over the drives of its hosts, or over its
// network cards, each part from the memory of the NUMA node that it hangs on.
Crossings node_storage_crossings(Cluster const& cluster, int node, StoragePlace place, Heading heading);

// A node or cluster without such storage, a GPU or node that is not there: std::logic_error.

// Whether the cluster has it.
bool has_storage(Cluster const& cluster, StoragePlace place);

}  // namespace rollcast
