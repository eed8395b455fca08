#include "models/scoring.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <stdexcept>

namespace rollcast {
namespace {

std::vector<std::size_t> order_of_arrival(std::vector<Seconds> const& arrivals) {
  std::vector<std::size_t> order(arrivals.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return arrivals[a] < arrivals[b]; });
  return order;
}

}  // namespace

double WorkerSchedule::utilization(int workers) const {
  Seconds const span = last_finish - first_start;
  return span > Seconds{} ? busy / (span * workers) : 0.0;
}

WorkerSchedule schedule_on_workers(std::vector<Seconds> const& arrivals, std::vector<Seconds> const& services,
                                   int workers) {
  if (workers < 1) throw std::logic_error("samples scored by no worker");
  if (arrivals.size() != services.size())
    throw std::logic_error("as many service times as arrivals are needed");
  WorkerSchedule result;
  if (arrivals.empty()) return result;
  result.start.resize(arrivals.size());
  result.finish.resize(arrivals.size());

  // When each busy worker is free again; workers that had nothing to do yet are not in it.
  std::priority_queue<Seconds, std::vector<Seconds>, std::greater<>> free_at;
  std::vector<std::size_t> const order = order_of_arrival(arrivals);
  for (std::size_t const i : order) {
    if (services[i] < Seconds{}) throw std::logic_error("a service time below 0");
    Seconds start = arrivals[i];
    if (free_at.size() == static_cast<std::size_t>(workers)) {
      start = max(start, free_at.top());
      free_at.pop();
    }
    result.start[i] = start;
    result.finish[i] = start + services[i];
    free_at.push(result.finish[i]);
    result.waiting += start - arrivals[i];
    result.busy += services[i];
  }
  result.first_start = result.start[order.front()];
  result.last_finish = *std::max_element(result.finish.begin(), result.finish.end());
  return result;
}

ScoredSamples score(ScoreWorkers const& s, std::vector<Seconds> const& completions, RandomKey first) {
  if (completions.empty()) return {};
  Seconds const generated = *std::max_element(completions.begin(), completions.end());
  std::vector<Seconds> const services = sample_times(s.service, first, completions.size());
  ScoredSamples result;
  result.schedule = schedule_on_workers(
      s.overlap ? completions : std::vector<Seconds>(completions.size(), generated), services, s.workers);
  if (s.service.cut > Seconds{})
    result.timed_out = static_cast<std::size_t>(
        std::count_if(services.begin(), services.end(), [&](Seconds t) { return t >= s.service.cut; }));
  result.exposed = max(Seconds{}, result.schedule.last_finish - generated);
  return result;
}

}  // namespace rollcast
