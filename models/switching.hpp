// Colocated switching: what a phase moves between GPU and host on one rank before and after its own work.
//
// From the framework's options and the rank's ledger lines (bytes of trainer weights, master weights and
// optimizer states, engine weights):
//   sleep        engine weights to the host (sleep level 1), or dropped (level 2)
//   wake         engine weights back (level 1); level 2 gets them by weight_sync
//   old_logprob  trainer weights to the GPU, where they were offloaded; in an order without it the same
//                before the first of reference and update_actor
//   reference    trainer weights to the host (if they are not there) and reference weights in, afterwards the
//                trainer's back (swap in place)
//   update_actor master weights and optimizer states to the GPU
//   weight_sync  master weights and optimizer states to the host before, trainer weights after
#pragma once

#include <string>
#include <vector>

#include "models/job.hpp"
#include "models/ledger.hpp"
#include "models/prices.hpp"

namespace rollcast {

struct HostCopy {
  Direction direction = Direction::device_to_host;
  Bytes bytes;       // of one rank
  std::string what;  // "trainer weights"
  bool pinned = true;
};

struct Switching {
  std::vector<HostCopy> before;
  std::vector<HostCopy> after;
  Seconds fixed;  // beyond the bytes
};

Switching switching(Job const& job, RankLedger const& rank, Phase phase);

// All GPUs of a node copy at once: those behind one PCIe switch share its host link (bytes x sharers /
// achieved PCIe rate), those of one NUMA node its memory (bytes x sharers / data-sheet bandwidth, where it is
// known); the slower one tells. A copy from or to pageable memory goes through a pinned buffer of the driver
// and takes 4.5 times as long (DeepSpeed commit 7b5b066, pull 5301: pinning made the copies of ZeRO-Offload 4
// to 5 times as fast on a node of eight GPUs).
Seconds shared_copy_time(Profile const& p, Node const& node, HostCopy const& copy);

}  // namespace rollcast
