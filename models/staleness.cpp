#include "models/staleness.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace rollcast {

void add(StalenessCounts& counts, std::int64_t sampled_by, std::int64_t trained_by, std::int64_t samples) {
  if (trained_by < sampled_by) throw std::logic_error("a sample is newer than the policy that trains on it");
  auto const k = static_cast<std::size_t>(trained_by - sampled_by);
  if (counts.samples.size() <= k) counts.samples.resize(k + 1, 0);
  counts.samples[k] += samples;
}

void add(StalenessCounts& counts, StalenessCounts const& more) {
  for (std::size_t k = 0; k < more.samples.size(); ++k)
    add(counts, 0, static_cast<std::int64_t>(k), more.samples[k]);
}

std::int64_t total(StalenessCounts const& counts) {
  std::int64_t sum = 0;
  for (std::int64_t const n : counts.samples) sum += n;
  return sum;
}

double mean(StalenessCounts const& counts) {
  std::int64_t sum = 0;
  for (std::size_t k = 0; k < counts.samples.size(); ++k)
    sum += static_cast<std::int64_t>(k) * counts.samples[k];
  std::int64_t const n = total(counts);
  return n == 0 ? 0.0 : static_cast<double>(sum) / static_cast<double>(n);
}

std::int64_t most(StalenessCounts const& counts) {
  for (std::size_t k = counts.samples.size(); k > 0; --k) {
    if (counts.samples[k - 1] > 0) return static_cast<std::int64_t>(k - 1);
  }
  return 0;
}

std::int64_t version_at(std::vector<Seconds> const& updates, Seconds t) {
  return std::upper_bound(updates.begin(), updates.end(), t) - updates.begin();
}

double mean_staleness(FixedService const& toy) {
  if (toy.in_flight < 1 || toy.batch < 1 || !(Seconds(0) < toy.service) || toy.update < Seconds(0))
    throw std::logic_error("the fixed-service toy needs samples, a batch and a service time");
  double const n = static_cast<double>(toy.in_flight);
  double const started_meanwhile = n * (toy.update / toy.service);
  if (static_cast<double>(toy.batch) < started_meanwhile)
    throw std::logic_error("in the fixed-service toy the trainer keeps up");
  return (n - 1.0 + std::ceil(started_meanwhile)) / static_cast<double>(toy.batch);
}

}  // namespace rollcast
