#include "reports/sync_breakdown.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "models/weight_sync.hpp"
#include "reports/timeline.hpp"

namespace rollcast {
namespace {

bool counts(EventLog const& log, Span const& s) {
  bool const completed =
      s.step >= 0 && (log.steps.empty() || static_cast<std::size_t>(s.step) < log.steps.size());
  return completed && s.phase == Phase::weight_sync && is_work(s.activity);
}

struct Sum {
  Seconds first_start;
  Seconds time;
};

}  // namespace

std::optional<SyncBreakdown> sync_breakdown(EventLog const& log) {
  std::map<int, std::map<int, Sum>> of_class;  // rank class -> label
  std::set<int> steps;
  for (Span const& s : log.spans) {
    if (!counts(log, s)) continue;
    steps.insert(s.step);
    auto& sums = of_class[s.rank_class];
    Sum& sum = sums.emplace(s.label, Sum{s.start, Seconds(0)}).first->second;
    sum.first_start = min(sum.first_start, s.start);
    sum.time += s.end - s.start;
  }
  if (of_class.empty()) return std::nullopt;
  auto const whole = [](std::map<int, Sum> const& sums) {
    Seconds all;
    for (auto const& [label, sum] : sums) all += sum.time;
    return all;
  };
  auto const busiest = std::max_element(of_class.begin(), of_class.end(), [&](auto const& a, auto const& b) {
    return whole(a.second) < whole(b.second);
  });
  std::vector<std::pair<int, Sum>> in_order(busiest->second.begin(), busiest->second.end());
  std::stable_sort(in_order.begin(), in_order.end(),
                   [](auto const& a, auto const& b) { return a.second.first_start < b.second.first_start; });
  double const count = static_cast<double>(log.steps.empty() ? steps.size() : log.steps.size());
  SyncBreakdown out;
  for (auto const& [label, sum] : in_order) {
    std::string const& cause = log.labels[static_cast<std::size_t>(label)];
    out.causes.push_back({cause, sum.time / count});
    if (cause == name_of(SyncCause::wire)) out.wire = sum.time / count;
  }
  return out;
}

}  // namespace rollcast
