// The text form of a calibration.
#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "models/nccl_prices.hpp"

namespace rollcast {
namespace {

std::vector<std::string_view> words(std::string_view line) {
  std::vector<std::string_view> out;
  while (true) {
    auto const from = line.find_first_not_of(" \t\r");
    if (from == std::string_view::npos) return out;
    auto const to = std::min(line.find_first_of(" \t\r", from), line.size());
    out.push_back(line.substr(from, to - from));
    line.remove_prefix(to);
  }
}

template <class T>
bool read(std::string_view text, T& value) {
  auto const result = std::from_chars(text.data(), text.data() + text.size(), value);
  return result.ec == std::errc() && result.ptr == text.data() + text.size();
}

bool read_knot(std::string_view text, CorrectionKnot& k) {
  auto const colon = text.find(':');
  return colon != std::string_view::npos && read(text.substr(0, colon), k.octave) &&
         read(text.substr(colon + 1), k.log_ratio) && std::isfinite(k.octave) && std::abs(k.log_ratio) < 10;
}

// Returns what is wrong with the line, "" when nothing is.
std::string read_line(std::string_view line, NcclCorrection& s) {
  auto const hash = line.find(" # ");
  if (hash != std::string_view::npos) s.source = std::string(line.substr(hash + 3));
  auto const w = words(line.substr(0, hash));
  if (w.size() < 8) return "a correction has GPU, fabric, collective, ranks, nodes, GB/s and knots";
  s.gpu = std::string(w[1]);
  s.fabric = w[2] == "node" ? std::string() : std::string(w[2]);
  auto const kind = collective_named(w[3]);
  if (!kind) return fmt::format("'{}' is no collective", w[3]);
  s.kind = *kind;
  double speed = 0;
  if (!read(w[4], s.ranks) || s.ranks < 2 || !read(w[5], s.nodes) || s.nodes < 1)
    return "ranks (2 or more) and nodes (1 or more) are whole numbers";
  if ((s.nodes > 1) == s.fabric.empty()) return "one node has the fabric 'node', several have another";
  if (!read(w[6], speed) || !(speed > 0) || !std::isfinite(speed)) return "GB/s is a number above 0";
  s.speed = GB_per_s(speed);
  for (std::size_t i = 7; i < w.size(); ++i) {
    CorrectionKnot k;
    if (!read_knot(w[i], k)) return fmt::format("'{}' is no knot; write OCTAVE:LOG_RATIO", w[i]);
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
    for (CorrectionKnot const& k : s.knots) out += fmt::format(" {:.2f}:{:.3f}", k.octave, k.log_ratio);
    if (!s.source.empty()) out += " # " + s.source;
    out += '\n';
  }
  return out;
}

NcclCalibrationText nccl_calibration_from_text(std::string_view text) {
  NcclCalibration out;
  for (int number = 1; !text.empty(); ++number) {
    auto const end = std::min(text.find('\n'), text.size());
    std::string_view const line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    auto const w = words(line);
    if (w.empty() || w.front() != "nccl") continue;
    NcclCorrection s;
    std::string const problem = read_line(line, s);
    if (!problem.empty()) return {std::nullopt, fmt::format("line {}: {}", number, problem)};
    out.corrections.push_back(std::move(s));
  }
  return {std::move(out), ""};
}

}  // namespace rollcast
