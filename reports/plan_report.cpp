// The text, the JSON and the table of a plan.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "models/ledger.hpp"
#include "reports/csv.hpp"
#include "reports/json_values.hpp"
#include "reports/plan.hpp"
#include "reports/text_layout.hpp"

namespace rollcast {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kWidth = 100;
constexpr std::size_t kShownEffects = 12;
constexpr std::string_view kSite = "placement and schedule";

std::string signed_text(double v, char const* unit, int digits) {
  return fmt::format("{}{:.{}f} {}", v < 0 ? "-" : "+", std::fabs(v), digits, unit);
}

std::string seconds_text(Seconds s) { return signed_text(s.value, "s", std::fabs(s.value) < 10 ? 2 : 1); }
std::string bytes_text(Bytes b) { return signed_text(b / GiB(1), "GiB", 1); }

std::string gpus_text(int gpus, int of_node, std::string const& node) {
  if (gpus < of_node) return fmt::format("{} GPU{} of a {}", gpus, gpus == 1 ? "" : "s", node);
  int const nodes = gpus / of_node;
  return fmt::format("{} GPUs ({} {}{})", gpus, nodes, node, nodes == 1 ? "" : " nodes");
}

std::string value_of(PlannedLayout const& l, std::string_view knob) {
  for (auto const& [name, value] : l.values) {
    if (name == knob) return value;
  }
  return {};
}

std::string layout_text(PlannedLayout const& l) {
  Parallel const& p = l.trainer;
  std::string text = fmt::format("trainer tp {} x pp {} x cp {}{} x dp {}", p.tp, p.pp, p.cp,
                                 p.ep > 1 ? fmt::format(" x ep {}", p.ep) : "", l.data_parallel);
  if (std::string const tp = value_of(l, "rollout.parallel.tp"); !tp.empty())
    text += fmt::format(", {} engines of tp {} at {} of the memory", l.engines, tp,
                        value_of(l, "rollout.gpu_memory_utilization"));
  text += ", " + l.placement;
  if (l.engines > 0) text += ", " + l.schedule;
  return text;
}

std::string peak_text(PlannedLayout const& l) {
  return fmt::format("peak {:.1f} of {:.1f} GiB in {}", l.peak.bytes / GiB(1), l.capacity / GiB(1),
                     name_of(l.peak.phase));
}

std::string told(std::string const& sentence) { return paragraph(sentence, kWidth); }

std::string paste_text(PlannedLayout const& l) {
  std::vector<std::string> items;
  for (std::string const& set : l.sets) items.push_back("--set '" + set + "'");
  if (items.empty()) return "  as the file is\n";
  return "  " + wrapped(items, " ", 2, kWidth);
}

std::string minimum_sentence(Plan const& p) {
  if (!p.minimum)
    return fmt::format("No layout runs on up to {} GPUs ({} nodes of {}).", p.most_gpus,
                       p.most_gpus / p.gpus_of_node, p.node);
  PlannedLayout const& l = p.minimum->layout;
  return fmt::format("Fewest GPUs: {}, {:.4g} s a step with {}; {}.",
                     gpus_text(p.minimum->gpus, p.gpus_of_node, p.node), l.headline.step.value,
                     layout_text(l), peak_text(l));
}

std::string best_sentence(Plan const& p) {
  std::string const where = gpus_text(p.gpus, p.gpus_of_node, p.node);
  if (p.best.empty()) {
    std::string text = fmt::format("Nothing runs on {}", where);
    if (p.shortage)
      text += fmt::format(": the nearest layout {} ({})", p.shortage->what, layout_text(p.shortage->layout));
    return text + ".";
  }
  PlannedLayout const& l = p.best.front();
  std::string text = fmt::format("Best on {}: {:.4g} s a step with {}; {}", where, l.headline.step.value,
                                 layout_text(l), peak_text(l));
  if (p.file && p.file->outcome == Outcome::completed && p.gpus == p.file_gpus &&
      l.headline.samples_per_second > 0) {
    double const gain = l.headline.samples_per_second / p.file->samples_per_second - 1;
    text += fmt::format("; the file's layout takes {:.4g} s ({} {})", p.file->step.value,
                        percent(std::fabs(gain)), gain < 0 ? "faster" : "slower per sample than the best");
  } else if (p.file && p.file->outcome != Outcome::completed) {
    text += fmt::format("; the file's layout on {} GPUs does not run ({})", p.file_gpus,
                        name_of(p.file->outcome));
  }
  return text + ".";
}

std::string schedule_sentence(Plan const& p) {
  PlannedLayout const& l = *p.as_scheduled;
  return fmt::format(
      "{} trains on samples of older weights, which the forecast does not judge; {} it is {:.4g} s a step "
      "with {}.",
      p.best.front().schedule, l.schedule, l.headline.step.value, layout_text(l));
}

std::string best_table(Plan const& p) {
  std::string out = "\nBest layouts (three simulated steps, four with a queue)\n";
  int rank = 0;
  for (PlannedLayout const& l : p.best) {
    out += fmt::format("  {:>2}. {:>9.4g} s/step  {}\n      ", ++rank, l.headline.step.value, peak_text(l));
    std::vector<std::string> items = {l.placement + (l.engines > 0 ? " " + l.schedule : "")};
    for (auto const& [knob, value] : l.values) items.push_back(knob + " " + value);
    out += wrapped(items, ", ", 6, kWidth);
  }
  return out;
}

std::string effect_line(PlanEffect const& e) {
  std::string out =
      fmt::format("  {:<50} {:>9} {:>10}", e.knob == kSite ? e.to : fmt::format("{} = {}", e.knob, e.to),
                  e.step ? seconds_text(*e.step) : "-", bytes_text(e.peak));
  std::string more;
  if (!e.step) more = e.stops;
  if (e.step && !e.phases.empty())
    more = fmt::format("{} {}", name_of(e.phases.front().first), seconds_text(e.phases.front().second));
  if (!e.phase_peaks.empty())
    more += fmt::format("{}{} {}", more.empty() ? "" : "; ", name_of(e.phase_peaks.front().first),
                        bytes_text(e.phase_peaks.front().second));
  return out + "  " + more + "\n";
}

std::string effects_table(Plan const& p) {
  if (p.effects.empty()) return {};
  std::string out =
      "\nWhat one change of the best layout moves: step time, peak memory, the phases that move most\n"
      "Most time first\n";
  std::size_t shown = 0;
  for (PlanEffect const& e : p.effects) {
    if (shown++ < kShownEffects) out += effect_line(e);
  }
  std::vector<PlanEffect> by_peak = p.effects;
  std::stable_sort(by_peak.begin(), by_peak.end(), [](PlanEffect const& a, PlanEffect const& b) {
    return std::fabs(a.peak.value) > std::fabs(b.peak.value);
  });
  out += "Most memory first\n";
  shown = 0;
  for (PlanEffect const& e : by_peak) {
    if (shown++ < kShownEffects) out += effect_line(e);
  }
  return out;
}

// As the ledger has them, and as rollcast memory writes them.
Json exact(Bytes b) { return static_cast<std::int64_t>(std::llround(b.value)); }

Json layout_json(PlannedLayout const& l) {
  Json values = Json::object();
  for (auto const& [knob, value] : l.values) values[knob] = value;
  bool const ran = is_complete(l.headline);
  auto const if_ran = [&](double v) { return ran ? number(v) : Json(); };
  return {{"placement", l.placement},
          {"schedule", l.schedule},
          {"data_parallel", l.data_parallel},
          {"engines", l.engines},
          {"values", values},
          {"sets", l.sets},
          {"step_seconds", if_ran(l.headline.step.value)},
          {"samples_per_second", if_ran(l.headline.samples_per_second)},
          {"gpu_hours_per_step", if_ran(l.headline.gpu_hours_per_step)},
          {"dollars_per_step",
           ran && l.headline.dollars_per_step ? number(*l.headline.dollars_per_step) : Json()},
          {"peak_bytes", exact(l.peak.bytes)},
          {"peak_phase", name_of(l.peak.phase)},
          {"headroom_bytes", exact(l.peak.headroom)},
          {"host_headroom_bytes", exact(l.peak.host_headroom)}};
}

Json effect_json(PlanEffect const& e) {
  Json phases = Json::object();
  for (auto const& [phase, seconds] : e.phases) phases[std::string(name_of(phase))] = number(seconds.value);
  Json peaks = Json::object();
  for (auto const& [phase, more] : e.phase_peaks) peaks[std::string(name_of(phase))] = exact(more);
  return {{"knob", e.knob},
          {"from", e.from},
          {"to", e.to},
          {"step_seconds", e.step ? number(e.step->value) : Json()},
          {"stops", or_null(e.stops)},
          {"peak_bytes", exact(e.peak)},
          {"phase_seconds", phases},
          {"phase_peak_bytes", peaks}};
}

}  // namespace

