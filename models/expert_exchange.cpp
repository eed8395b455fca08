#include "models/expert_exchange.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "models/calibration_text.hpp"
#include "models/random.hpp"

namespace rollcast {
namespace {

constexpr double kScaleBlock = 128;  // fp8 numbers that share an fp32 scale

double token_bytes(ExpertExchange const& e) {
  bool const quantized = e.fp8 && e.direction == ExchangeDirection::dispatch;
  return quantized ? e.hidden * (1 + 4 / kScaleBlock) : 2 * e.hidden;
}

std::string read_line(CalibrationLine const& line, ExchangeFit& f) {
  auto const& w = line.words;
  if (w.size() != 7) return "an exchange has GPU, mode, direction, reach, alpha and share";
  f.gpu = std::string(w[1]);
  f.source = line.source;
  if (w[2] != "normal" && w[2] != "low_latency") return "the mode is normal or low_latency";
  f.mode = w[2] == "normal" ? ExchangeMode::normal : ExchangeMode::low_latency;
  if (w[3] != "dispatch" && w[3] != "combine") return "the direction is dispatch or combine";
  f.direction = w[3] == "dispatch" ? ExchangeDirection::dispatch : ExchangeDirection::combine;
  if (w[4] != "node" && w[4] != "network") return "the reach is node or network";
  f.several_nodes = w[4] == "network";
  double alpha = 0;
  if (!read_number(w[5], alpha) || !(alpha >= 0) || !std::isfinite(alpha) || !read_number(w[6], f.share) ||
      !(f.share > 0) || !std::isfinite(f.share))
    return "alpha (us, not negative) and share (above 0) are numbers";
  f.alpha = us(alpha);
  return "";
}

}  // namespace

std::string_view name_of(ExchangeMode m) { return m == ExchangeMode::normal ? "normal" : "low_latency"; }
std::string_view name_of(ExchangeDirection d) {
  return d == ExchangeDirection::dispatch ? "dispatch" : "combine";
}

Bytes exchanged_bytes(ExpertExchange const& e) {
  double const n = e.group.ranks, nodes = std::max(1, e.group.nodes);
  if (n <= 1) return Bytes(0);
  double const places = nodes > 1 ? nodes : n;  // what a copy goes to
  double const copies = e.mode == ExchangeMode::low_latency
                            ? e.top_k * (places - 1) / places
                            : (places - 1) * (1 - portable_exp(e.top_k * portable_log(1 - 1 / places)));
  return Bytes(e.tokens * copies * token_bytes(e));
}

BytesPerSecond exchange_link(ClusterSpec const& c, Group g) {
  if (g.nodes <= 1) return c.node.gpu.nvlink.value > 0 ? c.node.gpu.nvlink : c.node.gpu.pcie;
  BytesPerSecond nic = min(c.node.nic, c.fabric.nic);
  if (c.node.nics <= 0 || nic.value <= 0)
    throw std::logic_error(c.node.name + " has no NIC for a group on several nodes");
  if (g.nodes > c.fabric.nodes_per_leaf) nic /= c.fabric.oversubscription;
  return nic * std::min(1.0, static_cast<double>(c.node.nics) / c.node.gpus);
}

ExchangeFit const* exchange_fit(ExchangeCalibration const& calibration, Gpu const& gpu,
                                ExpertExchange const& e) {
  ExchangeFit const* found = nullptr;
  for (ExchangeFit const& f : calibration.fits) {
    if (f.mode != e.mode || f.direction != e.direction || f.several_nodes != (e.group.nodes > 1)) continue;
    if (found == nullptr || (f.gpu == gpu.name && found->gpu != f.gpu)) found = &f;
  }
  return found;
}

Evidence exchange_evidence(ExchangeFit const& fit, ClusterSpec const& c, Group g) {
  bool const several = g.nodes > 1;
  bool const pcie = c.node.interconnect != Interconnect::nvswitch;
  if (g.nodes > 2 || pcie || (several && c.fabric.kind == FabricKind::tcp)) return Evidence::unmeasured;
  bool const same = fit.gpu == c.node.gpu.name && g.ranks == 8 * std::max(1, g.nodes) &&
                    (!several || c.fabric.name == c.node.fabric);
  return same ? Evidence::measured : Evidence::derived;
}

std::optional<CollectivePrice> exchange_price(ExchangeCalibration const& calibration, ClusterSpec const& c,
                                              ExpertExchange const& e) {
  if (e.group.ranks <= 1) return CollectivePrice{};
  ExchangeFit const* found = exchange_fit(calibration, c.node.gpu, e);
  if (found == nullptr) return std::nullopt;
  return CollectivePrice{found->alpha, exchanged_bytes(e), exchange_link(c, e.group) * found->share};
}

std::string to_text(ExchangeCalibration const& calibration) {
  std::string out;
  for (ExchangeFit const& f : calibration.fits) {
    out += fmt::format("exchange {} {} {} {} {:.1f} {:.3f}", f.gpu, name_of(f.mode), name_of(f.direction),
                       f.several_nodes ? "network" : "node", f.alpha.value * 1e6, f.share);
    if (!f.source.empty()) out += " # " + f.source;
    out += '\n';
  }
  return out;
}

ExchangeCalibrationText exchange_calibration_from_text(std::string_view text) {
  ExchangeCalibration out;
  for (CalibrationLine const& line : calibration_lines(text, "exchange")) {
    ExchangeFit f;
    std::string const problem = read_line(line, f);
    if (!problem.empty()) return {std::nullopt, fmt::format("line {}: {}", line.number, problem)};
    out.fits.push_back(std::move(f));
  }
  return {std::move(out), ""};
}

}  // namespace rollcast
