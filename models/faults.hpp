// What goes wrong in a run, and when.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "models/phase.hpp"
#include "models/units.hpp"

namespace rollcast {

enum class FaultKind {
  kill,    // the process of a rank goes
  raise,   // a Python exception ends its work
  hang,    // it lives and does no more; without a rank: the scoring of the samples
  skip,    // it runs fewer micro-batches than the others, and goes on behind them
  desync,  // it calls another collective than the others
  slow,    // its kernels take `factor` times as long
  link,    // a NIC carries `factor` of its bandwidth; 0: nothing
  server,  // a rollout engine goes, with all its ranks
  leak,    // `bytes` more are held on the GPU after every step
};
std::string_view name_of(FaultKind k);

struct Fault {
  FaultKind kind = FaultKind::kill;
  // At a time of the run; else `after` the start of the work of a phase in a step, from 0.
  std::optional<Seconds> at = {};
  int step = 0;
  Phase phase = Phase::update_actor;
  Seconds after = {};
  int pool = 0;
  std::vector<int> ranks = {};  // within the pool; of server: engines
  double factor = 1;
  int micro_batches = 1;  // of skip: fewer
  Bytes bytes = {};       // of leak
  int node = 0;           // of link
  int nic = 0;
};

}  // namespace rollcast
