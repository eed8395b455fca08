#include "reports/serving_difference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace rollcast {
namespace {

constexpr double kWorthTelling = 0.01;  // of the other's GPU time
constexpr double kSecond = 0.1;         // of the savings
constexpr double kCounterweight = 0.2;

}  // namespace

ServingColumn column_of(ServingTime t) {
  switch (t) {
    case ServingTime::base:
      return ServingColumn::gpu_seconds_base;
    case ServingTime::adapters:
      return ServingColumn::gpu_seconds_adapters;
    case ServingTime::loads:
      return ServingColumn::gpu_seconds_loads;
    case ServingTime::switches:
      return ServingColumn::gpu_seconds_switches;
    case ServingTime::idle:
      return ServingColumn::gpu_seconds_idle;
  }
  throw std::logic_error("no such ServingTime");
}

std::vector<ServingDifference> serving_differences(ServingHeadline const& winner,
                                                   ServingHeadline const& other) {
  std::vector<ServingDifference> out;
  Seconds whole;
  for (std::size_t i = 0; i < kServingTimes; ++i) {
    auto const part = static_cast<ServingTime>(i);
    ServingColumn const c = column_of(part);
    out.push_back({part, Seconds(winner[c].value_or(0)), Seconds(other[c].value_or(0))});
    whole += out.back().other;
  }
  std::erase_if(out, [&](ServingDifference const& d) {
    return std::fabs(d.saved().value) < kWorthTelling * whole.value || !(whole.value > 0);
  });
  std::stable_sort(out.begin(), out.end(), [](ServingDifference const& a, ServingDifference const& b) {
    return std::fabs(b.saved().value) < std::fabs(a.saved().value);
  });
  return out;
}

std::string because(std::vector<ServingDifference> const& differences, AdapterExecution others) {
  std::vector<ServingDifference const*> savings;
  ServingDifference const* cost = nullptr;
  Seconds all;
  for (ServingDifference const& d : differences) {
    if (d.saved().value > 0) {
      savings.push_back(&d);
      all += d.saved();
    } else if (cost == nullptr && d.part != ServingTime::idle) {
      cost = &d;
    }
  }
  if (savings.empty()) return {};
  std::string out = fmt::format("it spends {} less GPU time on {}", format(savings[0]->saved()),
                                noun_of(savings[0]->part, others));
  if (savings.size() > 1 && all * kSecond <= savings[1]->saved())
    out += fmt::format(" and {} less on {}", format(savings[1]->saved()), noun_of(savings[1]->part, others));
  if (cost != nullptr && all * kCounterweight <= cost->winner - cost->other)
    out += fmt::format(", although {} more on {}", format(cost->winner - cost->other),
                       noun_of(cost->part, AdapterExecution::batched));
  return out;
}

char const* noun_of(ServingTime part, AdapterExecution execution) {
  switch (part) {
    case ServingTime::base:
      return "the base model's steps";
    case ServingTime::adapters:
      return execution == AdapterExecution::split ? "the further forwards of split batches"
                                                  : "adapters in steps";
    case ServingTime::loads:
      return "waits for loads";
    case ServingTime::switches:
      return "merging and unmerging";
    case ServingTime::idle:
      return "idling";
  }
  throw std::logic_error("no such ServingTime");
}

}  // namespace rollcast
