// The text form of an NcclCalibration.
#include <fmt/format.h>

#include <cmath>

#include "models/calibration_text.hpp"
#include "models/nccl_prices.hpp"

namespace rollcast {
namespace {

// Returns what is wrong with the line, "" when nothing is.
std::string read_line(CalibrationLine const& line, NcclCorrection& s) {
  auto const& w = line.words;
  if (w.size() < 8) return "a correction has GPU, fabric, collective, ranks, nodes, GB/s and knots";
  s.source = line.source;
  s.gpu = std::string(w[1]);
  s.fabric = w[2] == "node" ? std::string() : std::string(w[2]);
  auto const kind = collective_named(w[3]);
  if (!kind) return fmt::format("'{}' is no collective", w[3]);
  s.kind = *kind;
  double speed = 0;
  if (!read_number(w[4], s.ranks) || s.ranks < 2 || !read_number(w[5], s.nodes) || s.nodes < 1)
    return "ranks (2 or more) and nodes (1 or more) are whole numbers";
  if ((s.nodes > 1) == s.fabric.empty()) return "one node has the fabric 'node', several have another";
  if (!read_number(w[6], speed) || !(speed > 0) || !std::isfinite(speed)) return "GB/s is a number above 0";
  s.speed = GB_per_s(speed);
  for (std::size_t i = 7; i < w.size(); ++i) {
    CorrectionKnot k;
    if (!read_pair(w[i], k.octave, k.log_ratio) || std::abs(k.log_ratio) > 10)
      return fmt::format("'{}' is no knot; write OCTAVE:LOG_RATIO", w[i]);
    if (!s.knots.empty() && !(k.octave > s.knots.back().octave)) return "octaves ascend";
    s.knots.push_back(k);
  }
  return "";
}

}  // namespace

std::optional<CollectiveKind> collective_named(std::string_view name) {
  using enum CollectiveKind;
  for (CollectiveKind const k : {all_reduce, all_gather, reduce_scatter, broadcast, all_to_all, send_recv}) {
    if (name_of(k) == name) return k;
  }
  return std::nullopt;
}

std::string to_text(NcclCalibration const& calibration) {
  std::string out;
  for (NcclCorrection const& s : calibration.corrections) {
    out += fmt::format("nccl {} {} {} {} {} {:g}", s.gpu, s.fabric.empty() ? "node" : s.fabric,
                       name_of(s.kind), s.ranks, s.nodes, s.speed.value / 1e9);
    for (CorrectionKnot const& k : s.knots) out += fmt::format(" {:g}:{:.3f}", k.octave, k.log_ratio);
    if (!s.source.empty()) out += " # " + s.source;
    out += '\n';
  }
  return out;
}

NcclCalibrationText nccl_calibration_from_text(std::string_view text) {
  NcclCalibration out;
  for (CalibrationLine const& line : calibration_lines(text, "nccl")) {
    NcclCorrection s;
    std::string const problem = read_line(line, s);
    if (!problem.empty()) return {std::nullopt, fmt::format("line {}: {}", line.number, problem)};
    out.corrections.push_back(std::move(s));
  }
  return {std::move(out), ""};
}

}  // namespace rollcast
