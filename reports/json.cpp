#include "reports/json.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "reports/json_values.hpp"
#include "reports/serving_json.hpp"
#include "reports/uncertainty_report.hpp"

namespace rollcast {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kSchema = 1;

Json step_json(StepTimes const& t) {
  if (t.steps == 0) return {{"mean", nullptr}, {"p10", nullptr}, {"p50", nullptr}, {"p90", nullptr}};
  return {{"mean", number(t.mean)}, {"p10", number(t.p10)}, {"p50", number(t.p50)}, {"p90", number(t.p90)}};
}

Json phases_json(Analysis const& a) {
  Json out = Json::array();
  for (PhaseTime const& p : a.phases) {
    out.push_back({{"name", name_of(p.phase)},
                   {"pool", a.pools[static_cast<std::size_t>(p.pool)].name},
                   {"mean_seconds", number(p.mean)},
                   {"exposed_seconds", number(p.exposed)}});
  }
  return out;
}

Json weight_sync_json(Analysis const& a) {
  if (!a.weight_sync) return nullptr;
  Json causes = Json::array();
  for (SyncShare const& s : a.weight_sync->causes)
    causes.push_back({{"name", s.cause}, {"seconds", number(s.time)}});
  auto const over_wire = sync_over_wire(a);
  return {{"seconds", number(sync_time(a))},
          {"wire_seconds", over_wire ? number(a.weight_sync->wire) : Json()},
          {"over_wire", over_wire ? number(*over_wire) : Json()},
          {"causes", causes}};
}

Json use_json(PoolUse const& p) {
  Json idle = Json::object();
  for (auto const& [cause, fraction] : p.idle_by_cause) idle[cause] = number(fraction);
  return {{"busy_fraction", number(p.busy_fraction)},
          {"idle_by_cause", idle},
          {"mfu", number(p.mfu)},
          {"mbu", number(p.mbu)}};
}

Json prices_json(PriceNote const& n) {
  if (n.gpu.empty()) return nullptr;
  bool const known = n.p90 > 0;
  Json out = {{"gpu", n.gpu},
              {"basis", name_of(n.basis)},
              {"from", or_null(n.from)},
              {"stack", n.stack},
              {"date", n.date},
              {"error_median", known ? number(n.median) : Json()},
              {"error_p90", known ? number(n.p90) : Json()},
              {"error_of", n.band}};
  if (n.own.profile.empty()) return out;
  out["own"] = {{"profile", n.own.profile},
                {"from", n.own.from},
                {"stack", n.own.stack},
                {"date", n.own.date},
                {"operations", n.own.operations}};
  return out;
}

// Of the rank class that comes nearest to the card's capacity; the host figure is the largest of the pool.
Json memory_json(Analysis const& a, std::size_t pool) {
  PoolUse const& p = a.pools[pool];
  Json out = {{"peak_bytes", nullptr},
              {"peak_phase", nullptr},
              {"capacity_bytes", whole(p.capacity)},
              {"torch_allocated_bytes", nullptr},
              {"torch_reserved_bytes", nullptr},
              {"host_peak_bytes", nullptr},
              {"ledger", Json::object()}};
  if (!p.peak) return out;
  LedgerPeak const& peak = a.ledgers[*p.peak];
  out["peak_bytes"] = whole(peak.bytes);
  out["peak_phase"] = name_of(peak.phase);
  if (peak.torch_reserved.value > 0) {
    out["torch_allocated_bytes"] = whole(peak.torch_allocated);
    out["torch_reserved_bytes"] = whole(peak.torch_reserved);
  }
  Bytes host;
  for (LedgerPeak const& l : a.ledgers) {
    if (l.pool == static_cast<int>(pool)) host = max(host, l.host_bytes);
  }
  out["host_peak_bytes"] = whole(host);
  for (MemoryShare const& s : peak.shares)
    out["ledger"][fmt::format("{}.{}", name_of(s.role), name_of(s.category))] = whole(s.bytes);
  return out;
}

std::int64_t others_of(OutOfMemory const& o) {
  std::int64_t sum = 0;
  for (ProcessBytes const& p : o.other_processes) sum += p.bytes;
  return sum;
}

// What PyTorch would print.
Json message_of(OomRecord const& o) {
  return o.kind == OomKind::torch && o.figures && o.figures->tried > 0 ? Json(message(*o.figures, 0))
                                                                       : Json();
}

Json ooms_json(Analysis const& a) {
  Json out = Json::array();
  for (OomRecord const& o : a.ooms) {
    auto const figure = [&](std::int64_t OutOfMemory::*f) {
      return o.figures ? Json((*o.figures).*f) : Json();
    };
    out.push_back({{"kind", name_of(o.kind)},
                   {"time", number(o.time)},
                   {"rank", o.rank},
                   {"pool", a.pools[static_cast<std::size_t>(o.pool)].name},
                   {"step", o.step},
                   {"phase", name_of(o.phase)},
                   {"allocation", o.allocation},
                   {"requested_bytes", whole(o.requested)},
                   {"free_bytes", whole(o.free)},
                   {"allocated_bytes", whole(o.allocated)},
                   {"micro_batch", o.micro_batch ? Json(*o.micro_batch) : Json()},
                   {"total_bytes", figure(&OutOfMemory::total)},
                   {"process_bytes", figure(&OutOfMemory::process)},
                   {"other_processes_bytes", o.figures ? Json(others_of(*o.figures)) : Json()},
                   {"reserved_unallocated_bytes", figure(&OutOfMemory::reserved_unallocated)},
                   {"non_torch_bytes", figure(&OutOfMemory::non_torch)},
                   {"message", message_of(o)},
                   {"numa", o.numa ? Json(*o.numa) : Json()}});
  }
  return out;
}

Json failures_json(Analysis const& a) {
  Json out = Json::array();
  for (FailureRecord const& r : a.failures) {
    out.push_back({{"time", number(r.time)},
                   {"kind", r.kind},
                   {"rank", r.rank},
                   {"pool", a.pools[static_cast<std::size_t>(r.pool)].name},
                   {"step", r.step},
                   {"what", r.what},
                   {"bytes", whole(r.bytes)},
                   {"limit", whole(r.limit)}});
  }
  return out;
}

Json stalls_json(Analysis const& a) {
  Json out = Json::array();
  auto const time = [](std::optional<Seconds> const& t) { return t ? number(*t) : Json(); };
  for (StallRecord const& r : a.stalls) {
    out.push_back({{"time", number(r.time)},
                   {"kind", name_of(r.kind)},
                   {"pool", a.pools[static_cast<std::size_t>(r.pool)].name},
                   {"cause", r.cause},
                   {"group", or_null(r.group)},
                   {"op", or_null(r.operation)},
                   {"seq", r.sequence ? Json(*r.sequence) : Json()},
                   {"waiting_ranks", r.waiting_ranks},
                   {"missing_ranks", r.missing_ranks},
                   {"enqueued", time(r.enqueued)},
                   {"detected", time(r.detected)},
                   {"killed", time(r.killed)},
                   {"gpu_seconds_lost", r.gpu_seconds_lost ? number(*r.gpu_seconds_lost) : Json()}});
  }
  return out;
}

// What happened, second by second, and what would have ended it sooner.
Json incident_json(Analysis const& a) {
  if (a.happenings.empty()) return nullptr;
  Json timeline = Json::array();
  for (Happening const& h : a.happenings) {
    timeline.push_back({{"time", number(h.time)},
                        {"until", number(h.until)},
                        {"kind", name_of(h.kind)},
                        {"pool", a.pools[static_cast<std::size_t>(h.pool)].name},
                        {"ranks", h.ranks},
                        {"what", h.what}});
  }
  Json sooner = Json::array();
  for (Remedy const& r : a.remedies)
    sooner.push_back({{"what", r.what}, {"ended", number(r.ended)}, {"saved_seconds", number(r.saved)}});
  Happening const& last = a.happenings.back();
  bool const ends = last.kind == HappeningKind::ends;
  double const lost = (last.time - a.happenings.front().time).value * static_cast<double>(a.gpus);
  return {{"timeline", timeline},
          {"ended", ends ? number(last.time) : Json()},
          {"gpu_seconds_lost", ends ? number(lost) : Json()},
          {"sooner", sooner}};
}

Json samples_json(SampleUse const& s) {
  return {{"generated", s.generated},
          {"trained", s.trained},
          {"with_signal", s.with_signal ? Json(*s.with_signal) : Json()}};
}

Json path_json(Analysis const& a) {
  Json out = Json::array();
  for (PathShare const& p : a.critical_path)
    out.push_back({{"phase", p.phase}, {"cause", p.cause}, {"seconds", number(p.seconds)}});
  return out;
}

}  // namespace

