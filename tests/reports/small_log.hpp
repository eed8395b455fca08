// A log small enough to work out every figure by hand: two steps of 100 s and 120 s on four GPUs.
#pragma once

#include "sim/event_log.hpp"

namespace rollcast {

// Pool "main": 4 GPUs of 1e15 FLOP/s, 2e12 B/s, 80 GiB. Class 0: ranks 0-1 on node 0; class 1: ranks 2-3 on
// node 1.
//
//   step 0      generate 0-60             update_actor 60-90                              weight_sync 90-100
//   ranks 0-1   compute 0-60              compute 60-80, communication 75-85, wait 85-90  copy 90-100
//   ranks 2-3   compute 0-40, tail 40-60  compute 60-90                                   copy 90-98
//
// Step 1 starts at 100 s and is the same with generate 20 s longer (ranks 2-3 still compute for 40 s).
// Of each step: 10 samples are generated and 8 trained on, 4 of them with a signal, 6 fresh and 2 a weight
// update old; 8800 of the 11000 tokens of the update are no padding.
EventLog small_log();

// The same with an out-of-memory of rank 3 in update_actor of step 0, at 61.25 s: 4 GiB of logits, 1 GiB
// free.
EventLog small_log_with_oom();
// small_log() whose scenario asks for ten days with a failure a day and a checkpoint every 30 steps.
EventLog small_log_of_a_long_run();

}  // namespace rollcast
