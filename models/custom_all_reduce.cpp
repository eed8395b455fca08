#include "models/custom_all_reduce.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/calibration_text.hpp"
#include "models/nccl_tuning.hpp"
#include "models/random.hpp"

namespace rollcast {
namespace {

constexpr double kLn2 = 0.6931471805599453;

double log2_of(double x) { return portable_log(x) / kLn2; }

double log_us_at(CustomAllReduceSeries const& s, double octave) {
  auto const& k = s.knots;
  if (octave <= k.front().octave) return portable_log(k.front().us);
  if (octave >= k.back().octave) return portable_log(k.back().us) + (octave - k.back().octave) * kLn2;
  auto const next = std::upper_bound(k.begin(), k.end(), octave,
                                     [](double x, CustomAllReduceKnot const& b) { return x < b.octave; });
  auto const &a = *(next - 1), &b = *next;
  double const w = (octave - a.octave) / (b.octave - a.octave);
  return portable_log(a.us) * (1 - w) + portable_log(b.us) * w;
}

int distance(Gpu const& wanted, std::string const& have) {
  if (wanted.name == have) return 0;
  return nccl_generation(wanted.name) == nccl_generation(have) ? 1 : 2;
}

using SeriesList = std::vector<CustomAllReduceSeries const*>;

// Series of the nearest GPU, rank counts ascending.
SeriesList nearest(CustomAllReduceCalibration const& calibration, Gpu const& gpu, std::string_view backend) {
  CustomAllReduceSeries const* best = nullptr;
  for (auto const& s : calibration.series) {
    if (s.backend != backend || s.knots.empty()) continue;
    if (best == nullptr || distance(gpu, s.gpu) < distance(gpu, best->gpu)) best = &s;
  }
  SeriesList out;
  if (best == nullptr) return out;
  for (auto const& s : calibration.series) {
    if (s.backend == backend && s.gpu == best->gpu && !s.knots.empty()) out.push_back(&s);
  }
  std::stable_sort(out.begin(), out.end(), [](auto const* a, auto const* b) { return a->ranks < b->ranks; });
  return out;
}

double log_us_between(SeriesList const& series, int ranks, double octave) {
  if (ranks <= series.front()->ranks) return log_us_at(*series.front(), octave);
  if (ranks >= series.back()->ranks) return log_us_at(*series.back(), octave);
  std::size_t high = 1;
  while (series[high]->ranks < ranks) ++high;
  CustomAllReduceSeries const &a = *series[high - 1], &b = *series[high];
  if (b.ranks == ranks) return log_us_at(b, octave);
  double const w =
      log2_of(static_cast<double>(ranks) / a.ranks) / log2_of(static_cast<double>(b.ranks) / a.ranks);
  return log_us_at(a, octave) * (1 - w) + log_us_at(b, octave) * w;
}

Seconds time_between(SeriesList const& series, int ranks, double octave) {
  return us(portable_exp(log_us_between(series, ranks, octave)));
}

bool has_custom_all_reduce(Node const& node, int ranks) {
  return ranks <= node.gpus && node.interconnect == Interconnect::nvswitch && node.gpu.nvlink.value > 0;
}

std::string read_line(CalibrationLine const& line, CustomAllReduceSeries& s) {
  auto const& w = line.words;
  if (w.size() < 6) return "a custom all-reduce has GPU, backend, ranks, NVLink GB/s and knots";
  s.gpu = std::string(w[1]);
  s.backend = std::string(w[2]);
  s.source = line.source;
  double nvlink = 0;
  if (!read_number(w[3], s.ranks) || s.ranks < 2) return "ranks (2 or more) are a whole number";
  if (!read_number(w[4], nvlink) || !(nvlink > 0) || !std::isfinite(nvlink))
    return "NVLink GB/s is a number above 0";
  s.nvlink = GB_per_s(nvlink);
  for (std::size_t i = 5; i < w.size(); ++i) {
    CustomAllReduceKnot k;
    if (!read_pair(w[i], k.octave, k.us) || !(k.us > 0))
      return fmt::format("'{}' is no knot; write OCTAVE:US", w[i]);
    if (!s.knots.empty() && (!(k.octave > s.knots.back().octave) || k.us < s.knots.back().us))
      return "octaves ascend, times do not fall";
    s.knots.push_back(k);
  }
  return "";
}

}  // namespace

std::optional<CollectiveCurve> custom_all_reduce_curve(CustomAllReduceCalibration const& calibration,
                                                       Node const& node, std::string_view backend,
                                                       int ranks) {
  if (ranks <= 1) return CollectiveCurve{};
  if (!has_custom_all_reduce(node, ranks)) return std::nullopt;
  auto const series = nearest(calibration, node.gpu, backend);
  if (series.empty()) return std::nullopt;
  double const slower = series.front()->nvlink / node.gpu.nvlink;
  CollectiveCurve curve;
  curve.volume = 2.0 * (ranks - 1) / ranks;
  for (std::size_t i = 0; i < kCurvePoints; ++i) {
    Seconds const time = time_between(series, ranks, log2_of(curve_point(i).value * slower));
    curve.time[i] = i > 0 ? max(time, curve.time[i - 1]) : time;
  }
  bool const measured =
      series.front()->gpu == node.gpu.name &&
      std::any_of(series.begin(), series.end(), [&](auto const* s) { return s->ranks == ranks; });
  curve.evidence = measured ? Evidence::measured : Evidence::derived;
  curve.source = series.back()->source;
  return curve;
}

std::optional<CollectivePrice> custom_all_reduce_price(CustomAllReduceCalibration const& calibration,
                                                       Node const& node, std::string_view backend, int ranks,
                                                       Bytes bytes) {
  if (ranks <= 1) return CollectivePrice{};
  if (!has_custom_all_reduce(node, ranks)) return std::nullopt;
  auto const series = nearest(calibration, node.gpu, backend);
  if (series.empty()) return std::nullopt;
  Seconds const least = time_between(series, ranks, 0);
  CollectivePrice p;
  if (bytes.value <= 0) return p;
  double const octave = log2_of(bytes.value * (series.front()->nvlink / node.gpu.nvlink));
  Seconds const total = time_between(series, ranks, octave);
  p.alpha = min(least, 0.99 * total);
  p.bytes_per_link = bytes * (2.0 * (ranks - 1) / ranks);
  p.bandwidth = p.bytes_per_link / (total - p.alpha);
  return p;
}

std::string to_text(CustomAllReduceCalibration const& calibration) {
  std::string out;
  for (auto const& s : calibration.series) {
    out += fmt::format("custom {} {} {} {:g}", s.gpu, s.backend, s.ranks, s.nvlink.value / 1e9);
    for (auto const& k : s.knots) out += fmt::format(" {:g}:{:.2f}", k.octave, k.us);
    if (!s.source.empty()) out += " # " + s.source;
    out += '\n';
  }
  return out;
}

CustomAllReduceText custom_all_reduce_from_text(std::string_view text) {
  CustomAllReduceCalibration out;
  for (CalibrationLine const& line : calibration_lines(text, "custom")) {
    CustomAllReduceSeries s;
    std::string const problem = read_line(line, s);
    if (!problem.empty()) return {std::nullopt, fmt::format("line {}: {}", line.number, problem)};
    out.series.push_back(std::move(s));
  }
  return {std::move(out), ""};
}

}  // namespace rollcast
