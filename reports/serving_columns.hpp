// The figures of a serving run by name, as sweeps, comparisons and `measured:` blocks have them. Pure.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "reports/serving_figures.hpp"

namespace rollcast {

// Rates per second, times in seconds. load_ and switch_: sums over the engines; gpu_seconds_: of a request.
enum class ServingColumn {
  requests,
  requests_per_second,
  output_tokens_per_second,
  total_tokens_per_second,
  goodput,
  in_time_share,
  ttft_mean,
  ttft_p50,
  ttft_p90,
  ttft_p99,
  tpot_mean,
  tpot_p50,
  tpot_p90,
  tpot_p99,
  latency_mean,
  latency_p50,
  latency_p90,
  latency_p99,
  fairness,
  adapters_used,
  distinct_per_step,
  loads,
  hit_share,
  evictions,
  moved_bytes,
  load_seconds,
  load_exposed_seconds,
  switches,
  switch_seconds,
  kernel_share,
  gpu_seconds_base,
  gpu_seconds_adapters,
  gpu_seconds_loads,
  gpu_seconds_switches,
  gpu_seconds_idle
};
inline constexpr std::size_t kServingColumns = 35;
std::string_view name_of(ServingColumn c);

// By column. Absent: goodput and in_time_share where nothing is asked, TPOT where no response has two tokens,
// shares of nothing.
using ServingValues = std::array<std::optional<double>, kServingColumns>;

// What a headline keeps.
struct ServingHeadline {
  AdapterExecution execution = AdapterExecution::batched;
  AdapterPool pool = AdapterPool::fixed;
  ServiceObjective objective;
  ServingValues values;

  std::optional<double> operator[](ServingColumn c) const { return values[static_cast<std::size_t>(c)]; }
};

// Nothing of a run without a request.
std::optional<ServingHeadline> serving_headline(ServingFigures const& f);
std::optional<ServingColumn> serving_column(std::string_view name);

}  // namespace rollcast
