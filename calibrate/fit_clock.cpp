#include "calibrate/fit_clock.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "models/sustained_clock.hpp"

namespace rollcast {
namespace {

constexpr double kLarge = 1024;

bool is_one(Sample const& s, Gpu const& gpu) {
  if (s.operation != "gemm" || s.gpu != gpu.name || s.dtype != "bf16" || !s.variant.ends_with("sustained"))
    return false;
  double const m = s.shape[0], n = s.shape[1], k = s.shape[2];
  if (!(m > kLarge && n >= kLarge && k >= kLarge)) return false;
  return gemm_roofline(gpu, GemmKind::bf16, m, n, k) <= Flops(2 * m * n * k) / gpu.bf16;
}

}  // namespace

ClockFit fit_clock(Gpu const& gpu, GemmTable const& burst, std::vector<Sample> const& train,
                   std::vector<Sample> const& held_out) {
  ClockFit fit;
  GemmPrices const prices(burst, gpu);
  auto const price = [&](Sample const& s) { return prices.at(s.shape[0], s.shape[1], s.shape[2]); };
  std::map<std::string, std::vector<double>> ratios;
  for (Sample const& s : train) {
    if (is_one(s, gpu)) ratios[s.version].push_back(price(s) / s.seconds);
  }
  if (ratios.empty()) return fit;
  double sum = 0;
  for (auto& [version, r] : ratios) {
    std::sort(r.begin(), r.end());
    double const median = quantile(r, 0.5);
    sum += median;
    fit.rows += static_cast<int>(r.size());
    fit.spread +=
        fmt::format("{}{}: {} rows, median {:.3f}, p10 {:.3f}, p90 {:.3f}", fit.spread.empty() ? "" : "; ",
                    version, r.size(), median, quantile(r, 0.1), quantile(r, 0.9));
  }
  fit.clock = std::min(1.0, sum / static_cast<double>(ratios.size()));
  std::vector<double> errors;
  for (Sample const& s : held_out) {
    if (!is_one(s, gpu)) continue;
    Seconds const time =
        sustained_time(price(s), gpu, GemmKind::bf16, s.shape[0], s.shape[1], s.shape[2], fit.clock);
    errors.push_back(relative_error(time.value, s.seconds.value));
  }
  fit.held_out = residuals_of(std::move(errors));
  return fit;
}

}  // namespace rollcast
