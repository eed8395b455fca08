#include "models/arrivals.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>

#include "models/lengths.hpp"
#include "models/random.hpp"

namespace rollcast {
namespace {

RandomKey key_of(std::uint64_t seed, Purpose purpose, std::size_t request, std::uint32_t step = 0) {
  return {seed, purpose, step, request};
}

// Mean `shape`. Attempt a of request i has step a; step 0 is the power of the small shapes.
double unit_gamma(double shape, std::uint64_t seed, std::size_t request) {
  double factor = 1;
  if (shape < 1) {
    factor = portable_exp(portable_log(uniform(key_of(seed, Purpose::arrival, request))) / shape);
    shape += 1;
  }
  double const d = shape - 1.0 / 3;
  double const c = 1 / std::sqrt(9 * d);
  for (std::uint32_t attempt = 1;; ++attempt) {
    auto const words = random_words(key_of(seed, Purpose::arrival, request, attempt));
    double const x = inverse_normal_cdf(unit_interval(words[0]));
    double const root = 1 + c * x;
    if (root <= 0) continue;
    double const v = root * root * root;
    double const bound = 0.5 * x * x + d - d * v + d * portable_log(v);
    if (portable_log(unit_interval(words[1])) < bound) return factor * d * v;
  }
}

double gap(Arrivals const& a, std::uint64_t seed, std::size_t request) {
  if (a.kind == ArrivalKind::poisson)
    return -portable_log(uniform(key_of(seed, Purpose::arrival, request))) / a.rate;
  if (!(a.variation > 0)) return 1 / a.rate;
  double const shape = 1 / (a.variation * a.variation);
  return unit_gamma(shape, seed, request) / (shape * a.rate);
}

double weight(ServedAdapters const& a, int adapter) {
  return a.popularity == Popularity::zipf ? portable_exp(-a.exponent * portable_log(adapter + 1.0)) : 1;
}

// Draws in O(log count).
class AdapterChoice {
 public:
  AdapterChoice(ServedAdapters const& adapters, std::uint64_t seed) : adapters_(adapters), seed_(seed) {
    if (adapters.count < 1) throw std::logic_error("requests for no adapter");
    if (adapters.popularity != Popularity::zipf) return;
    up_to_.reserve(static_cast<std::size_t>(adapters.count));
    double sum = 0;
    for (int i = 0; i < adapters.count; ++i) up_to_.push_back(sum += weight(adapters, i));
  }

  int operator()(std::size_t request) const {
    if (adapters_.popularity == Popularity::identical) return 0;
    auto const count = static_cast<std::size_t>(adapters_.count);
    if (adapters_.popularity == Popularity::distinct) return static_cast<int>(request % count);
    double const u = uniform(key_of(seed_, Purpose::adapter_choice, request));
    auto drawn = static_cast<std::size_t>(u * adapters_.count);
    if (!up_to_.empty()) {
      auto const above = std::upper_bound(up_to_.begin(), up_to_.end(), u * up_to_.back());
      drawn = static_cast<std::size_t>(above - up_to_.begin());
    }
    return static_cast<int>(std::min(drawn, count - 1));
  }

 private:
  ServedAdapters const& adapters_;
  std::uint64_t seed_;
  std::vector<double> up_to_;  // sums of weights
};

std::vector<ServeRequest> of_trace(ServeOptions const& serve, AdapterChoice const& choice) {
  Arrivals const& a = serve.arrivals;
  if (!(a.speed > 0)) throw std::logic_error("a trace that stands still");
  std::vector<ServeRequest> requests = a.trace;
  bool const named =
      std::any_of(requests.begin(), requests.end(), [](ServeRequest const& r) { return r.adapter >= 0; });
  if (serve.requests > 0)
    requests.resize(std::min(requests.size(), static_cast<std::size_t>(serve.requests)));
  for (std::size_t i = 0; i < requests.size(); ++i) {
    requests[i].arrival = requests[i].arrival / a.speed;
    if (!named) requests[i].adapter = choice(i);
  }
  return requests;
}

}  // namespace

std::vector<ServeRequest> serve_requests(ServeOptions const& serve, Workload const& workload,
                                         std::uint64_t seed) {
  AdapterChoice const choice(serve.adapters, seed);
  Arrivals const& a = serve.arrivals;
  if (a.kind == ArrivalKind::trace) return of_trace(serve, choice);
  if (a.kind != ArrivalKind::closed && !(a.rate > 0)) throw std::logic_error("requests that never come");
  std::vector<ServeRequest> requests(static_cast<std::size_t>(std::max(serve.requests, 0)));
  double time = 0;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (i > 0 && a.kind != ArrivalKind::closed) time += gap(a, seed, i);
    requests[i] = {seconds(time), sample(workload.prompt_tokens, key_of(seed, Purpose::prompt_length, i), 0),
                   sample(workload.response_tokens, key_of(seed, Purpose::response_length, i), 0), choice(i)};
  }
  return requests;
}

std::vector<double> adapter_shares(ServedAdapters const& adapters) {
  std::vector<double> shares(static_cast<std::size_t>(adapters.count));
  if (adapters.popularity == Popularity::identical) {
    if (!shares.empty()) shares[0] = 1;
    return shares;
  }
  double sum = 0;
  for (std::size_t i = 0; i < shares.size(); ++i) sum += shares[i] = weight(adapters, static_cast<int>(i));
  for (double& s : shares) s /= sum;
  return shares;
}

std::int64_t longest_request(ServeOptions const& serve, Workload const& workload) {
  if (serve.arrivals.kind == ArrivalKind::trace) {
    std::int64_t most = 0;
    for (ServeRequest const& r : serve.arrivals.trace)
      most = std::max(most, std::int64_t{r.prompt_tokens} + r.response_tokens);
    return most;
  }
  std::int64_t const prompt = longest(workload.prompt_tokens);
  std::int64_t const response = longest(workload.response_tokens);
  return prompt == 0 || response == 0 ? 0 : prompt + response;
}

}  // namespace rollcast
