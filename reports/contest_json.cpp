#include <algorithm>
#include <nlohmann/json.hpp>

#include "reports/contest_report.hpp"
#include "reports/contest_serving.hpp"
#include "reports/json_values.hpp"

namespace rollcast {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kSchema = 1;

Json ratio_json(std::optional<PairedRatio> const& r) {
  if (!r) return {{"ratio", nullptr}, {"low", nullptr}, {"high", nullptr}};
  return {{"ratio", number(r->ratio)}, {"low", number(r->low)}, {"high", number(r->high)}};
}

Json contender_name(Contest const& c, std::optional<std::size_t> const& i) {
  return i ? Json(c.contenders[*i].name) : Json();
}

Json winner_json(Contest const& c, std::string const& by, Standing const& s) {
  Json out = {{"by", by},
              {"contender", contender_name(c, s.best)},
              {"next", contender_name(c, s.next)},
              {"decided", s.decided()}};
  out.update(ratio_json(s.against));
  return out;
}

Json why_json(std::vector<PathDifference> const& why) {
  Json out = Json::array();
  for (PathDifference const& d : why)
    out.push_back({{"phase", d.phase},
                   {"cause", d.cause},
                   {"change", name_of(d.change)},
                   {"winner_seconds", number(d.winner)},
                   {"next_seconds", number(d.other)},
                   {"saved_seconds", number(d.saved())}});
  return out;
}

Json serving_why_json(Contest const& c) {
  Json out = Json::array();
  for (ServingDifference const& d : c.serving_why)
    out.push_back({{"part", name_of(d.part)},
                   {"winner_gpu_seconds", number(d.winner)},
                   {"next_gpu_seconds", number(d.other)},
                   {"saved_gpu_seconds", number(d.saved())}});
  return out;
}

// Null everywhere of one that did not run.
Json serving_json(ContenderFigures const& f) {
  auto const requests = f.serving ? (*f.serving)[ServingColumn::requests] : std::nullopt;
  auto const per_thousand = [&](std::optional<double> const& of_run) {
    return requests && of_run ? number(*of_run * 1000 / *requests) : Json();
  };
  Json out = {{"execution", f.serving ? Json(name_of(f.serving->execution)) : Json()},
              {"pool", f.serving ? Json(name_of(f.serving->pool)) : Json()}};
  for (std::size_t i = 0; i < kServingColumns; ++i) {
    auto const column = static_cast<ServingColumn>(i);
    out[std::string(name_of(column))] = f.serving ? number((*f.serving)[column]) : Json();
  }
  out["gpu_hours_per_thousand_requests"] = per_thousand(f.gpu_hours_per_step);
  out["dollars_per_thousand_requests"] = per_thousand(f.dollars_per_step);
  return out;
}

Json pools_json(ContenderFigures const& f) {
  Json out = Json::array();
  for (std::size_t i = 0; i < f.pools.size(); ++i) {
    PoolHeadline const& p = f.pools[i];
    Json idle = Json::array();
    for (auto const& [cause, share] : f.idle_by_cause[i])
      idle.push_back({{"cause", cause}, {"fraction", number(share)}});
    bool const ledger = p.peak.value > 0;
    out.push_back({{"name", p.name},
                   {"gpu", f.pool_gpus[i]},
                   {"gpus", p.gpus},
                   {"busy_fraction", number(p.busy_fraction)},
                   {"idle", std::move(idle)},
                   {"mfu", number(p.mfu)},
                   {"mbu", number(p.mbu)},
                   {"peak_bytes", ledger ? whole(p.peak) : Json()},
                   {"peak_phase", ledger ? Json(name_of(p.peak_phase)) : Json()},
                   {"capacity_bytes", whole(p.capacity)},
                   {"headroom_bytes", ledger ? whole(p.capacity - p.peak) : Json()},
                   {"headroom_fraction", ledger ? number(1 - p.peak / p.capacity) : Json()},
                   {"host_peak_bytes", ledger ? whole(p.host_peak) : Json()}});
  }
  return out;
}

Json phases_json(ContenderFigures const& f) {
  Json out = Json::array();
  for (std::size_t i = 0; i < f.phases.size(); ++i) {
    PhaseHeadline const& p = f.phases[i];
    out.push_back({{"name", name_of(p.phase)},
                   {"pool", f.pools[static_cast<std::size_t>(p.pool)].name},
                   {"mean_seconds", number(p.mean)},
                   {"exposed_seconds", number(f.exposed[i])}});
  }
  return out;
}

Json path_json(ContenderFigures const& f) {
  Json out = Json::array();
  for (PathShare const& p : f.critical_path)
    out.push_back({{"phase", p.phase}, {"cause", p.cause}, {"seconds", number(p.seconds)}});
  return out;
}

Json wait_json(std::optional<CollectiveWait> const& w) {
  if (!w)
    return {{"wait_seconds", nullptr}, {"timeout_seconds", nullptr}, {"phase", nullptr}, {"what", nullptr}};
  bool const waits = w->longest.value > 0;
  return {{"wait_seconds", number(w->longest)},
          {"timeout_seconds", number(w->timeout)},
          {"phase", waits ? Json(name_of(w->phase)) : Json()},
          {"what", waits ? Json(w->what) : Json()}};
}

Json runs_json(Contest const& c, Contender const& k) {
  Json out = Json::array();
  for (std::size_t i = 0; i < k.runs.size(); ++i) {
    ContenderRun const& r = k.runs[i];
    Headline const& h = r.headline;
    bool const known = h.steps > 0;
    Json steps = Json::array();
    for (Seconds const s : r.steps) steps.push_back(number(s));
    out.push_back({{"seed", c.seeds[i]},
                   {"outcome", name_of(h.outcome)},
                   {"step_seconds", std::move(steps)},
                   {"samples_per_second", known ? number(h.samples_per_second) : Json()},
                   {"tokens_per_second",
                    known ? number(h.tokens_per_second_per_gpu * static_cast<double>(h.gpus)) : Json()}});
  }
  return out;
}

Json contender_json(Contest const& c, std::size_t i) {
  Contender const& k = c.contenders[i];
  ContenderFigures const& f = c.figures[i];
  bool const known = f.step.steps > 0;
  auto const if_known = [&](auto const& v) { return known ? number(v) : Json(); };
  auto const of_run = [&](std::optional<double> const& per_step) {
    return known && per_step && c.run_steps ? number(*per_step * static_cast<double>(*c.run_steps)) : Json();
  };
  auto const per_million = [&](std::optional<double> const& per_step) {
    return known && per_step && f.tokens_per_step > 0 ? number(*per_step / f.tokens_per_step * 1e6) : Json();
  };
  std::optional<double> const gpu_hours = f.gpu_hours_per_step;
  Json const speed = ratio_json(c.speed_of_best[i]);
  Json wait = wait_json(f.collective_wait);
  Json out = {{"name", k.name},
              {"file", k.file},
              {"sets", k.sets},
              {"work", or_null(k.work)},
              {"outcome", name_of(f.outcome)},
              {"reason", or_null(f.reason)},
              {"completed_seeds", f.completed},
              {"gpus", f.gpus > 0 ? Json(f.gpus) : Json()},
              {"speed_of_best", speed["ratio"]},
              {"speed_of_best_low", speed["low"]},
              {"speed_of_best_high", speed["high"]},
              {"step_seconds_mean", if_known(f.step.mean)},
              {"step_seconds_p10", if_known(f.step.p10)},
              {"step_seconds_p50", if_known(f.step.p50)},
              {"step_seconds_p90", if_known(f.step.p90)},
              {"samples_per_step", if_known(f.samples_per_step)},
              {"tokens_per_step", if_known(f.tokens_per_step)},
              {"samples_per_second", if_known(f.samples_per_second)},
              {"tokens_per_second", if_known(f.tokens_per_second)},
              {"tokens_per_second_per_gpu",
               if_known(f.tokens_per_second / static_cast<double>(std::max<std::int64_t>(1, f.gpus)))},
              {"gpu_hours_per_step", if_known(f.gpu_hours_per_step)},
              {"gpu_hours_per_million_tokens", per_million(gpu_hours)},
              {"gpu_hours_per_run", of_run(gpu_hours)},
              {"dollars_per_step", number(f.dollars_per_step)},
              {"dollars_per_million_tokens", per_million(f.dollars_per_step)},
              {"dollars_per_run", of_run(f.dollars_per_step)},
              {"hours_per_run", of_run(f.step.mean.value / 3600)},
              {"mean_response_tokens", if_known(f.mean_response_tokens)},
              {"mean_staleness", number(f.mean_staleness)},
              {"preemptions_per_step", if_known(f.preemptions_per_step)},
              {"sync_seconds", if_known(f.sync)},
              {"sync_exposed_seconds", if_known(f.exposed_sync)},
              {"longest_wait", std::move(wait)},
              {"pools", pools_json(f)},
              {"phases", phases_json(f)},
              {"critical_path", path_json(f)},
              {"runs", runs_json(c, k)}};
  if (serves(c.unit)) out["serving"] = serving_json(f);
  return out;
}

Json draws_json(Contest const& c) {
  if (!c.drawn) return nullptr;
  DrawnSpeed const& d = *c.drawn;
  return {{"count", d.draws},
          {"completed", d.completed},
          {"ratio_p10", number(d.ratio.p10)},
          {"ratio_p50", number(d.ratio.p50)},
          {"ratio_p90", number(d.ratio.p90)},
          {"faster", d.faster}};
}

}  // namespace

std::string contest_json(Contest const& c) {
  Json contenders = Json::array();
  for (std::size_t i = 0; i < c.contenders.size(); ++i) contenders.push_back(contender_json(c, i));
  Json all = {
      {"schema", kSchema},
      {"verdict", verdict(c)},
      {"cost_verdict", or_null(cost_verdict(c))},
      {"warnings", c.warnings},
      {"unit", name_of(c.unit)},
      {"seeds", c.seeds},
      {"steps", c.steps},
      {"run_steps", c.run_steps ? Json(*c.run_steps) : Json()},
      {"winners", Json::array({winner_json(c, "speed", c.speed), winner_json(c, "gpu_hours", c.gpu_hours),
                               winner_json(c, "dollars", c.dollars)})},
      {"draws", draws_json(c)},
      {"why", why_json(c.why)},
      {"contenders", std::move(contenders)}};
  if (serves(c.unit)) all["serving_why"] = serving_why_json(c);
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace rollcast
