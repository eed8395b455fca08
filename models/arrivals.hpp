// The requests that a serving run is sent: when, how long, of which adapter.
//
// Gaps between arrivals, the first request at 0:
//   poisson  -ln(u) / rate
//   bursts   gamma-distributed with mean 1 / rate and coefficient of variation c: shape 1 / c^2, scale
//            c^2 / rate; equal gaps where c is 0. Drawn as in Marsaglia and Tsang (2000): A simple method for
//            generating gamma variables, ACM Transactions on Mathematical Software 26(3); below shape 1 as
//            G(shape + 1) u^(1 / shape).
//   trace    as recorded, over `speed`
//   closed   none: every request is there at 0, and who drives holds back all but `users`
// Draws are keyed by the number of the request alone, so that it is the same request in a longer run.
#pragma once

#include <cstdint>
#include <vector>

#include "models/job.hpp"

namespace rollcast {

// In order of arrival. A trace's rows must be: its lengths are used as they are, and so are its adapters
// where some row names one; a row that names none then asks for the base model alone. Where no row does,
// adapters are drawn, as lengths of other arrivals are from the workload. std::logic_error: no adapters, a
// rate or speed of 0.
std::vector<ServeRequest> serve_requests(ServeOptions const& serve, Workload const& workload,
                                         std::uint64_t seed);

// Chance of each adapter to be the one that a request asks for: 1 / count (uniform and, over whole rounds,
// distinct), weight over the sum of weights (zipf), 1 and 0 (identical).
std::vector<double> adapter_shares(ServedAdapters const& adapters);

// Prompt and response together of the longest request: of a trace, its longest row; else the longest prompt
// with the longest response; 0: unbounded.
std::int64_t longest_request(ServeOptions const& serve, Workload const& workload);

}  // namespace rollcast
