// What of a long run with random failures is progress: simulated, and by the formulas of Young and Daly.
//
// The cluster fails as a whole with a constant rate, also while it recovers (a superposition of many
// independent GPUs; exponential, so that a new node is no better than an old one). After `every` steps comes
// a checkpoint: training waits for it, and for what is left of the write before it; it counts `write` later.
// A failure loses all work since the last checkpoint that counts, then come detection, a node where none
// stands by, relaunch and load.
#pragma once

#include <cstdint>

#include "models/units.hpp"

namespace rollcast {

struct LongRun {
  Seconds step;        // without checkpoints
  Seconds checkpoint;  // training waits so long
  Seconds write;       // and it counts so much later
  Seconds detection;
  Seconds relaunch;
  Seconds load;
  Seconds between_failures;  // mean, of the whole cluster
  int spares = 0;            // nodes that stand by at the start
  Seconds replacement;       // from detection until another node stands by; 0: at once, spares or not
  Seconds horizon;           // of the run, wall clock

  Seconds restart() const { return detection + relaunch + load; }
};

// Where the wall clock goes; the four times add up to the horizon.
struct RunTimes {
  Seconds useful;       // steps that count at the end
  Seconds lost;         // steps that were done again, or in vain
  Seconds checkpoints;  // training waited for them
  Seconds recovery;     // of it `waiting` for nodes
  Seconds waiting;
  double failures = 0;
};

// One run with a checkpoint after every `every` steps. Times of failures depend on seed and number alone, so
// that two intervals meet the same ones. every < 1, no time of a step or between failures: std::logic_error.
RunTimes simulate_run(LongRun const& run, int every, std::uint64_t seed, std::uint32_t number);

struct Spread {
  double mean = 0;
  double p10 = 0;
  double p90 = 0;
  double error = 0;  // of the mean, standard
};

struct Goodput {
  Spread share;  // useful over horizon
  Spread failures;
  RunTimes mean;
};
// Over `runs` runs; fewer than two: std::logic_error.
Goodput simulate_goodput(LongRun const& run, int every, int runs, std::uint64_t seed);

// Useful share in the long run where nodes are never waited for. Between two failures a mean of
// e^(-(t + d + w)/M) / (1 - e^(-P/M)) checkpoints count, t = every x step, d and w checkpoint and write,
// P = t + d + max(0, w - t); a failure and its recovery R, itself repeated after a failure, come every
// M e^(R/M). With w = 0 this is Daly's t / (M e^(R/M) (e^((t + d)/M) - 1)) (J. T. Daly, A higher order
// estimate of the optimum checkpoint interval for restart dumps, FGCS 22, 2006).
double expected_goodput(LongRun const& run, int every);

// Work between two checkpoints that costs least: sqrt(2 d M) (J. W. Young, A first order approximation to the
// optimum checkpoint interval, CACM 17, 1974); Daly's, of higher order: sqrt(2 d M) (1 +
// sqrt(d / 2M) / 3 + (d / 2M) / 9) - d for d < 2M, else M.
Seconds young_interval(Seconds checkpoint, Seconds between_failures);
Seconds daly_interval(Seconds checkpoint, Seconds between_failures);

// Daly's in whole steps, at least one and not shorter than the write behind training.
int daly_every(LongRun const& run);
// The best of intervals around that one (a quarter of an octave apart, from a third of it to three times),
// by simulation of `runs` runs each.
int best_every(LongRun const& run, int runs, std::uint64_t seed);

}  // namespace rollcast
