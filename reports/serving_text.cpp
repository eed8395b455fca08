#include "reports/serving_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace rollcast {
namespace {

constexpr double kLeverShown = 0.01;
constexpr std::size_t kVariantsShown = 8;
constexpr ServingTime kAllTimes[] = {ServingTime::base, ServingTime::adapters, ServingTime::loads,
                                     ServingTime::switches, ServingTime::idle};

// Without an exponent.
std::string rate_text(double v) { return v < 9999.5 ? fmt::format("{:.4g}", v) : fmt::format("{:.0f}", v); }

double busy_share(Analysis const& a) {
  double busy = 0;
  for (PoolUse const& p : a.pools) busy += p.busy_fraction * p.gpus;
  return a.gpus > 0 ? busy / static_cast<double>(a.gpus) : 0;
}

std::string latency_line(char const* name, LatencyFigures const& l) {
  return fmt::format("  {:<26}{:>10}{:>10}{:>10}{:>10}{:>10}\n", name, format(l.mean), format(l.p50),
                     format(l.p90), format(l.p99), format(l.max));
}

std::string latencies_part(ServingFigures const& f, TerminalPage const& page) {
  std::string out = "\n" + page.bold(fmt::format("Latencies of {} requests", f.requests)) + "\n";
  out += fmt::format("  {:<26}{:>10}{:>10}{:>10}{:>10}{:>10}\n", "", "mean", "p50", "p90", "p99", "max");
  out += latency_line("time to first token", f.ttft);
  if (f.tpot) out += latency_line("time of a token after it", *f.tpot);
  out += latency_line("whole answer", f.latency);
  if (asks(f.objective))
    out += "  " +
           wrapped(words_of(fmt::format("In time ({}): {}, {:.3g} requests/s.", objective_text(f.objective),
                                        percent(f.in_time_share), f.goodput)),
                   " ", 2, page.width());
  return out;
}

Seconds sum_of(ServingTimes const& t) { return std::accumulate(t.begin(), t.end(), Seconds(0)); }

std::string times_part(ServingFigures const& f, TerminalPage const& page) {
  Seconds const whole = sum_of(f.times);
  if (!(whole.value > 0)) return {};
  int const bars = page.bar_width(TerminalPage::kNameColumns + 22);
  std::string out = "\n" + page.bold("Where the GPUs' time goes (GPU time of a request)") + "\n";
  for (ServingTime const t : kAllTimes) {
    Seconds const part = time_of(f.times, t);
    if (part.value > 0)
      out += fmt::format("  {}{:>10} {:>7} {}\n", TerminalPage::fit(label_of(t, f.execution)), format(part),
                         percent(part / whole), page.cyan(bar(part / whole, bars)));
  }
  return out;
}

std::string use_text(ServingFigures const& f) {
  std::string out = fmt::format("{} of {}", f.used, f.adapters);
  if (f.distinct_per_step) out += fmt::format(", {:.3g} in a step in the mean", *f.distinct_per_step);
  if (auto const share = kernel_share(f); share && *share > 0)
    out += fmt::format("; {} of the time in steps is theirs", percent(*share));
  return out;
}

std::string loads_text(ServingFigures const& f) {
  AdapterUse const& u = f.use;
  std::string out = fmt::format("{}", u.loads);
  if (u.storage_loads > 0) out += fmt::format(" ({} of them from storage first)", u.storage_loads);
  out += fmt::format(", {} in all", format(u.moved));
  if (f.hit_share) out += fmt::format("; {} of the requests found theirs there", percent(*f.hit_share));
  if (u.evictions > 0) out += fmt::format(", {} evicted", u.evictions);
  if (u.load_time.value > 0)
    out += fmt::format("; they took {}: {} hidden behind steps, {} exposed", format(u.load_time),
                       format(u.load_time - u.exposed), format(u.exposed));
  return out;
}

std::string memory_text(ServingFigures const& f) {
  if (f.pool == AdapterPool::unified)
    return fmt::format("in KV pages: at most {} adapters in {} pages of an engine", f.use.peak_resident,
                       f.use.peak_pages);
  std::string out = fmt::format("{} slot{} of {} on a GPU, {} in all", f.slots, f.slots == 1 ? "" : "s",
                                format(f.slot), format(f.slot * f.slots));
  if (f.wasted.value > 0)
    out += fmt::format("; {} of it ({}) is more than the adapters' own ranks and targets need",
                       format(f.wasted), percent(f.wasted / (f.slot * f.slots)));
  return out;
}

std::string variant_text(AdapterFacts const& v, bool merges) {
  std::string out = fmt::format("on {}: {}, {} on a GPU; loaded in {} from host memory", printable(v.targets),
                                format(v.bytes), format(v.rank_bytes), format(v.cold_load));
  return merges ? out + ", merged in " + format(v.merge) : out;
}

std::string adapters_part(ServingFigures const& f, TerminalPage const& page) {
  auto const facts = adapter_facts(f);
  if (facts.empty()) return {};
  std::string out = "\n" + page.bold("Adapters") + "\n";
  for (auto const& [name, text] : facts)
    out += "  " + TerminalPage::fit(name) +
           wrapped(words_of(text), " ", 2 + TerminalPage::kNameColumns, page.width());
  return out;
}

std::string tenant_text(TenantFigures const& t, Seconds TenantFigures::*by) {
  std::string const who = t.adapter < 0 ? "no adapter" : fmt::format("adapter {}", t.adapter);
  return fmt::format("{} {} ({})", who, format(t.*by), t.requests);
}

std::string tenants_part(ServingFigures const& f, TerminalPage const& page) {
  if (f.tenants < 2) return {};
  std::string out =
      "\n" + page.bold(fmt::format("Fairness between {} tenants (requests in brackets)", f.tenants)) + "\n";
  out += fmt::format(
      "  Jain's index of their tokens per second: {:.3f} (1: all alike, also who asks for more)\n",
      f.fairness);
  auto const list = [&](char const* label, std::vector<TenantFigures> const& tenants,
                        Seconds TenantFigures::*by) {
    std::vector<std::string> items;
    for (TenantFigures const& t : tenants) items.push_back(tenant_text(t, by));
    out +=
        "  " + TerminalPage::fit(label) + wrapped(items, ", ", 2 + TerminalPage::kNameColumns, page.width());
  };
  list("slowest in the mean", f.slowest, &TenantFigures::mean_latency);
  list("slowest at p99", f.slowest_by_p99, &TenantFigures::p99_latency);
  return out;
}

std::string levers_part(ServingFigures const& f, TerminalPage const& page) {
  Seconds const whole = sum_of(f.times);
  std::vector<ServingTime> levers;
  for (ServingTime const t : kAllTimes) {
    if (advice(t, f.execution) != nullptr && time_of(f.times, t).value >= kLeverShown * whole.value &&
        whole.value > 0)
      levers.push_back(t);
  }
  if (levers.empty()) return {};
  std::stable_sort(levers.begin(), levers.end(),
                   [&](ServingTime a, ServingTime b) { return time_of(f.times, b) < time_of(f.times, a); });
  std::string out =
      "\n" + page.bold("Biggest levers (GPU time of a request that removing each would save, at most)") +
      "\n";
  for (ServingTime const t : levers) {
    Seconds const part = time_of(f.times, t);
    out += fmt::format("  {:>9} {:>6}  ", format(part), percent(part / whole));
    out += wrapped(words_of(advice(t, f.execution)), " ", 20, page.width());
  }
  return out;
}

}  // namespace

