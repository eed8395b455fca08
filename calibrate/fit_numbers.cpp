#include "calibrate/fit_numbers.hpp"

#include <algorithm>
#include <utility>

namespace rollcast {
namespace {

constexpr double kLargeCopy = 16e6;  // B
constexpr double kLongSequence = 1024;

NumberFit median_fit(std::vector<double> values) {
  NumberFit fit;
  fit.rows = static_cast<int>(values.size());
  fit.value = median_of(std::move(values));
  return fit;
}

}  // namespace

Sample forward_of(Sample const& backward) {
  Sample s = backward;
  s.operation = "attention_prefill";
  s.variant = "";
  s.shape = {s.shape[0], s.shape[1], 0, s.shape[2], s.shape[3], s.shape[4]};
  return s;
}

bool has_forward(Sample const& backward) { return backward.variant.find("forward") != std::string::npos; }

NumberFit fit_backward_over_forward(std::vector<Predictor> const& forward, std::vector<Sample> const& train,
                                    std::vector<Sample> const& held_out) {
  std::vector<double> ratios;
  for (Sample const& s : train) {
    if (s.operation != "attention_backward" || s.shape[1] < kLongSequence) continue;
    auto const once = predicted(forward, forward_of(s));
    if (!once) continue;
    double const ratio = s.seconds / *once - (has_forward(s) ? 1 : 0);
    if (ratio > 0) ratios.push_back(ratio);
  }
  NumberFit fit = median_fit(std::move(ratios));
  if (fit.rows == 0) return fit;
  std::vector<double> errors;
  for (Sample const& s : held_out) {
    if (s.operation != "attention_backward") continue;
    auto const once = predicted(forward, forward_of(s));
    if (!once) continue;
    double const price = once->value * (fit.value + (has_forward(s) ? 1 : 0));
    errors.push_back(relative_error(price, s.seconds.value));
  }
  fit.held_out = residuals_of(std::move(errors));
  return fit;
}

NumberFit fit_pcie(Gpu const& gpu, std::vector<Sample> const& samples) {
  std::vector<double> shares;
  for (Sample const& s : samples) {
    bool const host = s.operation == "copy" && (s.variant == "h2d" || s.variant == "d2h");
    if (host && s.gpu == gpu.name && s.shape[0] >= kLargeCopy && gpu.pcie.value > 0)
      shares.push_back(bytes(s.shape[0]) / s.seconds / gpu.pcie);
  }
  NumberFit fit = median_fit(std::move(shares));
  fit.value = std::min(fit.value, 1.0);
  return fit;
}

NumberFit fit_launch(std::string const& variant, std::vector<Sample> const& samples) {
  double most = 0;
  for (Sample const& s : samples) {
    if (s.operation == "launch" && s.variant == variant) most = std::max(most, s.shape[0]);
  }
  std::vector<double> times;
  for (Sample const& s : samples) {
    if (s.operation == "launch" && s.variant == variant && s.shape[0] >= most)
      times.push_back(s.seconds.value / s.shape[0]);
  }
  return median_fit(std::move(times));
}

}  // namespace rollcast
