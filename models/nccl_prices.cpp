#include "models/nccl_prices.hpp"

#include <algorithm>
#include <cmath>

#include "models/catalog/catalog.hpp"

namespace rollcast {
namespace {

constexpr double kFirstOctave = 3;  // 8 B
constexpr double kLastOctave = 36;  // 64 GiB
constexpr double kOctaveStep = 0.5;

// A series that fits worse than this stands in for nothing: TCP says nothing of RDMA.
constexpr int kNoStandIn = 100;

int kind_distance(CollectiveKind wanted, CollectiveKind have) {
  using enum CollectiveKind;
  if (wanted == have) return 0;
  auto const gathers = [](CollectiveKind k) { return k == all_gather || k == reduce_scatter; };
  auto const direct = [](CollectiveKind k) { return k == all_to_all || k == send_recv; };
  if (gathers(wanted) && gathers(have)) return 2;
  if (direct(wanted) && direct(have)) return 5;
  if (have == all_reduce || gathers(have)) return have == all_reduce ? 7 : 6;
  return 20;
}

Gpu gpu_called(std::string const& name) {
  Gpu const* known = find_gpu(builtin_catalog(), name);
  if (known != nullptr) return *known;
  Gpu g;
  g.name = name;
  return g;
}

bool has_nvls(NcclGeneration g) { return nccl_limits(g).nvls_efficiency > 0; }

// Latencies differ by half between generations without and with NVLS, more than between collectives.
int gpu_distance(Gpu const& wanted, std::string const& have) {
  if (wanted.name == have) return 0;
  NcclGeneration const a = nccl_generation(wanted), b = nccl_generation(gpu_called(have));
  if (a == b) return 1;
  return has_nvls(a) == has_nvls(b) ? 2 : 10;
}

int fabric_distance(Fabric const& wanted, std::string const& have) {
  if (wanted.name == have) return 0;
  Fabric const* known = find_fabric(builtin_catalog(), have);
  FabricKind const kind = known != nullptr ? known->kind : FabricKind::infiniband;
  if (wanted.kind == kind) return 2;
  return wanted.kind == FabricKind::tcp || kind == FabricKind::tcp ? kNoStandIn : 3;
}

double at(std::vector<CorrectionKnot> const& knots, double octave) {
  if (octave <= knots.front().octave) return knots.front().log_ratio;
  if (octave >= knots.back().octave) return knots.back().log_ratio;
  auto const next = std::upper_bound(knots.begin(), knots.end(), octave,
                                     [](double x, CorrectionKnot const& k) { return x < k.octave; });
  CorrectionKnot const &a = *(next - 1), &b = *next;
  return a.log_ratio + (b.log_ratio - a.log_ratio) * (octave - a.octave) / (b.octave - a.octave);
}

// The nearest series for one topology: those of the least distance, rank counts ascending.
struct Nearest {
  std::vector<NcclCorrection const*> series;
  int distance = kNoStandIn;
  bool other_kind = false;
};

Nearest nearest_series(NcclCalibration const& calibration, ClusterSpec const& c, CollectiveKind kind,
                       bool several_nodes) {
  Nearest out;
  for (NcclCorrection const& s : calibration.corrections) {
    if ((s.nodes > 1) != several_nodes || s.knots.empty()) continue;
    int const distance = kind_distance(kind, s.kind) + gpu_distance(c.node.gpu, s.gpu) +
                         (several_nodes ? fabric_distance(c.fabric, s.fabric) : 0);
    if (distance >= kNoStandIn || distance > out.distance) continue;
    if (distance < out.distance) out = {{}, distance, s.kind != kind};
    out.series.push_back(&s);
  }
  std::stable_sort(out.series.begin(), out.series.end(),
                   [](auto const* a, auto const* b) { return a->ranks < b->ranks; });
  return out;
}

// log ratio for a topology: one node between rank counts, several nodes from the series of the most ranks.
class Correction {
 public:
  Correction(Nearest nearest, NcclTopology const& t, BytesPerSecond speed)
      : nearest_(std::move(nearest)), ranks_(t.ranks), one_node_(t.nodes == 1), speed_(speed) {}

  double log_ratio(double octave) const {
    auto const& s = nearest_.series;
    if (s.empty()) return 0;
    if (!one_node_ || s.size() == 1) return of(*s.back(), octave);
    double const x = std::log2(static_cast<double>(ranks_));
    std::size_t high = 1;
    while (high + 1 < s.size() && s[high]->ranks < ranks_) ++high;
    double const a = std::log2(static_cast<double>(s[high - 1]->ranks));
    double const b = std::log2(static_cast<double>(s[high]->ranks));
    if (!(b > a)) return of(*s[high], octave);
    double w = (x - a) / (b - a);
    if (x > b) w = 1 + 0.5 * std::min(1.0, x - b) / (b - a);
    if (x < a) w = -0.5 * std::min(1.0, a - x) / (b - a);
    double const low = of(*s[high - 1], octave);
    return low + (of(*s[high], octave) - low) * w;
  }

