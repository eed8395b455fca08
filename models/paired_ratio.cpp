#include "models/paired_ratio.hpp"

#include <cmath>
#include <stdexcept>

#include "models/student_t.hpp"

namespace rollcast {

PairedRatio paired_ratio(std::vector<double> const& a, std::vector<double> const& b) {
  if (a.empty() || a.size() != b.size()) throw std::logic_error("a paired ratio needs pairs");
  auto const n = static_cast<double>(a.size());
  std::vector<double> logs;
  double mean = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!(a[i] > 0 && b[i] > 0)) throw std::logic_error("a paired ratio needs numbers above 0");
    logs.push_back(std::log(a[i] / b[i]));
    mean += logs.back() / n;
  }
  PairedRatio r{std::exp(mean), std::nullopt, std::nullopt};
  if (a.size() == 1) return r;
  double squares = 0;
  for (double const d : logs) squares += (d - mean) * (d - mean);
  double const half = t_within(0.95, static_cast<int>(a.size()) - 1) * std::sqrt(squares / (n - 1) / n);
  r.low = std::exp(mean - half);
  r.high = std::exp(mean + half);
  return r;
}

}  // namespace rollcast