std::string plan_text(Plan const& p) {
  std::string out = told(best_sentence(p));
  if (p.as_scheduled) out += told(schedule_sentence(p));
  out += told(minimum_sentence(p));
  out += told(fmt::format(
      "{} layouts can be written, {} are valid, {} fit by the memory ledger, {} were simulated ({}).",
      p.written, p.valid, p.fitting, p.simulated, p.exhaustive ? "all that fit" : "a guided search"));
  if (p.pools_are_fixed)
    out += told("The file has pools, so engines beside the trainer were not tried; take pools out for that.");
  if (!p.best.empty()) out += "\nTo use the best\n" + paste_text(p.best.front());
  if (p.as_scheduled)
    out += fmt::format("\nTo stay {}\n", p.as_scheduled->schedule) + paste_text(*p.as_scheduled);
  if (p.minimum && (p.best.empty() || p.minimum->gpus != p.gpus))
    out += fmt::format("\nTo use {} GPU{}\n", p.minimum->gpus, p.minimum->gpus == 1 ? "" : "s") +
           paste_text(p.minimum->layout);
  if (!p.best.empty()) out += best_table(p) + effects_table(p);
  return out;
}

std::string plan_json(Plan const& p) {
  Json best = Json::array();
  for (PlannedLayout const& l : p.best) best.push_back(layout_json(l));
  Json effects = Json::array();
  for (PlanEffect const& e : p.effects) effects.push_back(effect_json(e));
  Json minimum;
  if (p.minimum) minimum = {{"gpus", p.minimum->gpus}, {"layout", layout_json(p.minimum->layout)}};
  Json shortage;
  if (p.shortage) shortage = {{"what", p.shortage->what}, {"layout", layout_json(p.shortage->layout)}};
  Json const j = {{"schema", 1},
                  {"scenario", p.scenario},
                  {"seed", p.seed},
                  {"gpus", p.gpus},
                  {"layouts",
                   {{"written", p.written},
                    {"valid", p.valid},
                    {"fitting", p.fitting},
                    {"simulated", p.simulated},
                    {"exhaustive", p.exhaustive}}},
                  {"best", best},
                  {"as_scheduled", p.as_scheduled ? layout_json(*p.as_scheduled) : Json()},
                  {"shortage", shortage},
                  {"minimum", minimum},
                  {"too_few_gpus", p.too_few},
                  {"sensitivity", effects}};
  return j.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string plan_csv(Plan const& p) {
  std::string out = "rank,outcome,step_seconds,seconds_per_sample,peak_bytes,placement,schedule";
  if (!p.runs.empty()) {
    for (auto const& [knob, value] : p.runs.front().values) out += "," + csv_field(knob);
  }
  out += "\n";
  int rank = 0;
  for (PlannedLayout const& l : p.runs) {
    double const each = seconds_per_sample(l.headline);
    bool const ran = std::isfinite(each);
    out += fmt::format("{},{},{},{},{:.0f},{},{}", ++rank, name_of(l.headline.outcome),
                       ran ? fmt::format("{}", nine_digits(l.headline.step.value)) : "",
                       ran ? fmt::format("{}", nine_digits(each)) : "", l.peak.bytes.value,
                       csv_field(l.placement), l.schedule);
    for (auto const& [knob, value] : l.values) out += "," + csv_field(value);
    out += "\n";
  }
  return out;
}

}  // namespace rollcast
