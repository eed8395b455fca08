// What a serving run comes to: latencies, throughput, goodput, what the adapters cost, and how evenly tenants
// are served. Pure; n requests take O(n).
//
// Of a request:
//   TTFT     first token - arrival: waiting, loads of its adapter and its prefill
//   TPOT     (finish - first token) / (response - 1), of responses of two tokens and more
//   latency  finish - arrival
// Quantiles by linear interpolation between order statistics, as in StepTimes. Rates are over the span from
// the first arrival to the last finish. A request is in time if it meets every limit that the objective asks;
// a response of one token meets any TPOT. Goodput: requests in time per second of the span.
//
// A tenant is an adapter with a request (-1: the base model's requests together). It is served at
//   rate = its response tokens / the sum of its latencies,
// tokens per second of waiting for them, and fairness is Jain's index of the rates of n tenants,
//   (sum of rates)^2 / (n x sum of rates^2): 1 where all are served alike, 1/n where one alone is.
//
// GPU time of a request: GPUs x run / requests, in five parts, an engine's time counted with its GPUs.
//   base      steps, as the base model alone takes them
//   adapters  what adapters add to steps: their kernels, or the further forwards of split batches
//   loads     no step goes on while an adapter is loaded
//   switches  an adapter out of the weights, another one in
//   idle      the rest
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/serving_log.hpp"

namespace rollcast {

struct LatencyFigures {
  Seconds mean;
  Seconds p50;
  Seconds p90;
  Seconds p99;
  Seconds max;
};

struct TenantFigures {
  int adapter = -1;
  std::int64_t requests = 0;
  Seconds mean_latency;
  Seconds p99_latency;
  double rate = 0;
};

enum class ServingTime { base, adapters, loads, switches, idle };
inline constexpr std::size_t kServingTimes = 5;
std::string_view name_of(ServingTime t);
using ServingTimes = std::array<Seconds, kServingTimes>;  // GPU-seconds of a request

struct ServingFigures {
  AdapterExecution execution = AdapterExecution::batched;
  AdapterPool pool = AdapterPool::fixed;
  std::int64_t requests = 0;  // 0: the others mean nothing
  std::int64_t prompt_tokens = 0;
  std::int64_t response_tokens = 0;
  Seconds span;
  double requests_per_second = 0;
  double offered = 0;  // requests a second until the last one has come; 0: all came at once
  double output_tokens_per_second = 0;
  double total_tokens_per_second = 0;  // prompts and responses
  LatencyFigures ttft;
  std::optional<LatencyFigures> tpot;  // absent: no response has two tokens
  LatencyFigures latency;
  double in_flight = 0;  // requests that arrived and are not finished, mean over the span
  double waiting = 0;    // of these, without a first token

  ServiceObjective objective;
  std::int64_t in_time = 0;
  double in_time_share = 0;
  double goodput = 0;

  int adapters = 0;
  int used = 0;                             // of them, with a request
  std::optional<double> distinct_per_step;  // absent: steps were not counted
  AdapterUse use;                           // sums over the engines; peaks are the largest of one
  std::optional<double> hit_share;          // of the requests with one, that found it there
  ServingTimes times{};

  int tenants = 0;
  double fairness = 0;
  std::vector<TenantFigures> slowest;         // by mean latency, the worst first; at most kTenantsShown
  std::vector<TenantFigures> slowest_by_p99;  // likewise

  int slots = 0;  // fixed
  Bytes slot;     // on a rank
  Bytes wasted;   // of all slots of a rank
  std::vector<AdapterFacts> variants;
};
inline constexpr std::size_t kTenantsShown = 5;

// Whether any limit is asked.
bool asks(ServiceObjective const& o);
// Absent: of a response of one token.
std::optional<Seconds> tpot_of(ServedRequest const& r);
bool is_in_time(ServedRequest const& r, ServiceObjective const& o);

// run: time that the GPUs were there for it.
ServingFigures serving_figures(ServingLog const& log, Seconds run, std::int64_t gpus);

// The GPU time of a request, one part.
Seconds time_of(ServingTimes const& t, ServingTime part);
// What adapters add to steps, of the time in steps; absent: no step was counted.
std::optional<double> kernel_share(ServingFigures const& f);

}  // namespace rollcast