double nine_digits(double v) {
  if (!std::isfinite(v)) throw std::logic_error("a figure of the report is not finite");
  std::string const text = fmt::format("{:.8e}", v);
  double rounded = 0;
  std::from_chars(text.data(), text.data() + text.size(), rounded);
  return rounded + 0.0;
}

std::string json_text(Analysis const& a, Uncertainty const* uncertainty) {
  bool const rates = a.step.steps > 0;
  Json utilization = Json::object();
  Json memory = Json::object();
  Json prices = Json::object();
  for (std::size_t i = 0; i < a.pools.size(); ++i) {
    utilization[a.pools[i].name] = use_json(a.pools[i]);
    memory[a.pools[i].name] = memory_json(a, i);
    prices[a.pools[i].name] = prices_json(a.pools[i].prices);
  }
  Json out = {{"schema", kSchema},
              {"scenario", a.scenario},
              {"seed", a.seed},
              {"outcome", name_of(a.outcome)},
              {"step_seconds", step_json(a.step)},
              {"phases", phases_json(a)},
              {"weight_sync", weight_sync_json(a)},
              {"tokens_per_second_per_gpu", rates ? number(a.tokens_per_second_per_gpu) : Json()},
              {"samples_per_second", rates ? number(a.samples_per_second) : Json()},
              {"gpu_hours_per_step", rates ? number(a.gpu_hours_per_step) : Json()},
              {"staleness", {{"mean", number(a.samples.mean_staleness)}, {"samples", a.samples.staleness}}},
              {"samples", samples_json(a.samples)},
              {"padding_waste", number(a.samples.padding_waste)},
              {"preemptions", a.preemptions},
              {"utilization", utilization},
              {"memory", memory},
              {"prices", prices},
              {"oom", ooms_json(a)},
              {"stalls", stalls_json(a)},
              {"failures", failures_json(a)},
              {"incident", incident_json(a)},
              {"critical_path", path_json(a)}};
  if (a.serving) out["serving"] = serving_json(*a.serving);
  if (a.long_run) out["long_run"] = goodput_json(*a.long_run);
  if (uncertainty != nullptr) out["uncertainty"] = uncertainty_json(*uncertainty);
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace rollcast
