#include "reports/goodput_report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "reports/json.hpp"
#include "reports/text_layout.hpp"

namespace rollcast {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kRuns = 200;
constexpr double kSecondsOfDay = 86'400;
constexpr double kSecondsOfHour = 3600;
constexpr int kNameColumns = 24;

double number(double v) { return nine_digits(v); }
double number(Seconds s) { return nine_digits(s.value); }

// "93.1 %": goodputs differ by parts of a percent.
std::string exact_percent(double share) { return fmt::format("{:.1f} %", share * 100); }

std::string steps_text(LongRun const& run, int every) {
  return fmt::format("every {} step{} ({})", every, every == 1 ? "" : "s", format(run.step * every));
}

std::string spread_text(Spread const& s) {
  return fmt::format("{} (p10-p90 {} to {})", exact_percent(s.mean), exact_percent(s.p10),
                     exact_percent(s.p90));
}

std::string losses_text(GoodputReport const& r) {
  RunTimes const& t = r.with_every.mean;
  auto const share = [&](Seconds part) { return exact_percent(part / r.run.horizon); };
  std::string out = fmt::format("{} checkpoints, {} work that is lost, {} recovery", share(t.checkpoints),
                                share(t.lost), share(t.recovery));
  if (t.waiting.value > 0) out += fmt::format(", of it {} waiting for nodes", share(t.waiting));
  return out;
}

std::string checkpoint_text(LongRun const& run) {
  std::string out = "training waits " + format(run.checkpoint);
  if (run.write.value > 0) out += fmt::format(", written {} later", format(run.write));
  return out;
}

Json spread_json(Spread const& s) {
  return {{"mean", number(s.mean)}, {"p10", number(s.p10)}, {"p90", number(s.p90)}};
}

}  // namespace

double GoodputReport::gpu_hours_lost() const {
  return (1 - with_every.share.mean) * run.horizon.value / kSecondsOfHour * static_cast<double>(gpus);
}

std::optional<GoodputReport> goodput_report(LongRunPlan const& plan, Seconds step, std::int64_t gpus,
                                            std::uint64_t seed) {
  if (!(step.value > 0)) return std::nullopt;
  GoodputReport r;
  r.run = plan.run;
  r.run.step = step;
  r.gpus = gpus;
  r.saves = plan.every > 0;
  r.daly = daly_every(r.run);
  r.best = best_every(r.run, kRuns, seed);
  r.every = r.saves ? plan.every : r.best;
  r.with_every = simulate_goodput(r.run, r.every, kRuns, seed);
  r.with_best = simulate_goodput(r.run, r.best, kRuns, seed);
  return r;
}

std::string goodput_heading(GoodputReport const& r) {
  double const days = r.run.horizon.value / kSecondsOfDay;
  return fmt::format("Over {:.4g} {}", days, days > 1 ? "days" : "day");
}

std::string goodput_text(GoodputReport const& r, int width) {
  std::string out;
  auto const row = [&](char const* name, std::string const& words) {
    out += fmt::format("  {:<{}}", name, kNameColumns);
    out += wrapped(words_of(words), " ", 2 + kNameColumns, width);
  };
  Spread const& failures = r.with_every.failures;
  row("failures", fmt::format("{:.3g} (p10-p90 {:.3g} to {:.3g}), one every {}", failures.mean, failures.p10,
                              failures.p90, format(r.run.between_failures)));
  row("goodput",
      fmt::format("{} with a checkpoint {}{}", spread_text(r.with_every.share), steps_text(r.run, r.every),
                  r.saves ? "" : ", the best; the scenario itself writes none"));
  row("the rest", losses_text(r));
  row("GPU hours lost", fmt::format("{:.0f} of {:.0f}", r.gpu_hours_lost(),
                                    r.run.horizon.value / kSecondsOfHour * static_cast<double>(r.gpus)));
  row("a checkpoint", checkpoint_text(r.run));
  row("a restart", fmt::format("detection {}, relaunch {}, load {}", format(r.run.detection),
                               format(r.run.relaunch), format(r.run.load)));
  row("best interval", fmt::format("by Daly {}, by simulation {}: goodput {}", steps_text(r.run, r.daly),
                                   steps_text(r.run, r.best), exact_percent(r.with_best.share.mean)));
  return out;
}

Json goodput_json(GoodputReport const& r) {
  RunTimes const& t = r.with_every.mean;
  return {
      {"days", number(r.run.horizon.value / kSecondsOfDay)},
      {"step_seconds", number(r.run.step)},
      {"seconds_between_failures", number(r.run.between_failures)},
      {"failures", spread_json(r.with_every.failures)},
      {"checkpoint_every", r.saves ? Json(r.every) : Json()},
      {"goodput", spread_json(r.with_every.share)},
      {"lost_seconds", number(t.lost)},
      {"checkpoint_seconds", number(t.checkpoints)},
      {"recovery_seconds", number(t.recovery)},
      {"waiting_seconds", number(t.waiting)},
      {"gpu_hours_lost", number(r.gpu_hours_lost())},
      {"of_a_checkpoint",
       {{"blocking_seconds", number(r.run.checkpoint)}, {"write_seconds", number(r.run.write)}}},
      {"of_a_restart",
       {{"detection_seconds", number(r.run.detection)},
        {"relaunch_seconds", number(r.run.relaunch)},
        {"load_seconds", number(r.run.load)}}},
      {"best",
       {{"daly_every", r.daly}, {"simulated_every", r.best}, {"goodput", number(r.with_best.share.mean)}}}};
}

}  // namespace rollcast