 private:
  double of(NcclCorrection const& s, double octave) const {
    if (s.speed.value > 0 && speed_.value > 0) octave += std::log2(s.speed.value / speed_.value);
    if (one_node_) octave += 0.5 * std::log2(static_cast<double>(s.ranks) / ranks_);
    return at(s.knots, octave);
  }

  Nearest nearest_;
  int ranks_;
  bool one_node_;
  BytesPerSecond speed_;
};

std::size_t grid_size() { return static_cast<std::size_t>((kLastOctave - kFirstOctave) / kOctaveStep) + 1; }
double grid_octave(std::size_t i) { return kFirstOctave + kOctaveStep * static_cast<double>(i); }

std::vector<double> priced(ClusterSpec const& c, CollectiveKind kind, Group g, Nearest const& nearest) {
  NcclTopology const t = nccl_topology(c, g);
  auto const choices = nccl_choices(t, kind);
  BytesPerSecond speed = t.intra;
  if (t.nodes > 1) {
    // Before oversubscription: a cluster that outgrows its leaf does not get another correction.
    ClusterSpec flat = c;
    flat.fabric.oversubscription = 1;
    speed = nccl_topology(flat, g).inter;
  }
  Correction const correction(nearest, t, speed);
  std::vector<double> out(grid_size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    double const octave = grid_octave(i);
    out[i] = nccl_best(choices, Bytes(std::exp2(octave))).time(Bytes(std::exp2(octave))).value *
             std::exp(correction.log_ratio(octave));
    if (i > 0) out[i] = std::max(out[i], out[i - 1]);
  }
  return out;
}

void raise(std::vector<double>& to, std::vector<double> const& least) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = std::max(to[i], least[i]);
}

Evidence evidence_of(Nearest const& nearest, Group g) {
  if (nearest.series.empty() || nearest.other_kind || g.nodes > 2) return Evidence::unmeasured;
  auto const same_ranks = [&](NcclCorrection const* s) { return s->ranks == g.ranks; };
  bool const measured =
      nearest.distance == 0 && std::any_of(nearest.series.begin(), nearest.series.end(), same_ranks);
  return measured ? Evidence::measured : Evidence::derived;
}

Nearest nearest_for(NcclCalibration const& calibration, ClusterSpec const& c, CollectiveKind kind, Group g) {
  if (g.nodes == 1 && !nccl_topology(c, g).nvlink) return {};
  return nearest_series(calibration, c, kind, g.nodes > 1);
}

}  // namespace

std::string_view name_of(Evidence e) {
  switch (e) {
    case Evidence::measured:
      return "measured";
    case Evidence::derived:
      return "derived";
    case Evidence::unmeasured:
      break;
  }
  return "unmeasured";
}

CollectiveCurve collective_curve(NcclCalibration const& calibration, ClusterSpec const& c,
                                 CollectiveKind kind, Group g) {
  CollectiveCurve curve;
  if (g.ranks <= 1) return curve;
  g.nodes = std::max(1, g.nodes);
  NcclTopology const t = nccl_topology(c, g);
  Nearest const nearest = nearest_for(calibration, c, kind, g);
  curve.volume = link_volume(t, kind);
  curve.seconds = priced(c, kind, g, nearest);
  curve.evidence = evidence_of(nearest, g);
  curve.source = nearest.series.empty() ? "NCCL's own model" : nearest.series.back()->source;
  if (g.nodes > 1 && t.ranks_per_node() > 1) {
    Group const one{t.ranks_per_node(), 1, 1};
    raise(curve.seconds, priced(c, kind, one, nearest_for(calibration, c, kind, one)));
  }
  if (g.nodes > 2) raise(curve.seconds, priced(c, kind, {2 * t.ranks_per_node(), 2, g.sharing}, nearest));
  return curve;
}

CollectivePrice price(CollectiveCurve const& curve, Bytes bytes) {
  CollectivePrice p;
  if (curve.seconds.empty() || bytes.value <= 0) return p;
  double const least = curve.seconds.front();
  double const octave = std::log2(bytes.value);
  double total = least;
  if (octave > kFirstOctave) {
    auto const i =
        std::min(curve.seconds.size() - 2, static_cast<std::size_t>((octave - kFirstOctave) / kOctaveStep));
    double const a = std::exp2(grid_octave(i)), b = std::exp2(grid_octave(i + 1));
    double const low = curve.seconds[i], high = curve.seconds[i + 1];
    total = low + (high - low) * std::max(0.0, (bytes.value - a) / (b - a));
  }
  p.alpha = Seconds(std::min(least, 0.99 * total));
  p.bytes_per_link = bytes * curve.volume;
  p.bandwidth = p.bytes_per_link / (Seconds(total) - p.alpha);
  return p;
}

CollectivePrice nccl_price(NcclCalibration const& calibration, ClusterSpec const& c, CollectiveKind kind,
                           Group g, Bytes bytes) {
  return price(collective_curve(calibration, c, kind, g), bytes);
}

}  // namespace rollcast
