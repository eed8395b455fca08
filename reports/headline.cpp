#include "reports/headline.hpp"

#include <nlohmann/json.hpp>

#include "reports/analysis.hpp"

namespace rollcast {
namespace {

using Json = nlohmann::ordered_json;

Json or_null(std::optional<double> const& v) { return v ? Json(*v) : Json(); }

std::optional<double> maybe(Json const& j) {
  return j.is_null() ? std::nullopt : std::optional(j.get<double>());
}

// The execution, the pool, the objective, then the columns.
Json serving_json(std::optional<ServingHeadline> const& s) {
  if (!s) return nullptr;
  Json out = Json::array({static_cast<int>(s->execution), static_cast<int>(s->pool), s->objective.ttft.value,
                          s->objective.tpot.value, s->objective.latency.value});
  for (std::optional<double> const& v : s->values) out.push_back(or_null(v));
  return out;
}

std::optional<ServingHeadline> serving_from(Json const& j) {
  if (j.is_null()) return std::nullopt;
  auto const limit = [&](std::size_t i) { return Seconds(j.at(i).get<double>()); };
  ServingHeadline s{
      j.at(0).get<AdapterExecution>(), j.at(1).get<AdapterPool>(), {limit(2), limit(3), limit(4)}, {}};
  for (std::size_t i = 0; i < kServingColumns; ++i) s.values[i] = maybe(j.at(5 + i));
  return s;
}

Seconds work_of(Analysis const& a, int pool) {
  Seconds work;
  for (PhaseTime const& p : a.phases) {
    if (p.pool != pool) continue;
    work += p.mean;
    if (p.phase == Phase::generate) work -= p.by_activity[index_of(Activity::phase_wait)];
  }
  return a.step.steps > 0 ? min(work, a.step.mean) : Seconds(0);
}

}  // namespace

Headline headline_of(Analysis const& a) {
  Headline h;
  h.outcome = a.outcome;
  h.reason = a.outcome_reason;
  h.gpus = a.gpus;
  h.steps = a.step.steps;
  h.preemptions = a.preemptions;
  if (h.steps > 0) {
    h.step = a.step.mean;
    h.tokens_per_second_per_gpu = a.tokens_per_second_per_gpu;
    h.samples_per_second = a.samples_per_second;
    h.gpu_hours_per_step = a.gpu_hours_per_step;
    h.mean_response_tokens = a.mean_response_tokens;
    h.mean_staleness = a.samples.mean_staleness;
    h.sync = sync_time(a);
  }
  for (PoolUse const& p : a.pools) {
    PoolHeadline pool{p.name, p.gpus, p.busy_fraction, p.mfu, p.mbu, {}, p.capacity, {}, {}, {}};
    pool.work = work_of(a, static_cast<int>(h.pools.size()));
    if (p.peak) {
      LedgerPeak const& peak = a.ledgers.at(*p.peak);
      pool.peak = peak.bytes;
      pool.peak_phase = peak.phase;
      pool.host_peak = peak.host_bytes;
    }
    h.pools.push_back(pool);
  }
  for (PhaseTime const& p : a.phases) h.phases.push_back({p.phase, p.pool, p.mean});
  if (a.serving) h.serving = serving_headline(*a.serving);
  return h;
}

bool is_complete(Headline const& h) { return h.outcome == Outcome::completed && h.steps > 0; }

std::string why_not(Headline const& h) {
  return h.reason.empty() ? std::string(name_of(h.outcome)) : h.reason;
}

void add_rent(Headline& h, std::optional<double> dollars_per_hour) {
  if (dollars_per_hour && h.steps > 0) h.dollars_per_step = *dollars_per_hour * h.step.value / 3600;
}

std::string to_text(Headline const& h) {
  Json pools = Json::array();
  for (PoolHeadline const& p : h.pools)
    pools.push_back({p.name, p.gpus, p.busy_fraction, p.mfu, p.mbu, p.peak.value, p.capacity.value,
                     static_cast<int>(p.peak_phase), p.host_peak.value, p.work.value});
  Json phases = Json::array();
  for (PhaseHeadline const& p : h.phases) phases.push_back({static_cast<int>(p.phase), p.pool, p.mean.value});
  return Json({{"outcome", static_cast<int>(h.outcome)},
               {"reason", h.reason},
               {"gpus", h.gpus},
               {"steps", h.steps},
               {"step", h.step.value},
               {"tokens_per_second_per_gpu", h.tokens_per_second_per_gpu},
               {"samples_per_second", h.samples_per_second},
               {"gpu_hours_per_step", h.gpu_hours_per_step},
               {"dollars_per_step", or_null(h.dollars_per_step)},
               {"mean_response_tokens", h.mean_response_tokens},
               {"mean_staleness", or_null(h.mean_staleness)},
               {"preemptions", h.preemptions},
               {"sync", h.sync.value},
               {"pools", pools},
               {"phases", phases},
               {"serving", serving_json(h.serving)}})
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

Headline headline_from_text(std::string const& text) {
  Json const j = Json::parse(text);
  Headline h;
  h.outcome = j.at("outcome").get<Outcome>();
  h.reason = j.at("reason").get<std::string>();
  h.gpus = j.at("gpus").get<std::int64_t>();
  h.steps = j.at("steps").get<int>();
  h.step = Seconds(j.at("step").get<double>());
  h.tokens_per_second_per_gpu = j.at("tokens_per_second_per_gpu").get<double>();
  h.samples_per_second = j.at("samples_per_second").get<double>();
  h.gpu_hours_per_step = j.at("gpu_hours_per_step").get<double>();
  h.dollars_per_step = maybe(j.at("dollars_per_step"));
  h.mean_response_tokens = j.at("mean_response_tokens").get<double>();
  h.mean_staleness = maybe(j.at("mean_staleness"));
  h.preemptions = j.at("preemptions").get<std::int64_t>();
  h.sync = Seconds(j.at("sync").get<double>());
  for (Json const& p : j.at("pools"))
    h.pools.push_back({p.at(0).get<std::string>(), p.at(1).get<int>(), p.at(2).get<double>(),
                       p.at(3).get<double>(), p.at(4).get<double>(), Bytes(p.at(5).get<double>()),
                       Bytes(p.at(6).get<double>()), p.at(7).get<Phase>(), Bytes(p.at(8).get<double>()),
                       Seconds(p.at(9).get<double>())});
  for (Json const& p : j.at("phases"))
    h.phases.push_back({p.at(0).get<Phase>(), p.at(1).get<int>(), Seconds(p.at(2).get<double>())});
  h.serving = serving_from(j.at("serving"));
  return h;
}

}  // namespace rollcast
