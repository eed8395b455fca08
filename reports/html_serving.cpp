#include "reports/html_serving.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "reports/json_values.hpp"
#include "reports/serving_text.hpp"

namespace rollcast {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kCurvePoints = 200;
constexpr std::size_t kCells = 200;

Json latency_json(char const* name, LatencyFigures const& l) {
  return {{"name", name},         {"mean", number(l.mean)}, {"p50", number(l.p50)},
          {"p90", number(l.p90)}, {"p99", number(l.p99)},   {"max", number(l.max)}};
}

Json curve_json(char const* name, Seconds limit, std::vector<double> values) {
  std::sort(values.begin(), values.end());
  Json points = Json::array();
  std::size_t const count = std::min(values.size(), kCurvePoints);
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t const at = count < 2 ? 0 : i * (values.size() - 1) / (count - 1);
    points.push_back({nine_digits(values[at]),
                      nine_digits(static_cast<double>(at + 1) / static_cast<double>(values.size()))});
  }
  return {{"name", name}, {"limit", limit.value > 0 ? number(limit) : Json()}, {"points", points}};
}

Json curves_json(ServingLog const& log) {
  std::vector<double> ttft, tpot, latency;
  for (ServedRequest const& r : log.requests) {
    ttft.push_back((r.first_token - r.arrival).value);
    latency.push_back((r.finish - r.arrival).value);
    if (auto const t = tpot_of(r)) tpot.push_back(t->value);
  }
  Json out = Json::array();
  out.push_back(curve_json("first token", log.objective.ttft, std::move(ttft)));
  if (!tpot.empty()) out.push_back(curve_json("a token after it", log.objective.tpot, std::move(tpot)));
  out.push_back(curve_json("whole answer", log.objective.latency, std::move(latency)));
  return out;
}

// How many intervals cover each moment, mean over each of the equal cells of a range.
class Coverage {
 public:
  Coverage(TimeRange range, std::size_t cells)
      : start_(range.start.value),
        cell_((range.end - range.start).value / static_cast<double>(cells)),
        part_(cells, 0),
        change_(cells + 1, 0) {}

  void add(Seconds from, Seconds to) {
    if (!(cell_ > 0)) return;
    double const a = place(from), b = place(to);
    auto const first = static_cast<std::size_t>(a), last = static_cast<std::size_t>(b);
    if (first == last) {
      if (first < part_.size()) part_[first] += b - a;
      return;
    }
    part_[first] += static_cast<double>(first + 1) - a;
    if (last < part_.size()) part_[last] += b - static_cast<double>(last);
    change_[first + 1] += 1;
    change_[last] -= 1;
  }

  std::vector<double> mean() const {
    std::vector<double> out = part_;
    double whole = 0;
    for (std::size_t i = 0; i < out.size(); ++i) out[i] += whole += change_[i];
    return out;
  }

  // 0 to the number of cells.
  double place(Seconds t) const {
    return std::clamp((t.value - start_) / cell_, 0.0, static_cast<double>(part_.size()));
  }
  double cell() const { return cell_; }

 private:
  double start_;
  double cell_;
  std::vector<double> part_;
  std::vector<double> change_;  // of whole cells covered, from this one on
};

Json rounded(std::vector<double> const& values) {
  Json out = Json::array();
  for (double const v : values) out.push_back(std::stod(fmt::format("{:.4g}", v)));
  return out;
}

Json over_time_json(ServingLog const& log, TimeRange range) {
  Coverage in_flight(range, kCells), waiting(range, kCells);
  std::vector<double> finished(kCells, 0);
  if (!(in_flight.cell() > 0)) return nullptr;
  for (ServedRequest const& r : log.requests) {
    in_flight.add(r.arrival, r.finish);
    waiting.add(r.arrival, r.first_token);
    auto const at = static_cast<std::size_t>(in_flight.place(r.finish));
    finished[std::min(at, kCells - 1)] += 1 / in_flight.cell();
  }
  return {{"cell", nine_digits(in_flight.cell())},
          {"finished", rounded(finished)},
          {"in_flight", rounded(in_flight.mean())},
          {"waiting", rounded(waiting.mean())}};
}

Json times_json(ServingFigures const& f) {
  Seconds whole;
  for (Seconds const s : f.times) whole += s;
  Json parts = Json::array();
  for (std::size_t i = 0; i < kServingTimes && whole.value > 0; ++i) {
    auto const part = static_cast<ServingTime>(i);
    if (!(f.times[i].value > 0)) continue;
    char const* const words = advice(part, f.execution);
    parts.push_back({{"name", label_of(part, f.execution)},
                     {"seconds", number(f.times[i])},
                     {"share", number(f.times[i] / whole)},
                     {"advice", words == nullptr ? "" : words}});
  }
  return {{"whole", number(whole)}, {"parts", parts}};
}

Json figures_json(ServingFigures const& f) {
  Json out = Json::array();
  auto const add = [&](std::string const& name, std::string const& text) { out.push_back({name, text}); };
  add("requests",
      fmt::format("{} in {}, {:.4g} a second", f.requests, format(f.span), f.requests_per_second));
  if (asks(f.objective))
    add("in time", fmt::format("{}: {:.4g} a second ({})", percent(f.in_time_share), f.goodput,
                               objective_text(f.objective)));
  add("tokens", fmt::format("{:.4g} a second of responses, {:.4g} with prompts", f.output_tokens_per_second,
                            f.total_tokens_per_second));
  add("in the mean", in_flight_text(f));
  for (auto const& [name, text] : adapter_facts(f)) add(name, text);
  add("fairness", fmt::format("Jain's index {:.3f} of {} tenants", f.fairness, f.tenants));
  return out;
}

Json tenants_json(ServingFigures const& f) {
  std::vector<TenantFigures> all = f.slowest;
  for (TenantFigures const& t : f.slowest_by_p99) {
    if (std::none_of(all.begin(), all.end(), [&](auto const& o) { return o.adapter == t.adapter; }))
      all.push_back(t);
  }
  Json out = Json::array();
  for (TenantFigures const& t : all)
    out.push_back({{"adapter", t.adapter < 0 ? Json("none") : Json(t.adapter)},
                   {"requests", t.requests},
                   {"mean", number(t.mean_latency)},
                   {"p99", number(t.p99_latency)},
                   {"tokens_per_second", number(t.rate)}});
  return out;
}

}  // namespace

Json html_serving_json(ServingLog const& log, ServingFigures const& f, TimeRange range) {
  if (f.requests == 0) return nullptr;
  Json latencies = Json::array();
  latencies.push_back(latency_json("first token", f.ttft));
  if (f.tpot) latencies.push_back(latency_json("a token after it", *f.tpot));
  latencies.push_back(latency_json("whole answer", f.latency));
  return {{"latencies", latencies}, {"curves", curves_json(log)}, {"over_time", over_time_json(log, range)},
          {"times", times_json(f)}, {"figures", figures_json(f)}, {"tenants", tenants_json(f)}};
}

}  // namespace rollcast
