// Staleness: how many weight updates lie between the policy that sampled a response (its first token) and the
// one that trains on it. Its distribution over samples, and its mean in a toy that has a closed form.
#pragma once

#include <cstdint>
#include <vector>

#include "models/units.hpp"

namespace rollcast {

struct StalenessCounts {
  std::vector<std::int64_t> samples;  // [k]: k versions old
};

// std::logic_error: a sample newer than the policy that trains on it.
void add(StalenessCounts& counts, std::int64_t sampled_by, std::int64_t trained_by, std::int64_t samples = 1);
void add(StalenessCounts& counts, StalenessCounts const& more);
std::int64_t total(StalenessCounts const& counts);
double mean(StalenessCounts const& counts);        // 0 of none
std::int64_t most(StalenessCounts const& counts);  // largest with a sample; 0 of none

// The version at t: updates at or before it. updates ascends.
std::int64_t version_at(std::vector<Seconds> const& updates, Seconds t);

// A toy: every sample takes `service` seconds S, `in_flight` n of them are always being generated, evenly
// staggered: sample j starts at j q with q = S / n (from j = n on when sample j - n ends) and ends at j q +
// S. The trainer takes each `batch` B of them, in order, as soon as they are there, and has the new version
// in the engines `update` seconds D later, without interrupting any. The trainer keeps up: D <= B q.
//
// Batch k (j = k B .. k B + B - 1) is trained by version k. It is complete, and the trainer free, at
// S + ((k + 1) B - 1) q, so version k + 1 is there at S + ((k + 1) B - 1) q + D. Sample j therefore starts
// with the number of k >= 0 with
//   S + ((k + 1) B - 1) q + D <= j q,   that is   (k + 1) B <= j - x   with   x = n - 1 + D / q,
// so, after the start, with version floor((j - x) / B) = floor((j - ceil(x)) / B), and it is
// floor(j / B) - floor((j - ceil(x)) / B) old. Over B consecutive j the mean of that is ceil(x) / B exactly:
//   mean staleness = (n - 1 + ceil(n D / S)) / B.
struct FixedService {
  std::int64_t in_flight = 1;
  std::int64_t batch = 1;
  Seconds service;
  Seconds update;
};

// std::logic_error: a number below 1, no service time, a trainer that does not keep up.
double mean_staleness(FixedService const& toy);

}  // namespace rollcast
