#include <fmt/format.h>

#include "reports/contest_report.hpp"
#include "reports/contest_serving.hpp"
#include "reports/csv.hpp"
#include "reports/json.hpp"

namespace rollcast {
namespace {

std::string cell(double v) { return fmt::format("{}", nine_digits(v)); }
std::string cell(Seconds s) { return cell(s.value); }
std::string cell(std::optional<double> const& v) { return v ? cell(*v) : ""; }

// The pool that is nearest to its card.
PoolHeadline const* tightest(ContenderFigures const& f) {
  PoolHeadline const* out = nullptr;
  for (PoolHeadline const& p : f.pools) {
    if (p.peak.value > 0 && (out == nullptr || p.capacity - p.peak < out->capacity - out->peak)) out = &p;
  }
  return out;
}

std::string row_of(Contest const& c, std::size_t i) {
  Contender const& k = c.contenders[i];
  ContenderFigures const& f = c.figures[i];
  bool const known = f.step.steps > 0;
  std::string row = csv_field(k.name) + "," + csv_field(k.file) + "," +
                    csv_field(fmt::format("{}", fmt::join(k.sets, " "))) + "," +
                    std::string(name_of(f.outcome)) + "," + csv_field(f.reason);
  auto const add = [&row](std::string const& text) { row += "," + text; };
  auto const add_known = [&](auto const& v) { add(known ? cell(v) : ""); };
  add(f.gpus > 0 ? fmt::format("{}", f.gpus) : "");
  PairedRatio const speed = c.speed_of_best[i].value_or(PairedRatio{});
  add(c.speed_of_best[i] ? cell(speed.ratio) : "");
  add(cell(speed.low));
  add(cell(speed.high));
  add_known(f.step.mean);
  add_known(f.step.p10);
  add_known(f.step.p50);
  add_known(f.step.p90);
  add_known(f.samples_per_second);
  add_known(f.tokens_per_second);
  add_known(f.gpu_hours_per_step);
  add(cell(f.dollars_per_step));
  add_known(f.mean_response_tokens);
  add(cell(f.mean_staleness));
  add_known(f.preemptions_per_step);
  add_known(f.sync);
  add_known(f.exposed_sync);
  PoolHeadline const* const p = tightest(f);
  add(p == nullptr ? "" : csv_field(p->name));
  add(p == nullptr ? "" : cell(p->peak.value));
  add(p == nullptr ? "" : cell((p->capacity - p->peak).value));
  add(f.collective_wait ? cell(f.collective_wait->longest) : "");
  add(f.collective_wait ? cell(f.collective_wait->timeout) : "");
  for (std::size_t column = 0; serves(c.unit) && column < kServingColumns; ++column)
    add(f.serving ? cell(f.serving->values[column]) : "");
  return row + "\n";
}

}  // namespace

std::string contest_csv(Contest const& c) {
  std::string out =
      "name,file,sets,outcome,reason,gpus,speed_of_best,speed_of_best_low,speed_of_best_high,"
      "step_seconds_mean,step_seconds_p10,step_seconds_p50,step_seconds_p90,samples_per_second,"
      "tokens_per_second,gpu_hours_per_step,dollars_per_step,mean_response_tokens,mean_staleness,"
      "preemptions_per_step,sync_seconds,sync_exposed_seconds,tightest_pool,tightest_peak_bytes,"
      "tightest_headroom_bytes,wait_seconds,timeout_seconds";
  for (std::size_t i = 0; serves(c.unit) && i < kServingColumns; ++i)
    out += fmt::format(",{}", name_of(static_cast<ServingColumn>(i)));
  out += "\n";
  for (std::size_t i = 0; i < c.contenders.size(); ++i) out += row_of(c, i);
  return out;
}

}  // namespace rollcast
