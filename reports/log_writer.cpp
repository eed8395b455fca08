#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "reports/log_file.hpp"
#include "reports/log_incident.hpp"
#include "reports/log_serving.hpp"

namespace rollcast {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kSchema = 1;

double finite(double v) {
  if (!std::isfinite(v)) throw std::logic_error("event log holds a number that is not finite");
  return v;
}

std::string line_of(Json const& j) { return j.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n'; }

Json header_of(EventLog const& log) {
  Json measured = Json::array();
  for (auto const& [name, value] : log.measured) measured.push_back({name, finite(value)});
  return {{"format", "rollcast-log"},
          {"schema", kSchema},
          {"scenario", log.scenario},
          {"seed", log.seed},
          {"outcome", name_of(log.outcome)},
          {"outcome_reason", log.outcome_reason},
          {"notes", log.notes},
          {"measured", measured},
          {"measured_source", log.measured_source}};
}

Json record_of(RankLedger const& l) {
  Json lines = Json::array();
  for (LedgerLine const& line : l.lines) {
    Json phases = Json::array();
    for (Phase p : line.phases) phases.push_back(name_of(p));
    lines.push_back(Json::array({name_of(line.role), name_of(line.category), finite(line.bytes.value),
                                 line.host, phases, line.formula, line.name}));
  }
  return Json::array({"ledger", l.name, l.pipeline_stage, l.ranks, finite(l.capacity.value), lines});
}

Json record_of(OutOfMemory const& o) {
  Json others = Json::array();
  for (ProcessBytes const& p : o.other_processes) others.push_back(Json::array({p.pid, p.bytes}));
  return Json::array({o.requested, o.block, o.tried, o.total, o.free, o.non_torch, o.process, o.allocated,
                      o.private_pools, o.reserved_unallocated, others});
}

Json record_of(LongRunPlan const& p) {
  LongRun const& r = p.run;
  return Json::array({"long_run", p.every, finite(r.checkpoint.value), finite(r.write.value),
                      finite(r.detection.value), finite(r.relaunch.value), finite(r.load.value),
                      finite(r.between_failures.value), r.spares, finite(r.replacement.value),
                      finite(r.horizon.value)});
}

void write_tables(EventLog const& log, std::string& out) {
  for (PoolInfo const& p : log.pools) {
    out += line_of(Json::array({"pool", p.name, p.node, p.gpu, p.gpus, finite(p.peak_flops.value),
                                finite(p.memory_bandwidth.value), finite(p.capacity.value)}));
  }
  for (std::size_t i = 0; i < log.pools.size(); ++i) {
    PriceNote const& n = log.pools[i].prices;
    if (n.gpu.empty()) continue;
    Json record = Json::array({"prices", i, n.gpu, name_of(n.basis), n.from, n.stack, n.date,
                               finite(n.median), finite(n.p90), n.band});
    if (OwnPrices const& own = n.own; !own.profile.empty())
      record.push_back(Json::array({own.profile, own.from, own.stack, own.date, Json(own.operations)}));
    out += line_of(record);
  }
  for (std::string const& l : log.labels) out += line_of(Json::array({"label", l}));
  for (RankLedger const& l : log.ledgers) out += line_of(record_of(l));
  for (std::size_t i = 0; i < log.rank_classes.size(); ++i) {
    RankClassInfo const& c = log.rank_classes[i];
    Json const ledger = i < log.ledger_of_class.size() ? Json(log.ledger_of_class[i]) : Json();
    out += line_of(Json::array({"rank_class", c.name, c.pool, c.node, c.ranks, ledger}));
  }
  if (log.long_run) out += line_of(record_of(*log.long_run));
  for (FailureRecord const& r : log.failures) {
    out += line_of(Json::array({"failure", finite(r.time.value), r.kind, r.rank, r.pool, r.step, r.what,
                                finite(r.bytes.value), finite(r.limit.value)}));
  }
  for (StallRecord const& r : log.stalls) out += line_of(log_record(r));
  for (Happening const& h : log.happenings) out += line_of(log_record(h));
  for (Remedy const& r : log.remedies) out += line_of(log_record(r));
  for (OomRecord const& o : log.ooms) {
    out +=
        line_of(Json::array({"oom", name_of(o.kind), finite(o.time.value), o.rank, o.pool, o.step,
                             name_of(o.phase), o.allocation, finite(o.requested.value), finite(o.free.value),
                             finite(o.allocated.value), o.micro_batch ? Json(*o.micro_batch) : Json(),
                             o.figures ? record_of(*o.figures) : Json(), o.numa ? Json(*o.numa) : Json()}));
  }
}

void write_times(EventLog const& log, std::string& out) {
  auto const to = std::back_inserter(out);
  for (StepRecord const& s : log.steps) {
    std::string const signal = s.signal_samples ? std::to_string(*s.signal_samples) : "null";
    fmt::format_to(to, "[\"step\",{},{},{},{},{},{},{},{},{},[{}],{}]\n", finite(s.start.value),
                   finite(s.end.value), s.samples, s.prompt_tokens, s.response_tokens, s.preemptions,
                   s.generated_samples, s.computed_tokens, s.useful_tokens, fmt::join(s.staleness, ","),
                   signal);
  }
  for (PhaseWindow const& w : log.phases) {
    fmt::format_to(to, "[\"phase\",{},{},\"{}\",{},{}]\n", w.pool, w.step, name_of(w.phase),
                   finite(w.start.value), finite(w.end.value));
  }
  for (Span const& s : log.spans) {
    fmt::format_to(to, "[\"span\",{},{},\"{}\",\"{}\",\"{}\",{},{},{},{},{}]\n", s.rank_class, s.step,
                   name_of(s.stream), name_of(s.phase), name_of(s.activity), s.label, finite(s.start.value),
                   finite(s.end.value), finite(s.flops.value), finite(s.hbm.value));
  }
  for (Counter const& c : log.counters) {
    fmt::format_to(to, "[\"counter\",{},\"{}\",\"{}\",\"{}\",{},{}]\n", c.rank_class, name_of(c.kind),
                   name_of(c.role), name_of(c.category), finite(c.time.value), finite(c.value));
  }
  for (Handover const& h : log.handovers) {
    fmt::format_to(to, "[\"handover\",{},{},{},{},{},{}]\n", h.step, h.from_rank_class, h.to_rank_class,
                   finite(h.sent.value), finite(h.received.value), h.samples);
  }
}

}  // namespace

std::string log_text(EventLog const& log) {
  std::string out = line_of(header_of(log));
  write_tables(log, out);
  write_times(log, out);
  if (log.serving) out += serving_lines(*log.serving);
  auto const priced = std::count_if(log.pools.begin(), log.pools.end(),
                                    [](PoolInfo const& p) { return !p.prices.gpu.empty(); });
  std::size_t const records = log.pools.size() + static_cast<std::size_t>(priced) + log.labels.size() +
                              log.ledgers.size() + log.rank_classes.size() + log.ooms.size() +
                              log.failures.size() + log.stalls.size() + log.happenings.size() +
                              log.remedies.size() + log.steps.size() + log.phases.size() + log.spans.size() +
                              log.counters.size() + log.handovers.size() + (log.long_run ? 1 : 0) +
                              (log.serving ? serving_records(*log.serving) : 0);
  fmt::format_to(std::back_inserter(out), "[\"end\",{}]\n", records);
  return out;
}

}  // namespace rollcast
