#include "reports/html_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "reports/html_page.hpp"
#include "reports/html_series.hpp"
#include "reports/html_serving.hpp"
#include "reports/incident_report.hpp"
#include "reports/json_values.hpp"
#include "reports/serving_text.hpp"
#include "reports/terminal.hpp"
#include "reports/text_layout.hpp"

namespace rollcast {
namespace {

using Json = nlohmann::ordered_json;

// Bounds of what goes into a page.
constexpr std::size_t kTextLength = 600;
constexpr std::size_t kPeaks = 48;
constexpr std::size_t kHappenings = 200;
constexpr std::size_t kNotes = 100;
constexpr std::size_t kMeasured = 60;
constexpr std::size_t kStepTimes = 500;

Json gib(Bytes b) { return nine_digits(b / GiB(1)); }

std::string shown(std::string_view text) {
  if (text.size() <= kTextLength) return printable(text);
  return printable(text.substr(0, kTextLength)) + "...";
}

std::string pool_name(Analysis const& a, int pool) {
  return shown(a.pools[static_cast<std::size_t>(pool)].name);
}

Json card(std::string const& name, std::string const& value, std::string const& note) {
  return {{"name", name}, {"value", value}, {"note", note}, {"tone", ""}};
}

void add_trouble_cards(Analysis const& a, Json& out) {
  if (a.outcome == Outcome::oom && !a.ooms.empty()) {
    OomRecord const& o = a.ooms.front();
    Json when = card("Out of memory", format(o.time),
                     fmt::format("rank {} of {}, {} of {}", o.rank, pool_name(a, o.pool), name_of(o.phase),
                                 step_name(o.step)));
    when["tone"] = "bad";
    out.push_back(when);
    out.push_back(card("Allocation", format(o.requested),
                       fmt::format("{}; {} is free", shown(o.allocation), format(o.free))));
  }
  if (a.happenings.size() < 2) return;
  Happening const& last = a.happenings.back();
  bool const ends = last.kind == HappeningKind::ends;
  Seconds const length = last.time - a.happenings.front().time;
  double const lost = length.value * static_cast<double>(a.gpus) / 3600;
  Json end = card("After the cause", ends ? format(length) : "no end",
                  ends ? fmt::format("until the job is over: {:.3g} GPU hours lost", lost)
                       : fmt::format("nobody ends it: {} GPU hours an hour", a.gpus));
  end["tone"] = "bad";
  out.push_back(end);
}

void add_rate_cards(Analysis const& a, Json& out) {
  StepTimes const& t = a.step;
  out.push_back(card("Step time", format(t.mean),
                     t.steps > 1
                         ? fmt::format("p10-p90 {} to {}, {} steps", format(t.p10), format(t.p90), t.steps)
                         : "one step"));
  if (a.tokens_per_second_per_gpu > 0) {
    out.push_back(card("Throughput", fmt::format("{:.4g} tokens/s/GPU", a.tokens_per_second_per_gpu),
                       fmt::format("{:.3g} samples/s on {}", a.samples_per_second, gpus_text(a))));
  }
  out.push_back(card("Cost of a step", fmt::format("{:.3g} GPU hours", a.gpu_hours_per_step),
                     fmt::format("{} GPUs for {}", a.gpus, format(t.mean))));
}

void add_serving_cards(Analysis const& a, Json& out) {
  ServingFigures const& f = *a.serving;
  out.push_back(card("Throughput", fmt::format("{:.3g} requests/s", f.requests_per_second),
                     fmt::format("{:.4g} output tokens/s on {}", f.output_tokens_per_second, gpus_text(a))));
  if (asks(f.objective))
    out.push_back(card("In time", percent(f.in_time_share),
                       fmt::format("goodput {:.3g} requests/s: {}", f.goodput, objective_text(f.objective))));
  auto const latency = [&](char const* name, LatencyFigures const& l) {
    out.push_back(
        card(name, format(l.p50), fmt::format("median; p90 {}, p99 {}", format(l.p90), format(l.p99))));
  };
  latency("First token", f.ttft);
  if (f.tpot) latency("A token after it", *f.tpot);
  latency("Whole answer", f.latency);
}

void add_busy_card(Analysis const& a, Json& out) {
  double busy = 0;
  double flops = 0;
  std::string each;
  for (PoolUse const& p : a.pools) {
    busy += p.busy_fraction * p.gpus;
    flops += p.mfu * p.gpus;
    if (a.pools.size() > 1)
      each += fmt::format("{}{} {}", each.empty() ? "" : ", ", shown(p.name), percent(p.busy_fraction));
  }
  if (a.gpus > 0) {
    double const gpus = static_cast<double>(a.gpus);
    Json use = card("GPUs busy", percent(busy / gpus), each.empty() ? "MFU " + percent(flops / gpus) : each);
    use["share"] = number(busy / gpus);
    out.push_back(use);
  }
}

void add_memory_card(Analysis const& a, Json& out) {
  LedgerPeak const* most = nullptr;
  for (LedgerPeak const& l : a.ledgers) {
    if (most == nullptr || most->bytes.value * l.capacity.value < l.bytes.value * most->capacity.value)
      most = &l;
  }
  if (most == nullptr || !(most->capacity.value > 0)) return;
  double const share = most->bytes / most->capacity;
  Json memory =
      card("Memory peak", format(most->bytes),
           fmt::format("{} of {} in {}", percent(share), format(most->capacity), name_of(most->phase)));
  memory["share"] = number(share);
  if (share > 1) memory["tone"] = "bad";
  out.push_back(memory);
}

Json cards_json(Analysis const& a) {
  Json out = Json::array();
  add_trouble_cards(a, out);
  if (serves(a)) {
    add_serving_cards(a, out);
  } else if (a.step.steps > 0) {
    add_rate_cards(a, out);
  }
  if (a.step.steps > 0) add_busy_card(a, out);
  add_memory_card(a, out);
  if (a.weight_sync && a.step.steps > 0) {
    Seconds exposed;
    for (PhaseTime const& p : a.phases) {
      if (p.phase == Phase::weight_sync) exposed = max(exposed, p.exposed);
    }
    out.push_back(
        card("Weight sync", format(sync_time(a)), fmt::format("a step, {} of it exposed", format(exposed))));
  }
  if (a.samples.mean_staleness && *a.samples.mean_staleness > 0) {
    out.push_back(card("Staleness", fmt::format("{:.3g} updates", *a.samples.mean_staleness),
                       "mean age of a sample when it is trained on"));
  }
  if (a.preemptions > 0)
    out.push_back(
        card("Preemptions", fmt::format("{}", a.preemptions), "sequences that lost their KV pages"));
  return out;
}

Json steps_json(EventLog const& log, Analysis const& a) {
  if (a.step.steps == 0) return nullptr;
  StepTimes const& t = a.step;
  Json each = Json::array();
  if (log.steps.size() <= kStepTimes) {
    for (StepRecord const& s : log.steps) each.push_back(number(s.end - s.start));
  }
  return {{"mean", number(t.mean)}, {"p10", number(t.p10)}, {"p50", number(t.p50)},
          {"p90", number(t.p90)},   {"count", t.steps},     {"seconds", each}};
}

Json phases_json(Analysis const& a) {
  Json out = Json::array();
  for (PhaseTime const& p : a.phases) {
    Json activities = Json::object();
    for (std::size_t k = 0; k < kActivities; ++k) {
      if (p.by_activity[k].value > 0)
        activities[std::string(name_of(static_cast<Activity>(k)))] = number(p.by_activity[k]);
    }
    bool const shared = a.step.steps > 0 && a.step.mean.value > 0;
    out.push_back({{"name", name_of(p.phase)},
                   {"pool", pool_name(a, p.pool)},
                   {"mean", number(p.mean)},
                   {"exposed", number(p.exposed)},
                   {"share", shared ? number(p.mean / a.step.mean) : Json()},
                   {"activities", activities}});
  }
  return out;
}

Json utilization_json(Analysis const& a) {
  Json out = Json::array();
  if (a.step.steps == 0) return out;
  for (PoolUse const& p : a.pools) {
    Json idle = Json::object();
    for (auto const& [cause, fraction] : p.idle_by_cause) {
      if (fraction >= 0.0005) idle[cause] = number(fraction);
    }
    out.push_back({{"pool", shown(p.name)},
                   {"gpu", shown(p.gpu)},
                   {"gpus", p.gpus},
                   {"busy", number(p.busy_fraction)},
                   {"mfu", number(p.mfu)},
                   {"mbu", number(p.mbu)},
                   {"idle", idle}});
  }
  return out;
}

// Fullest first.
std::vector<LedgerPeak> fullest(Analysis const& a) {
  std::vector<LedgerPeak> out = a.ledgers;
  std::stable_sort(out.begin(), out.end(), [](LedgerPeak const& x, LedgerPeak const& y) {
    return y.bytes.value * x.capacity.value < x.bytes.value * y.capacity.value;
  });
  return out;
}

Json peaks_json(Analysis const& a) {
  Json out = Json::array();
  for (LedgerPeak const& l : fullest(a)) {
    if (out.size() == kPeaks) break;
    Json parts = Json::array();
    for (MemoryShare const& s : l.shares) {
      if (s.bytes.value >= l.bytes.value * 0.01)
        parts.push_back(
            {{"name", fmt::format("{} {}", name_of(s.role), name_of(s.category))}, {"gib", gib(s.bytes)}});
    }
    out.push_back({{"name", shown(l.name)},
                   {"pool", pool_name(a, l.pool)},
                   {"ranks", l.ranks},
                   {"gib", gib(l.bytes)},
                   {"capacity", gib(l.capacity)},
                   {"phase", name_of(l.phase)},
                   {"host", gib(l.host_bytes)},
                   {"parts", parts}});
  }
  return out;
}

Json weight_sync_json(Analysis const& a) {
  if (!a.weight_sync || a.weight_sync->causes.size() < 2) return nullptr;
  Json causes = Json::array();
  for (SyncShare const& s : a.weight_sync->causes) {
    if (causes.size() == kNotes) break;
    causes.push_back({{"name", shown(s.cause)}, {"seconds", number(s.time)}});
  }
  std::string heading = format(sync_time(a)) + " a step";
  if (auto const over = sync_over_wire(a)) heading += fmt::format(", {:.3g} x its wire alone", *over);
  return {{"heading", heading + "; parts may run side by side"}, {"causes", causes}};
}

Json path_json(Analysis const& a) {
  Json out = Json::array();
  for (PathShare const& p : a.critical_path)
    out.push_back({{"phase", p.phase}, {"cause", p.cause}, {"seconds", number(p.seconds)}});
  return out;
}

Json levers_json(Analysis const& a) {
  Json out = Json::array();
  for (Lever const& l : a.levers) {
    out.push_back({{"pool", a.pools.size() < 2 ? "" : pool_name(a, l.pool)},
                   {"text", advice(l.kind)},
                   {"seconds", number(l.at_most)},
                   {"share", number(l.at_most / a.step.mean)}});
  }
  return out;
}

Json incident_json(Analysis const& a) {
  if (a.happenings.empty()) return nullptr;
  Json happenings = Json::array();
  for (Happening const& h : a.happenings) {
    if (happenings.size() == kHappenings) break;
    happenings.push_back({{"time", number(h.time)},
                          {"until", number(h.until)},
                          {"kind", name_of(h.kind)},
                          {"what", shown(h.what)}});
  }
  Json sooner = Json::array();
  for (Remedy const& r : a.remedies) {
    if (sooner.size() < kNotes) sooner.push_back(shown(remedy_text(a, r)));
  }
  return {{"happenings", happenings},
          {"left_out", a.happenings.size() - happenings.size()},
          {"cost", cost_sentence(a)},
          {"sooner", sooner}};
}

Json measured_json(Analysis const& a) {
  if (a.measured.empty()) return nullptr;
  Json values = Json::array();
  for (Comparison const& c : a.measured) {
    if (values.size() == kMeasured) break;
    values.push_back({{"name", shown(c.name)},
                      {"measured", number(c.measured)},
                      {"forecast", c.forecast ? number(*c.forecast) : Json()}});
  }
  return {{"source", shown(a.measured_source)}, {"values", values}};
}

Json prices_json(Analysis const& a) {
  Json out = Json::array();
  for (PoolUse const& p : a.pools) {
    std::string const words = shown(sentence(p.prices));
    if (words.empty()) continue;
    auto const told =
        std::find_if(out.begin(), out.end(), [&](Json const& j) { return j["sentence"] == words; });
    if (told != out.end()) {
      (*told)["pools"].push_back(shown(p.name));
      continue;
    }
    bool const known = p.prices.p90 > 0;
    out.push_back({{"pools", {shown(p.name)}},
                   {"sentence", words},
                   {"median", known ? number(p.prices.median) : Json()},
                   {"p90", known ? number(p.prices.p90) : Json()}});
  }
  return out;
}

Json notes_json(Analysis const& a) {
  Json out = Json::array();
  for (std::string const& n : a.notes) {
    if (out.size() < kNotes) out.push_back(shown(n));
  }
  return out;
}

std::string message_of(Analysis const& a) {
  if (a.ooms.empty()) return {};
  OomRecord const& o = a.ooms.front();
  return o.kind == OomKind::torch && o.figures && o.figures->tried > 0 ? message(*o.figures, 0) : "";
}

}  // namespace

Json html_data(EventLog const& log, Analysis const& a) {
  Json pools = Json::array();
  for (PoolUse const& p : a.pools) pools.push_back(shown(p.name));
  TimeRange const range = whole_range(log);
  Json out = {{"scenario", shown(a.scenario)},
              {"seed", a.seed},
              {"outcome", name_of(a.outcome)},
              {"headline", verdict(a)},
              {"summary", summary(a)},
              {"samples", samples_sentence(a)},
              {"message", message_of(a)},
              {"cards", cards_json(a)},
              {"steps", steps_json(log, a)},
              {"pools", pools},
              {"range", {number(range.start), number(range.end)}},
              {"timeline", timeline_json(log)},
              {"phases", phases_json(a)},
              {"utilization", utilization_json(a)},
              {"engines", engines_json(log, range)},
              {"memory", memory_series_json(log, range)},
              {"peaks", peaks_json(a)},
              {"peaks_left_out", a.ledgers.size() - std::min(a.ledgers.size(), kPeaks)},
              {"links", links_json(log, range)},
              {"weight_sync", weight_sync_json(a)},
              {"critical_path", path_json(a)},
              {"levers", levers_json(a)},
              {"incident", incident_json(a)},
              {"long_run", nullptr},
              {"measured", measured_json(a)},
              {"prices", prices_json(a)},
              {"notes", notes_json(a)}};
  if (serves(a)) {  // of steps there is nothing to say
    for (char const* const of_steps : {"phases", "critical_path"}) out[of_steps] = Json::array();
    out["steps"] = nullptr;
    out["serving"] = html_serving_json(*log.serving, *a.serving, range);
  }
  if (a.long_run)
    out["long_run"] = {{"heading", goodput_heading(*a.long_run)}, {"text", goodput_text(*a.long_run, 96)}};
  return out;
}

std::string run_page(EventLog const& log, Analysis const& a) { return html_page("run", html_data(log, a)); }

}  // namespace rollcast