bool serves(Analysis const& a) { return a.serving && a.serving->requests > 0; }

std::string objective_text(ServiceObjective const& o) {
  std::string out;
  auto const add = [&](std::string const& text) { out += (out.empty() ? "" : ", ") + text; };
  if (o.ttft.value > 0) add("first token within " + format(o.ttft));
  if (o.tpot.value > 0) add(format(o.tpot) + " a token after it");
  if (o.latency.value > 0) add("whole answer within " + format(o.latency));
  return out;
}

char const* label_of(ServingTime t, AdapterExecution execution) {
  switch (t) {
    case ServingTime::base:
      return "base model's steps";
    case ServingTime::adapters:
      return execution == AdapterExecution::split ? "further forwards" : "adapters in steps";
    case ServingTime::loads:
      return "waits for loads";
    case ServingTime::switches:
      return "merging, unmerging";
    case ServingTime::idle:
      return "idle";
  }
  throw std::logic_error("no such ServingTime");
}

std::vector<std::pair<std::string, std::string>> adapter_facts(ServingFigures const& f) {
  std::vector<std::pair<std::string, std::string>> out;
  if (f.execution == AdapterExecution::none) return out;
  out.emplace_back("used", use_text(f));
  if (f.use.loads + f.use.hits > 0) out.emplace_back("loads", loads_text(f));
  if (f.use.switches > 0)
    out.emplace_back("switches",
                     fmt::format("{} of {} each", f.use.switches,
                                 format(f.use.switch_time / static_cast<double>(f.use.switches))));
  bool const merges = f.execution == AdapterExecution::merged || f.execution == AdapterExecution::deployments;
  if (!merges) out.emplace_back(fmt::format("{} pool", name_of(f.pool)), memory_text(f));
  for (std::size_t i = 0; i < std::min(f.variants.size(), kVariantsShown); ++i)
    out.emplace_back(fmt::format("rank {}", f.variants[i].rank), variant_text(f.variants[i], merges));
  if (f.variants.size() > kVariantsShown)
    out.emplace_back("others", fmt::format("{} more variants", f.variants.size() - kVariantsShown));
  return out;
}

