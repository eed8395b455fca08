#include "reports/serving_columns.hpp"

namespace rollcast {
namespace {

using F = ServingFigures const&;

std::optional<double> if_asked(F f, double v) { return asks(f.objective) ? std::optional(v) : std::nullopt; }

std::optional<double> of_tpot(F f, Seconds LatencyFigures::*part) {
  return f.tpot ? std::optional(((*f.tpot).*part).value) : std::nullopt;
}

template <ServingTime part>
std::optional<double> gpu_seconds(F f) {
  return time_of(f.times, part).value;
}

struct Named {
  std::string_view name;
  std::optional<double> (*of)(F);
};

// In order of ServingColumn.
constexpr Named kColumns[] = {
    {"requests", [](F f) { return std::optional(static_cast<double>(f.requests)); }},
    {"requests_per_second", [](F f) { return std::optional(f.requests_per_second); }},
    {"output_tokens_per_second", [](F f) { return std::optional(f.output_tokens_per_second); }},
    {"total_tokens_per_second", [](F f) { return std::optional(f.total_tokens_per_second); }},
    {"goodput", [](F f) { return if_asked(f, f.goodput); }},
    {"in_time_share", [](F f) { return if_asked(f, f.in_time_share); }},
    {"ttft_mean", [](F f) { return std::optional(f.ttft.mean.value); }},
    {"ttft_p50", [](F f) { return std::optional(f.ttft.p50.value); }},
    {"ttft_p90", [](F f) { return std::optional(f.ttft.p90.value); }},
    {"ttft_p99", [](F f) { return std::optional(f.ttft.p99.value); }},
    {"tpot_mean", [](F f) { return of_tpot(f, &LatencyFigures::mean); }},
    {"tpot_p50", [](F f) { return of_tpot(f, &LatencyFigures::p50); }},
    {"tpot_p90", [](F f) { return of_tpot(f, &LatencyFigures::p90); }},
    {"tpot_p99", [](F f) { return of_tpot(f, &LatencyFigures::p99); }},
    {"latency_mean", [](F f) { return std::optional(f.latency.mean.value); }},
    {"latency_p50", [](F f) { return std::optional(f.latency.p50.value); }},
    {"latency_p90", [](F f) { return std::optional(f.latency.p90.value); }},
    {"latency_p99", [](F f) { return std::optional(f.latency.p99.value); }},
    {"fairness", [](F f) { return std::optional(f.fairness); }},
    {"adapters_used", [](F f) { return std::optional(static_cast<double>(f.used)); }},
    {"distinct_per_step", [](F f) { return f.distinct_per_step; }},
    {"loads", [](F f) { return std::optional(static_cast<double>(f.use.loads)); }},
    {"hit_share", [](F f) { return f.hit_share; }},
    {"evictions", [](F f) { return std::optional(static_cast<double>(f.use.evictions)); }},
    {"moved_bytes", [](F f) { return std::optional(f.use.moved.value); }},
    {"load_seconds", [](F f) { return std::optional(f.use.load_time.value); }},
    {"load_exposed_seconds", [](F f) { return std::optional(f.use.exposed.value); }},
    {"switches", [](F f) { return std::optional(static_cast<double>(f.use.switches)); }},
    {"switch_seconds", [](F f) { return std::optional(f.use.switch_time.value); }},
    {"kernel_share", [](F f) { return kernel_share(f); }},
    {"gpu_seconds_base", gpu_seconds<ServingTime::base>},
    {"gpu_seconds_adapters", gpu_seconds<ServingTime::adapters>},
    {"gpu_seconds_loads", gpu_seconds<ServingTime::loads>},
    {"gpu_seconds_switches", gpu_seconds<ServingTime::switches>},
    {"gpu_seconds_idle", gpu_seconds<ServingTime::idle>},
};
static_assert(std::size(kColumns) == kServingColumns &&
              kServingColumns == static_cast<std::size_t>(ServingColumn::gpu_seconds_idle) + 1);

}  // namespace

std::string_view name_of(ServingColumn c) { return kColumns[static_cast<std::size_t>(c)].name; }

std::optional<ServingHeadline> serving_headline(ServingFigures const& f) {
  if (f.requests == 0) return std::nullopt;
  ServingHeadline h{f.execution, f.pool, f.objective, {}};
  for (std::size_t i = 0; i < kServingColumns; ++i) h.values[i] = kColumns[i].of(f);
  return h;
}

std::optional<ServingColumn> serving_column(std::string_view name) {
  for (std::size_t i = 0; i < kServingColumns; ++i) {
    if (kColumns[i].name == name) return static_cast<ServingColumn>(i);
  }
  return std::nullopt;
}

}  // namespace rollcast
