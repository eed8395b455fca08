#include "reports/terminal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/serving_text.hpp"
#include "reports/terminal_page.hpp"
#include "reports/text_layout.hpp"

namespace rollcast {
namespace {

constexpr int kMemoryBar = 16;
constexpr int kNameColumns = TerminalPage::kNameColumns;

double share_of(Seconds part, Seconds whole) { return whole.value > 0 ? part / whole : 0; }

std::string fit(std::string const& name) { return TerminalPage::fit(name); }

std::string phase_name(Analysis const& a, PhaseTime const& p) {
  std::string name(name_of(p.phase));
  if (a.pools.size() < 2) return name;
  return fmt::format("{} ({})", name, printable(a.pools[static_cast<std::size_t>(p.pool)].name));
}

// The phases that take most of the step, up to four, those of 3 % and more.
std::string main_phases(Analysis const& a) {
  std::vector<PhaseTime> phases = a.phases;
  std::stable_sort(phases.begin(), phases.end(),
                   [](PhaseTime const& x, PhaseTime const& y) { return y.mean < x.mean; });
  std::string out;
  for (std::size_t i = 0; i < phases.size() && i < 4; ++i) {
    double const share = share_of(phases[i].mean, a.step.mean);
    if (share < 0.03) break;
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", phase_name(a, phases[i]), percent(share));
  }
  return out;
}

// The rank class that comes nearest to its card's capacity.
LedgerPeak const* tightest(Analysis const& a) {
  LedgerPeak const* out = nullptr;
  for (LedgerPeak const& l : a.ledgers) {
    if (out == nullptr || out->bytes.value * l.capacity.value < l.bytes.value * out->capacity.value) out = &l;
  }
  return out;
}

std::string memory_clause(Analysis const& a) {
  LedgerPeak const* const l = tightest(a);
  return l == nullptr ? ""
                      : fmt::format("; memory peak {} of {} in {}", format(l->bytes), format(l->capacity),
                                    name_of(l->phase));
}

std::string step_sentence(Analysis const& a) {
  StepTimes const& t = a.step;
  std::string out = "One step takes " + format(t.mean);
  if (t.steps > 1) out += fmt::format(" (p10-p90 {} to {})", format(t.p10), format(t.p90));
  out += " on " + gpus_text(a);
  std::string const phases = main_phases(a);
  if (!phases.empty()) out += ": " + phases;
  return out + memory_clause(a) + ".";
}

std::string oom_sentence(Analysis const& a) {
  OomRecord const& o = a.ooms.front();
  std::string const where = o.micro_batch ? fmt::format(", micro-batch {}", *o.micro_batch + 1) : "";
  return fmt::format("Out of memory ({}): rank {} of {} in {} of {}{} at {}: {}.", name_of(o.kind), o.rank,
                     a.pools[static_cast<std::size_t>(o.pool)].name, name_of(o.phase), step_name(o.step),
                     where, format(o.time), needs_text(o));
}

std::string outcome_sentence(Analysis const& a) {
  std::string const reason = a.outcome_reason.empty() ? "" : ": " + a.outcome_reason;
  switch (a.outcome) {
    case Outcome::completed:
      return "The run completed no step" + reason + ".";
    case Outcome::oom:
      return a.ooms.empty() ? "Out of memory" + reason + "." : oom_sentence(a);
    case Outcome::stalled:
      return "The run stalls" + reason + ".";
    case Outcome::deadlock:
      return "The run deadlocks" + reason + ".";
    case Outcome::refused:
      return "The engine refuses to start" + reason + ".";
    case Outcome::failed:
      return "The run fails" + reason + ".";
    case Outcome::infeasible:
      return "This run is not possible" + reason + ".";
  }
  throw std::logic_error("no such Outcome");
}

// "0.25 weight updates (0: 75 %, 1: 25 %)"
std::string staleness_text(SampleUse const& s) {
  double all = 0;
  for (std::int64_t n : s.staleness) all += static_cast<double>(n);
  std::string shares;
  for (std::size_t k = 0; k < s.staleness.size(); ++k) {
    double const share = static_cast<double>(s.staleness[k]) / all;
    if (share > 0) shares += fmt::format("{}{}: {}", shares.empty() ? "" : ", ", k, percent(share));
  }
  return fmt::format("{:.3g} weight updates ({})", *s.mean_staleness, shares);
}

std::string samples_part(Analysis const& a, TerminalPage const& page) {
  std::string const words = samples_sentence(a);
  return words.empty() ? words : wrapped(words_of(words), " ", 0, page.width());
}

std::string prices_part(Analysis const& a, TerminalPage const& page) {
  std::vector<std::string> told;
  for (PoolUse const& p : a.pools) {
    std::string const words = printable(sentence(p.prices));
    if (!words.empty() && std::find(told.begin(), told.end(), words) == told.end()) told.push_back(words);
  }
  std::string out;
  for (std::string const& words : told) out += wrapped(words_of(words), " ", 0, page.width());
  return out;
}

std::vector<std::string> activity_items(PhaseTime const& p) {
  std::vector<std::string> out;
  for (std::size_t k = 0; k < kActivities; ++k) {
    double const share = share_of(p.by_activity[k], p.mean);
    if (share >= 0.01) out.push_back(fmt::format("{} {}", name_of(static_cast<Activity>(k)), percent(share)));
  }
  return out;
}

std::string phases_part(Analysis const& a, TerminalPage const& page) {
  if (a.phases.empty()) return {};
  int const bars = page.bar_width(kNameColumns + 22);
  int const indent = 2 + kNameColumns + 11 + 8 + bars + 2;
  std::string out = "\n" + page.bold("Where the time goes (mean per step)") + "\n";
  for (PhaseTime const& p : a.phases) {
    double const share = a.step.steps > 0 ? share_of(p.mean, a.step.mean) : 0;
    out += fmt::format("  {}{:>10} {:>7} {}  ", fit(phase_name(a, p)), format(p.mean), percent(share),
                       page.cyan(bar(share, bars)));
    out += wrapped(activity_items(p), ", ", indent, page.width());
  }
  return out;
}

// A single part needs no list.
std::string weight_sync_part(Analysis const& a, TerminalPage const& page) {
  if (!a.weight_sync || a.weight_sync->causes.size() < 2) return {};
  std::vector<std::string> items;
  for (SyncShare const& s : a.weight_sync->causes)
    items.push_back(fmt::format("{} {}", printable(s.cause), format(s.time)));
  std::string head = fmt::format("Weight sync, {} a step", format(sync_time(a)));
  if (auto const over = sync_over_wire(a)) head += fmt::format(", {:.3g} x its wire alone", *over);
  return "\n" + page.bold(head + " (parts may run side by side)") + "\n  " +
         wrapped(items, ", ", 2, page.width());
}

std::string utilization_part(Analysis const& a, TerminalPage const& page) {
  if (a.pools.empty() || a.step.steps == 0) return {};
  std::string out = "\n" + page.bold("Utilization (share of GPU time)") + "\n";
  for (PoolUse const& p : a.pools) {
    out += fmt::format("  {}busy {:>6}   MFU {:>6}   MBU while generating {:>6}\n", fit(p.name),
                       percent(p.busy_fraction), percent(p.mfu), percent(p.mbu));
    std::vector<std::string> idle;
    for (auto const& [cause, fraction] : p.idle_by_cause) {
      if (fraction >= 0.0005) idle.push_back(fmt::format("{} {}", cause, percent(fraction)));
    }
    if (idle.empty()) continue;
    out += std::string(2 + kNameColumns, ' ') + "idle: ";
    out += wrapped(idle, ", ", 2 + kNameColumns + 6, page.width());
  }
  return out;
}

std::string memory_part(Analysis const& a, TerminalPage const& page) {
  if (a.ledgers.empty()) return {};
  std::string out = "\n" + page.bold("Memory of one GPU at its peak, against the card") + "\n";
  for (LedgerPeak const& l : a.ledgers) {
    double const share = l.capacity.value > 0 ? l.bytes / l.capacity : 0;
    std::string const pool = a.pools.size() < 2 ? "" : a.pools[static_cast<std::size_t>(l.pool)].name + " ";
    std::string const full = bar(share, kMemoryBar);
    out += fmt::format("  {}{} {} of {} in {}\n", fit(pool + l.name),
                       share > 1 ? page.red(full) : page.cyan(full), format(l.bytes), format(l.capacity),
                       name_of(l.phase));
    std::vector<std::string> items;
    for (MemoryShare const& s : l.shares) {
      if (s.bytes.value >= l.bytes.value * 0.01)
        items.push_back(fmt::format("{} {} {}", name_of(s.role), name_of(s.category), format(s.bytes)));
    }
    if (l.torch_reserved.value > 0) {
      items.push_back(fmt::format("PyTorch at most {} in use, {} reserved", format(l.torch_allocated),
                                  format(l.torch_reserved)));
    }
    if (l.host_bytes.value > 0) items.push_back("host memory " + format(l.host_bytes));
    std::string const ranks = fmt::format("{} rank{}: ", l.ranks, l.ranks == 1 ? "" : "s");
    if (items.empty()) items.emplace_back("no ledger lines");
    items.front() = ranks + items.front();
    out += std::string(2 + kNameColumns, ' ') + wrapped(items, ", ", 2 + kNameColumns, page.width());
  }
  return out;
}

// What PyTorch would print.
std::string message_part(Analysis const& a, TerminalPage const& page) {
  if (a.ooms.empty()) return {};
  OomRecord const& o = a.ooms.front();
  if (o.kind != OomKind::torch || !o.figures || o.figures->tried == 0) return {};
  return "\n" + wrapped(words_of(message(*o.figures, 0)), " ", 0, page.width());
}

// The last thing of an incident; the rest is --incident's.
std::string incident_part(Analysis const& a, TerminalPage const& page) {
  if (a.happenings.size() < 2) return {};
  Happening const& last = a.happenings.back();
  Seconds const length = last.time - a.happenings.front().time;
  std::string const text = fmt::format("{} after the cause: {}. --incident tells it second by second.",
                                       format(length), printable(last.what));
  return "\n" + wrapped(words_of(text), " ", 0, page.width());
}

std::string levers_part(Analysis const& a, TerminalPage const& page) {
  constexpr std::size_t kMost = 4;
  if (a.levers.empty()) return {};
  std::string out =
      "\n" + page.bold("Biggest levers (what removing each would save per step, at most)") + "\n";
  for (std::size_t i = 0; i < std::min(a.levers.size(), kMost); ++i) {
    Lever const& l = a.levers[i];
    std::string const pool =
        a.pools.size() < 2 ? "" : printable(a.pools[static_cast<std::size_t>(l.pool)].name) + ": ";
    out += fmt::format("  {:>9} {:>6}  ", format(l.at_most), percent(share_of(l.at_most, a.step.mean)));
    out += wrapped(words_of(pool + advice(l.kind)), " ", 20, page.width());
  }
  return out;
}

std::string long_run_part(Analysis const& a, TerminalPage const& page) {
  if (!a.long_run) return {};
  return "\n" + page.bold(goodput_heading(*a.long_run)) + "\n" + goodput_text(*a.long_run, page.width());
}

std::string measured_part(Analysis const& a, TerminalPage const& page) {
  if (a.measured.empty()) return {};
  std::string const source = a.measured_source.empty() ? "" : " (" + printable(a.measured_source) + ")";
  std::string out = "\n" + page.bold("Beside the measured values" + source) + "\n";
  out += fmt::format("  {:<36}{:>10}{:>10}{:>11}\n", "", "measured", "forecast", "error");
  for (Comparison const& c : a.measured) {
    std::string const forecast = c.forecast ? fmt::format("{:.4g}", *c.forecast) : "none";
    std::string const error = c.forecast && std::fabs(c.measured) > 0
                                  ? fmt::format("{:+.1f} %", (*c.forecast / c.measured - 1) * 100)
                                  : "";
    std::string const line =
        fmt::format("  {:<36.36}{:>10.4g}{:>10}{:>11}", printable(c.name), c.measured, forecast, error);
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return out;
}

std::string notes_part(Analysis const& a, TerminalPage const& page) {
  if (a.notes.empty()) return {};
  std::string out = "\n" + page.bold("Notes") + "\n";
  for (std::string const& n : a.notes) out += "  - " + wrapped(words_of(printable(n)), " ", 4, page.width());
  return out;
}

}  // namespace

std::string verdict(Analysis const& a) {
  bool const forecast = a.outcome == Outcome::completed && a.step.steps > 0;
  if (!forecast) return printable(outcome_sentence(a));
  return printable(serves(a) ? serving_sentence(a) + memory_clause(a) + "." : step_sentence(a));
}

std::string gpus_text(Analysis const& a) {
  std::string out;
  for (PoolUse const& p : a.pools)
    out += fmt::format("{}{} x {}", out.empty() ? "" : " + ", p.gpus, printable(p.gpu));
  return out.empty() ? "no GPUs" : out;
}

std::string summary(Analysis const& a) {
  if (serves(a)) return serving_summary(a);
  std::string out = fmt::format("Scenario {}, seed {}, {} step{} simulated", printable(a.scenario), a.seed,
                                a.step.steps, a.step.steps == 1 ? "" : "s");
  if (a.step.steps > 0) {
    out += fmt::format(": {:.4g} tokens/s/GPU, {:.3g} samples/s, {:.3g} GPU hours a step",
                       a.tokens_per_second_per_gpu, a.samples_per_second, a.gpu_hours_per_step);
    if (a.preemptions > 0) out += fmt::format(", {} preemptions", a.preemptions);
  }
  return out + ".";
}

std::string samples_sentence(Analysis const& a) {
  SampleUse const& s = a.samples;
  std::vector<std::string> items;
  if (s.mean_staleness && *s.mean_staleness > 0) items.push_back("staleness " + staleness_text(s));
  if (s.generated > s.trained) {
    double const share = static_cast<double>(s.trained) / static_cast<double>(s.generated);
    items.push_back(fmt::format("{} of the generated ones are trained on", percent(share)));
  }
  if (s.with_signal && s.trained > 0) {
    double const share = static_cast<double>(*s.with_signal) / static_cast<double>(s.trained);
    items.push_back(fmt::format("{} of the trained ones have a signal", percent(share)));
  }
  if (s.padding_waste && *s.padding_waste >= 0.005)
    items.push_back(fmt::format("{} of the tokens of the update are padding", percent(*s.padding_waste)));
  if (items.empty()) return {};
  return fmt::format("Samples: {}.", fmt::join(items, ", "));
}

char const* advice(LeverKind k) {
  switch (k) {
    case LeverKind::rollout_tail:
      return "rollout tail: engines that are done wait for the longest responses; partial rollout, an "
             "asynchronous schedule or more engines per prompt shorten it";
    case LeverKind::switching:
      return "switching: wake, sleep and weight sync; disaggregated pools or fewer offloads avoid it";
    case LeverKind::pipeline_bubble:
      return "pipeline bubble: stages wait for each other; more micro-batches or fewer stages shrink it";
    case LeverKind::collective_wait:
      return "collective wait: ranks wait for slower ones; balance the tokens per rank";
    case LeverKind::phase_wait:
      return "phase wait: ranks that are done wait for the phase to end; balance the work per rank";
    case LeverKind::communication:
      return "exposed communication: transfers that nothing hides; overlap, larger buckets or another layout";
    case LeverKind::driver:
      return "driver: GPUs wait for scoring and batch work; more workers or overlap with generation";
  }
  throw std::logic_error("no such LeverKind");
}

std::string render_terminal(Analysis const& a, TerminalOptions const& options) {
  TerminalPage const page(options);
  std::string out = a.outcome == Outcome::completed ? page.bold(verdict(a)) : page.red(verdict(a));
  out += "\n\n" + wrapped(words_of(summary(a)), " ", 0, page.width());
  out += message_part(a, page);
  out += incident_part(a, page);
  out += samples_part(a, page);
  out += prices_part(a, page);
  out += serves(a) ? serving_part(*a.serving, page) : phases_part(a, page);
  out += weight_sync_part(a, page);
  out += utilization_part(a, page);
  out += memory_part(a, page);
  out += levers_part(a, page);
  out += long_run_part(a, page);
  out += measured_part(a, page);
  out += notes_part(a, page);
  return out;
}

}  // namespace rollcast
