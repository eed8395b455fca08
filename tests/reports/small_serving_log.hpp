// A log of five served requests, small enough to work out every figure by hand.
#pragma once

#include "sim/event_log.hpp"

namespace rollcast {

// Two engines of two GPUs each serve for 10 s; engine 0 is in steps for 8 s of it, engine 1 for 7 s.
//
//   adapter  engine  arrival  first token  finish  prompt  response    TTFT  TPOT  latency  in time
//      0        0        0          1         5      100        5         1     1       5     no: TPOT
//      1        1        1          1.5       3.5    100        5       0.5   0.5     2.5     yes
//      0        0        2          4         4       50        1         2     -       2     yes
//      2        1        3          6        10      200        9         3   0.5       7     yes
//    none       0        4          8        10       50        3         4     1       6     no
//
// In time: first token within 3 s, 0.75 s a token after it.
EventLog small_serving_log();

}  // namespace rollcast