std::string in_flight_text(ServingFigures const& f) {
  auto const text = [](double v) { return v < 999.5 ? fmt::format("{:.3g}", v) : fmt::format("{:.0f}", v); };
  return fmt::format("{} requests in flight, {} of them without a first token", text(f.in_flight),
                     text(f.waiting));
}

std::string adapters_text(ServingFigures const& f) {
  std::string const count = fmt::format("{} adapter{}", f.adapters, f.adapters == 1 ? "" : "s");
  switch (f.execution) {
    case AdapterExecution::none:
      return "the base model alone";
    case AdapterExecution::batched:
      return count + " in one batch";
    case AdapterExecution::split:
      return count + ", batches split by adapter";
    case AdapterExecution::merged:
      return count + " merged in turn";
    case AdapterExecution::deployments:
      return count + ", a deployment each";
  }
  throw std::logic_error("no such AdapterExecution");
}

std::string serving_sentence(Analysis const& a) {
  ServingFigures const& f = *a.serving;
  std::string out = fmt::format("{:.3g} requests/s are served on {} with {}: first token after {}, p99 {}",
                                f.requests_per_second, gpus_text(a), adapters_text(f), format(f.ttft.p50),
                                format(f.ttft.p99));
  if (asks(f.objective))
    out += fmt::format("; {} in time, goodput {:.3g} requests/s", percent(f.in_time_share), f.goodput);
  return out + "; GPUs busy " + percent(busy_share(a));
}

std::string serving_summary(Analysis const& a) {
  ServingFigures const& f = *a.serving;
  std::string out =
      fmt::format("Scenario {}, seed {}, {} requests in {}: {} output tokens/s, {} tokens/s with prompts",
                  printable(a.scenario), a.seed, f.requests, format(f.span),
                  rate_text(f.output_tokens_per_second), rate_text(f.total_tokens_per_second));
  if (a.gpus > 0)
    out += fmt::format(" ({} a GPU)", rate_text(f.total_tokens_per_second / static_cast<double>(a.gpus)));
  if (f.offered > 0) out += fmt::format("; {} requests a second come", rate_text(f.offered));
  out += fmt::format("; in the mean {}", in_flight_text(f));
  if (a.preemptions > 0) out += fmt::format("; {} preemptions", a.preemptions);
  return out + ".";
}

std::string serving_part(ServingFigures const& f, TerminalPage const& page) {
  return latencies_part(f, page) + times_part(f, page) + adapters_part(f, page) + tenants_part(f, page) +
         levers_part(f, page);
}

char const* advice(ServingTime part, AdapterExecution execution) {
  switch (part) {
    case ServingTime::base:
      return nullptr;
    case ServingTime::adapters:
      return execution == AdapterExecution::split
                 ? "further forwards: a batch is computed once for each of its adapters; batched execution "
                   "computes the base model once for all"
                 : "adapters in steps: kernels beside fewer projections (of adapters in slots vLLM runs them "
                   "beside all, of a "
                   "unified pool beside the targets), own or smaller ranks and fewer adapters in a batch are "
                   "cheaper";
    case ServingTime::loads:
      return "waits for loads: overlapped loading with prefetch, more slots, or more adapters in host memory "
             "hide or avoid them";
    case ServingTime::switches:
      return "merging and unmerging: batched execution needs none; order grouped makes them fewer";
    case ServingTime::idle:
      return "idle: no request is there to be computed, or none fits; more requests, or fewer engines";
  }
  throw std::logic_error("no such ServingTime");
}

}  // namespace rollcast
