// How often a cluster fails, and what a restart takes.
#pragma once

#include "models/units.hpp"

namespace rollcast {

// Failures strike each GPU at random with a constant rate, independent of the others; each ends the run,
// which goes on from the last checkpoint.
struct ReliabilityOptions {
  // Llama 3 405B (Grattafiori et al. 2024, section 3.3.4): 419 unexpected interruptions in 54 days on 16,384
  // GPUs, 54 x 24 x 16,384 / 419 = 50,677 GPU hours each.
  Seconds mtbf_per_gpu = Seconds(50'677.0 * 3600);
  // From the failure to the end of the last process. PyTorch: a collective's timeout of 10 min
  // (torch/distributed/constants.py) and the 60 s in which its watchdog lets other ranks dump.
  Seconds detection = Seconds(660);
  Seconds relaunch;     // from there until ranks load the checkpoint: scheduler, imports, communicators
  int spares = 0;       // nodes that stand by, beside the cluster's
  Seconds replacement;  // from detection until another node is there in place of one that failed; 0: at once
  double days = 30;     // of the run that is forecast
};

}  // namespace rollcast
