#include "models/units.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <span>
#include <system_error>

namespace rollcast {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr double kKi = 1024.0;
constexpr double kMi = kKi * 1024.0;
constexpr double kGi = kMi * 1024.0;
constexpr double kTi = kGi * 1024.0;

constexpr std::array<Unit, 9> kByteUnits{{{"B", 1},
                                          {"kB", 1e3},
                                          {"MB", 1e6},
                                          {"GB", 1e9},
                                          {"TB", 1e12},
                                          {"KiB", kKi},
                                          {"MiB", kMi},
                                          {"GiB", kGi},
                                          {"TiB", kTi}}};
constexpr std::array<Unit, 6> kSecondUnits{
    {{"s", 1}, {"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"min", 60}, {"h", 3600}}};
constexpr std::array<Unit, 11> kRateUnits{{{"B/s", 1},
                                           {"kB/s", 1e3},
                                           {"MB/s", 1e6},
                                           {"GB/s", 1e9},
                                           {"TB/s", 1e12},
                                           {"KiB/s", kKi},
                                           {"MiB/s", kMi},
                                           {"GiB/s", kGi},
                                           {"Mb/s", 1e6 / 8},
                                           {"Gb/s", 1e9 / 8},
                                           {"Tb/s", 1e12 / 8}}};
constexpr std::array<Unit, 9> kFlopUnits{{{"FLOP/s", 1},
                                          {"GFLOP/s", 1e9},
                                          {"TFLOP/s", 1e12},
                                          {"PFLOP/s", 1e15},
                                          {"GFLOPs", 1e9},
                                          {"TFLOPs", 1e12},
                                          {"PFLOPs", 1e15},
                                          {"TFLOPS", 1e12},
                                          {"PFLOPS", 1e15}}};

template <class Q>
std::span<Unit const> units_of();
template <>
std::span<Unit const> units_of<Bytes>() {
  return kByteUnits;
}
template <>
std::span<Unit const> units_of<Seconds>() {
  return kSecondUnits;
}
template <>
std::span<Unit const> units_of<BytesPerSecond>() {
  return kRateUnits;
}
template <>
std::span<Unit const> units_of<FlopsPerSecond>() {
  return kFlopUnits;
}

std::string unit_names(std::span<Unit const> units) {
  std::string out;
  for (Unit const& u : units) {
    if (!out.empty()) out += ", ";
    out += u.name;
  }
  return out;
}

std::string_view trimmed(std::string_view s) {
  auto const first = s.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return s.substr(first, s.find_last_not_of(" \t") - first + 1);
}

// Three significant digits without an exponent, trailing zeros kept off.
std::string digits(double v) {
  double const a = std::fabs(v);
  if (a >= 99.95 || a < 5e-13) return fmt::format("{:.0f}", v);
  if (a >= 9.995) return fmt::format("{:.1f}", v);
  if (a >= 0.9995) return fmt::format("{:.2f}", v);
  return fmt::format("{:.3g}", v);
}

}  // namespace

template <class Q>
Parsed<Q> parse_quantity(std::string_view text) {
  auto const units = units_of<Q>();
  std::string_view const t = trimmed(text);
  double number = 0;
  auto const [end, error] = std::from_chars(t.data(), t.data() + t.size(), number);
  if (error != std::errc() || !std::isfinite(number)) {
    return {std::nullopt, fmt::format("'{}' is not a number with a unit ({})", text, unit_names(units))};
  }
  std::string_view const unit = trimmed(t.substr(static_cast<std::size_t>(end - t.data())));
  if (unit.empty())
    return {std::nullopt, fmt::format("'{}' has no unit; possible: {}", text, unit_names(units))};
  for (Unit const& u : units) {
    if (u.name == unit) return {Q(number * u.factor), {}};
  }
  return {std::nullopt, fmt::format("'{}' is not one of the units {}", unit, unit_names(units))};
}

template <class Q>
std::string exact_text(Q q) {
  return fmt::format("{} {}", q.value, units_of<Q>().front().name);
}

template Parsed<Bytes> parse_quantity<Bytes>(std::string_view);
template Parsed<Seconds> parse_quantity<Seconds>(std::string_view);
template Parsed<BytesPerSecond> parse_quantity<BytesPerSecond>(std::string_view);
template Parsed<FlopsPerSecond> parse_quantity<FlopsPerSecond>(std::string_view);
template std::string exact_text<Bytes>(Bytes);
template std::string exact_text<Seconds>(Seconds);
template std::string exact_text<BytesPerSecond>(BytesPerSecond);
template std::string exact_text<FlopsPerSecond>(FlopsPerSecond);

std::string format(Bytes b) {
  double const a = std::fabs(b.value);
  if (a >= kTi) return digits(b.value / kTi) + " TiB";
  if (a >= kGi) return digits(b.value / kGi) + " GiB";
  if (a >= kMi) return digits(b.value / kMi) + " MiB";
  if (a >= kKi) return digits(b.value / kKi) + " KiB";
  return digits(b.value) + " B";
}

std::string format(Seconds s) {
  double const a = std::fabs(s.value);
  if (a >= 3600) return digits(s.value / 3600) + " h";
  if (a >= 300) return digits(s.value / 60) + " min";
  if (a >= 1) return digits(s.value) + " s";
  if (a >= 1e-3) return digits(s.value * 1e3) + " ms";
  if (a > 0) return digits(s.value * 1e6) + " us";
  return "0 s";
}

std::string format(BytesPerSecond r) {
  if (std::fabs(r.value) >= 1e12) return digits(r.value / 1e12) + " TB/s";
  if (std::fabs(r.value) >= 1e9) return digits(r.value / 1e9) + " GB/s";
  return digits(r.value / 1e6) + " MB/s";
}

std::string format(FlopsPerSecond r) {
  if (std::fabs(r.value) >= 1e15) return digits(r.value / 1e15) + " PFLOP/s";
  return digits(r.value / 1e12) + " TFLOP/s";
}

}  // namespace rollcast
