#include "reports/serving_figures.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <stdexcept>

namespace rollcast {
namespace {

constexpr double kNoIdle = 1e-9;  // of the run: rounding

// Of values in any order, which it moves: their order statistics are found one after another, so that nothing
// is sorted whole. Shares in ascending order.
class Quantiles {
 public:
  explicit Quantiles(std::span<double> values) : values_(values) {}

  double at(double share) {
    double const place = share * static_cast<double>(values_.size() - 1);
    auto const low = static_cast<std::size_t>(std::floor(place));
    auto const begin = values_.begin();
    auto const found = begin + static_cast<std::ptrdiff_t>(low);
    std::nth_element(begin + static_cast<std::ptrdiff_t>(sorted_), found, values_.end());
    sorted_ = low;
    double const value = *found;
    double const part = place - static_cast<double>(low);
    return part > 0 ? value + (*std::min_element(found + 1, values_.end()) - value) * part : value;
  }

 private:
  std::span<double> values_;
  std::size_t sorted_ = 0;  // what stands before is smaller
};

LatencyFigures latency_figures(std::vector<double> values) {
  LatencyFigures f;
  double sum = 0;
  for (double const v : values) sum += v;
  f.mean = Seconds(sum / static_cast<double>(values.size()));
  f.max = Seconds(*std::max_element(values.begin(), values.end()));
  Quantiles quantiles(values);
  f.p50 = Seconds(quantiles.at(0.5));
  f.p90 = Seconds(quantiles.at(0.9));
  f.p99 = Seconds(quantiles.at(0.99));
  return f;
}

void add_latencies(ServingLog const& log, ServingFigures& f) {
  std::vector<double> ttft, tpot, latency;
  ttft.reserve(log.requests.size());
  tpot.reserve(log.requests.size());
  latency.reserve(log.requests.size());
  for (ServedRequest const& r : log.requests) {
    ttft.push_back((r.first_token - r.arrival).value);
    latency.push_back((r.finish - r.arrival).value);
    if (auto const t = tpot_of(r)) tpot.push_back(t->value);
  }
  f.ttft = latency_figures(std::move(ttft));
  f.latency = latency_figures(std::move(latency));
  if (!tpot.empty()) f.tpot = latency_figures(std::move(tpot));
}

void add_rates(ServingLog const& log, ServingFigures& f) {
  Seconds start = log.requests.front().arrival, end;
  for (ServedRequest const& r : log.requests) {
    start = min(start, r.arrival);
    end = max(end, r.finish);
    f.prompt_tokens += r.prompt_tokens;
    f.response_tokens += r.response_tokens;
    f.in_time += is_in_time(r, log.objective) ? 1 : 0;
  }
  auto const requests = static_cast<double>(f.requests);
  f.in_time_share = static_cast<double>(f.in_time) / requests;
  f.span = end - start;
  if (f.span < us(0.001)) return;
  f.requests_per_second = requests / f.span.value;
  Seconds const coming = log.requests.back().arrival - log.requests.front().arrival;
  f.offered = coming > Seconds(0) ? (requests - 1) / coming.value : 0;
  f.output_tokens_per_second = static_cast<double>(f.response_tokens) / f.span.value;
  f.total_tokens_per_second = static_cast<double>(f.prompt_tokens + f.response_tokens) / f.span.value;
  f.goodput = static_cast<double>(f.in_time) / f.span.value;
  f.in_flight = f.requests_per_second * f.latency.mean.value;  // Little's law
  f.waiting = f.requests_per_second * f.ttft.mean.value;
}

void add_use(ServingLog const& log, Seconds run, std::int64_t gpus, ServingFigures& f) {
  AdapterUse& all = f.use;
  for (AdapterUse const& u : log.engines) {
    for (std::int64_t AdapterUse::*count :
         {&AdapterUse::loads, &AdapterUse::storage_loads, &AdapterUse::hits, &AdapterUse::evictions,
          &AdapterUse::switches, &AdapterUse::steps})
      all.*count += u.*count;
    for (Seconds AdapterUse::*time : {&AdapterUse::load_time, &AdapterUse::exposed, &AdapterUse::switch_time,
                                      &AdapterUse::kernel_time, &AdapterUse::busy})
      all.*time += u.*time;
    all.peak_resident = std::max(all.peak_resident, u.peak_resident);
    all.peak_pages = std::max(all.peak_pages, u.peak_pages);
    all.distinct_steps += u.distinct_steps;
    all.moved += u.moved;
  }
  if (all.steps > 0) f.distinct_per_step = all.distinct_steps / static_cast<double>(all.steps);
  auto const asking = std::count_if(log.requests.begin(), log.requests.end(),
                                    [](ServedRequest const& r) { return r.adapter >= 0; });
  // One that was preempted is admitted again.
  if (asking > 0 && all.hits + all.loads > 0)
    f.hit_share = std::min(1.0, static_cast<double>(all.hits) / static_cast<double>(asking));

  auto const gpu_time = static_cast<double>(gpus) / static_cast<double>(f.requests);
  double const of_engine = gpu_time / static_cast<double>(std::max<std::size_t>(1, log.engines.size()));
  auto const part = [&](ServingTime t) -> Seconds& { return f.times[static_cast<std::size_t>(t)]; };
  part(ServingTime::base) = max(Seconds(0), all.busy - all.kernel_time - all.switch_time) * of_engine;
  part(ServingTime::adapters) = all.kernel_time * of_engine;
  part(ServingTime::loads) = all.exposed * of_engine;
  part(ServingTime::switches) = all.switch_time * of_engine;
  Seconds idle = run * gpu_time;
  for (ServingTime t : {ServingTime::base, ServingTime::adapters, ServingTime::loads, ServingTime::switches})
    idle -= part(t);
  part(ServingTime::idle) = idle < run * (kNoIdle * gpu_time) ? Seconds(0) : idle;
}

// Their latencies side by side, tenant after tenant: a counting sort by adapter.
std::vector<TenantFigures> tenants_of(ServingLog const& log) {
  int most = -1;
  for (ServedRequest const& r : log.requests) most = std::max(most, r.adapter);
  auto const tenant = [](ServedRequest const& r) { return static_cast<std::size_t>(r.adapter + 1); };
  std::vector<std::size_t> begin(static_cast<std::size_t>(most) + 3, 0);
  for (ServedRequest const& r : log.requests) ++begin[tenant(r) + 1];
  for (std::size_t i = 1; i < begin.size(); ++i) begin[i] += begin[i - 1];
  std::vector<double> latencies(log.requests.size());
  std::vector<double> tokens(begin.size() - 1, 0);
  std::vector<std::size_t> next(begin.begin(), begin.end() - 1);
  for (ServedRequest const& r : log.requests) {
    latencies[next[tenant(r)]++] = (r.finish - r.arrival).value;
    tokens[tenant(r)] += r.response_tokens;
  }
  std::vector<TenantFigures> out;
  for (std::size_t i = 0; i + 1 < begin.size(); ++i) {
    std::span<double> const mine(latencies.data() + begin[i], begin[i + 1] - begin[i]);
    if (mine.empty()) continue;
    double sum = 0;
    for (double const v : mine) sum += v;
    TenantFigures t;
    t.adapter = static_cast<int>(i) - 1;
    t.requests = static_cast<std::int64_t>(mine.size());
    t.mean_latency = Seconds(sum / static_cast<double>(mine.size()));
    t.p99_latency = Seconds(Quantiles(mine).at(0.99));
    t.rate = sum > 0 ? tokens[i] / sum : 0;
    out.push_back(t);
  }
  return out;
}

std::vector<TenantFigures> worst(std::vector<TenantFigures> tenants, Seconds TenantFigures::*by) {
  auto const shown = static_cast<std::ptrdiff_t>(std::min(tenants.size(), kTenantsShown));
  std::partial_sort(tenants.begin(), tenants.begin() + shown, tenants.end(),
                    [by](TenantFigures const& a, TenantFigures const& b) {
                      if (b.*by < a.*by || a.*by < b.*by) return b.*by < a.*by;
                      return a.adapter < b.adapter;
                    });
  tenants.resize(static_cast<std::size_t>(shown));
  return tenants;
}

void add_tenants(ServingLog const& log, ServingFigures& f) {
  std::vector<TenantFigures> const tenants = tenants_of(log);
  double sum = 0, squares = 0;
  for (TenantFigures const& t : tenants) {
    sum += t.rate;
    squares += t.rate * t.rate;
    f.used += t.adapter >= 0 ? 1 : 0;
  }
  f.tenants = static_cast<int>(tenants.size());
  f.fairness = squares > 0 ? sum * sum / (static_cast<double>(tenants.size()) * squares) : 0;
  f.slowest = worst(tenants, &TenantFigures::mean_latency);
  f.slowest_by_p99 = worst(tenants, &TenantFigures::p99_latency);
}

}  // namespace

std::string_view name_of(ServingTime t) {
  switch (t) {
    case ServingTime::base:
      return "base";
    case ServingTime::adapters:
      return "adapters";
    case ServingTime::loads:
      return "loads";
    case ServingTime::switches:
      return "switches";
    case ServingTime::idle:
      return "idle";
  }
  throw std::logic_error("no such ServingTime");
}

bool asks(ServiceObjective const& o) { return o.ttft.value > 0 || o.tpot.value > 0 || o.latency.value > 0; }

std::optional<Seconds> tpot_of(ServedRequest const& r) {
  if (r.response_tokens < 2) return std::nullopt;
  return (r.finish - r.first_token) / static_cast<double>(r.response_tokens - 1);
}

bool is_in_time(ServedRequest const& r, ServiceObjective const& o) {
  auto const meets = [](Seconds time, Seconds limit) { return !(limit.value > 0) || time <= limit; };
  return meets(r.first_token - r.arrival, o.ttft) && meets(tpot_of(r).value_or(Seconds(0)), o.tpot) &&
         meets(r.finish - r.arrival, o.latency);
}

Seconds time_of(ServingTimes const& t, ServingTime part) { return t[static_cast<std::size_t>(part)]; }

std::optional<double> kernel_share(ServingFigures const& f) {
  return f.use.busy.value > 0 ? std::optional(f.use.kernel_time / f.use.busy) : std::nullopt;
}

ServingFigures serving_figures(ServingLog const& log, Seconds run, std::int64_t gpus) {
  ServingFigures f;
  f.execution = log.execution;
  f.pool = log.pool;
  f.objective = log.objective;
  f.adapters = log.adapters;
  f.slots = log.slots;
  f.slot = log.slot;
  f.wasted = log.wasted;
  f.variants = log.variants;
  f.requests = static_cast<std::int64_t>(log.requests.size());
  if (f.requests == 0) return f;
  add_latencies(log, f);
  add_rates(log, f);
  add_use(log, run, gpus, f);
  add_tenants(log, f);
  return f;
}

}  // namespace rollcast
