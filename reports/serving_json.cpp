#include "reports/serving_json.hpp"

#include <string>

#include "reports/json_values.hpp"

namespace rollcast {
namespace {

using Json = nlohmann::ordered_json;

Json latency_json(std::optional<LatencyFigures> const& l) {
  auto const part = [&](Seconds LatencyFigures::*p) { return l ? number((*l).*p) : Json(); };
  return {{"mean", part(&LatencyFigures::mean)},
          {"p50", part(&LatencyFigures::p50)},
          {"p90", part(&LatencyFigures::p90)},
          {"p99", part(&LatencyFigures::p99)},
          {"max", part(&LatencyFigures::max)}};
}

Json objective_json(ServingFigures const& f) {
  auto const limit = [](Seconds s) { return s.value > 0 ? number(s) : Json(); };
  bool const asked = asks(f.objective);
  return {{"ttft_seconds", limit(f.objective.ttft)},
          {"tpot_seconds", limit(f.objective.tpot)},
          {"latency_seconds", limit(f.objective.latency)},
          {"in_time_share", asked ? number(f.in_time_share) : Json()},
          {"goodput", asked ? number(f.goodput) : Json()}};
}

Json adapters_json(ServingFigures const& f) {
  AdapterUse const& u = f.use;
  return {{"execution", name_of(f.execution)},
          {"count", f.adapters},
          {"used", f.used},
          {"distinct_per_step", number(f.distinct_per_step)},
          {"kernel_share", number(kernel_share(f))},
          {"loads", u.loads},
          {"storage_loads", u.storage_loads},
          {"moved_bytes", whole(u.moved)},
          {"hits", u.hits},
          {"hit_share", number(f.hit_share)},
          {"evictions", u.evictions},
          {"load_seconds", number(u.load_time)},
          {"load_exposed_seconds", number(u.exposed)},
          {"switches", u.switches},
          {"switch_seconds", number(u.switch_time)}};
}

Json memory_json(ServingFigures const& f) {
  bool const fixed = f.pool == AdapterPool::fixed;
  return {{"pool", name_of(f.pool)},
          {"slots", fixed ? Json(f.slots) : Json()},
          {"slot_bytes", fixed ? whole(f.slot) : Json()},
          {"wasted_bytes", fixed ? whole(f.wasted) : Json()},
          {"peak_resident", f.use.peak_resident},
          {"peak_pages", fixed ? Json() : Json(f.use.peak_pages)}};
}

Json variants_json(ServingFigures const& f) {
  Json out = Json::array();
  for (AdapterFacts const& v : f.variants)
    out.push_back({{"rank", v.rank},
                   {"targets", v.targets},
                   {"bytes", whole(v.bytes)},
                   {"rank_bytes", whole(v.rank_bytes)},
                   {"cold_load_seconds", number(v.cold_load)},
                   {"merge_seconds", number(v.merge)}});
  return out;
}

Json tenants_json(std::vector<TenantFigures> const& tenants) {
  Json out = Json::array();
  for (TenantFigures const& t : tenants)
    out.push_back({{"adapter", t.adapter < 0 ? Json() : Json(t.adapter)},
                   {"requests", t.requests},
                   {"mean_seconds", number(t.mean_latency)},
                   {"p99_seconds", number(t.p99_latency)},
                   {"tokens_per_second", number(t.rate)}});
  return out;
}

}  // namespace

Json serving_json(ServingFigures const& f) {
  if (f.requests == 0) return nullptr;
  Json times = Json::object();
  for (std::size_t i = 0; i < kServingTimes; ++i)
    times[std::string(name_of(static_cast<ServingTime>(i)))] = number(f.times[i]);
  return {{"requests", f.requests},
          {"span_seconds", number(f.span)},
          {"requests_per_second", number(f.requests_per_second)},
          {"output_tokens_per_second", number(f.output_tokens_per_second)},
          {"total_tokens_per_second", number(f.total_tokens_per_second)},
          {"in_flight", number(f.in_flight)},
          {"waiting", number(f.waiting)},
          {"ttft_seconds", latency_json(f.ttft)},
          {"tpot_seconds", latency_json(f.tpot)},
          {"latency_seconds", latency_json(f.latency)},
          {"objective", objective_json(f)},
          {"gpu_seconds_per_request", times},
          {"adapters", adapters_json(f)},
          {"memory", memory_json(f)},
          {"variants", variants_json(f)},
          {"tenants", f.tenants},
          {"fairness", number(f.fairness)},
          {"slowest", tenants_json(f.slowest)},
          {"slowest_by_p99", tenants_json(f.slowest_by_p99)}};
}

}  // namespace rollcast
