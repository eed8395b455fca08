#include "calibrate/collective_predictors.hpp"

#include <cmath>
#include <memory>

#include "calibrate/fit_collectives.hpp"
#include "calibrate/fit_expert_exchange.hpp"
#include "calibrate/size_series.hpp"
#include "models/catalog/catalog.hpp"

namespace rollcast {
namespace {

constexpr double kSameOctave = 1e-4;  // octaves are kept with four decimals

// A table that names NVLS was measured where NCCL takes it by itself.
bool is_nccl(Sample const& s) {
  return s.variant.empty() || s.variant == "nccl" || s.variant == "nccl in place" || s.variant == "nccl NVLS";
}

std::optional<Seconds> nccl_seconds(Gpu const& gpu, NcclCalibration const& calibration, CollectiveKind kind,
                                    Sample const& s) {
  bool const nvls = nccl_limits(nccl_generation(gpu.name)).nvls_efficiency > 0;
  int const nodes = static_cast<int>(s.shape[2]);
  if (!is_nccl(s) || (nodes > 1 && s.fabric.empty())) return std::nullopt;
  if (s.dtype == "int8" && kind == CollectiveKind::all_reduce && nvls) return std::nullopt;
  auto const c = cluster_of(gpu, s, nodes);
  if (!c || (nodes > 1 && c->node.nics == 0)) return std::nullopt;
  return nccl_price(calibration, *c, kind, {static_cast<int>(s.shape[1]), nodes, 1}, Bytes(s.shape[0]))
      .total();
}

std::optional<Seconds> custom_seconds(Gpu const& gpu, CustomAllReduceCalibration const& calibration,
                                      Sample const& s) {
  auto const c = cluster_of(gpu, s, 1);
  if (!c || s.shape[2] > 1) return std::nullopt;
  auto const p = custom_all_reduce_price(calibration, c->node, s.variant, static_cast<int>(s.shape[1]),
                                         Bytes(s.shape[0]));
  return p ? std::optional<Seconds>(p->total()) : std::nullopt;
}

std::optional<Seconds> exchange_seconds(Gpu const& gpu, ExchangeCalibration const& calibration,
                                        Sample const& s) {
  auto const samples = exchange_samples_of({s});
  if (samples.empty()) return std::nullopt;
  auto const c = cluster_of(gpu, s, samples.front().exchange.group.nodes);
  if (!c) return std::nullopt;
  auto const p = exchange_price(calibration, *c, samples.front().exchange);
  return p ? std::optional<Seconds>(p->total()) : std::nullopt;
}

template <class Knots>
bool has_octave(Knots const& knots, double octave) {
  for (auto const& k : knots) {
    if (std::abs(k.octave - octave) < kSameOctave) return true;
  }
  return false;
}

bool is_nccl_knot(Gpu const& gpu, NcclCalibration const& calibration, CollectiveKind kind, Sample const& s) {
  if (!is_fitted_by_nccl(s)) return false;
  for (NcclCorrection const& c : calibration.corrections) {
    bool const same_group =
        c.ranks == static_cast<int>(s.shape[1]) && c.nodes == static_cast<int>(s.shape[2]);
    if (c.gpu == gpu.name && c.kind == kind && same_group && (c.nodes == 1 || c.fabric == s.fabric) &&
        is_same_campaign(c.source, campaign_of(s)) && has_octave(c.knots, std::log2(s.shape[0])))
      return true;
  }
  return false;
}

bool is_custom_knot(Gpu const& gpu, CustomAllReduceCalibration const& calibration, Sample const& s) {
  for (CustomAllReduceSeries const& c : calibration.series) {
    if (c.gpu == gpu.name && c.backend == s.variant && c.ranks == static_cast<int>(s.shape[1]) &&
        is_same_campaign(c.source, campaign_of(s)) && has_octave(c.knots, std::log2(s.shape[0])))
      return true;
  }
  return false;
}

}  // namespace

std::vector<Predictor> collective_predictors(Gpu const& gpu, CollectiveCalibration const& calibration) {
  auto const shared = std::make_shared<CollectiveCalibration const>(calibration);
  std::vector<Predictor> out;
  using enum CollectiveKind;
  for (CollectiveKind const kind :
       {all_reduce, all_gather, reduce_scatter, broadcast, all_to_all, send_recv}) {
    out.push_back({std::string(name_of(kind)),
                   [=](Sample const& s) { return nccl_seconds(gpu, shared->nccl, kind, s); },
                   [=](Sample const& s) { return is_nccl_knot(gpu, shared->nccl, kind, s); }});
  }
  out.push_back({"all_reduce", [=](Sample const& s) { return custom_seconds(gpu, shared->custom, s); },
                 [=](Sample const& s) { return is_custom_knot(gpu, shared->custom, s); }});
  for (char const* operation : {"ep_dispatch", "ep_combine"}) {
    out.push_back(
        {operation, [=](Sample const& s) { return exchange_seconds(gpu, shared->exchange, s); }, {}});
  }
  return out;
}

}  // namespace rollcast
