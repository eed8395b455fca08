#include "models/nccl_prices.hpp"

#include <algorithm>

#include "models/catalog/catalog.hpp"
#include "models/random.hpp"

namespace rollcast {
namespace {

constexpr double kFirstOctave = 3;  // of a curve's points
constexpr double kLn2 = 0.6931471805599453;

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

double log2_of(double x) { return portable_log(x) / kLn2; }

bool has_nvls(NcclGeneration g) { return nccl_limits(g).nvls_efficiency > 0; }

// Latencies differ by half between generations without and with NVLS, more than between collectives.
int gpu_distance(Gpu const& wanted, std::string const& have) {
  if (wanted.name == have) return 0;
  NcclGeneration const a = nccl_generation(wanted.name), b = nccl_generation(have);
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
  bool foreign = false;  // of another collective or another TCP
};

Nearest nearest_series(NcclCalibration const& calibration, ClusterSpec const& c, CollectiveKind kind,
                       bool several_nodes) {
  Nearest out;
  for (NcclCorrection const& s : calibration.corrections) {
    if ((s.nodes > 1) != several_nodes || s.knots.empty()) continue;
    int const distance = kind_distance(kind, s.kind) + gpu_distance(c.node.gpu, s.gpu) +
                         (several_nodes ? fabric_distance(c.fabric, s.fabric) : 0);
    if (distance >= kNoStandIn || distance > out.distance) continue;
    if (distance < out.distance) {
      // Two TCP stacks have little in common.
      bool const tcp = several_nodes && c.fabric.kind == FabricKind::tcp && s.fabric != c.fabric.name;
      out = {{}, distance, tcp || s.kind != kind};
    }
    out.series.push_back(&s);
  }
  std::stable_sort(out.series.begin(), out.series.end(),
                   [](auto const* a, auto const* b) { return a->ranks < b->ranks; });
  return out;
}

// log ratio for a topology: one node between rank counts, several nodes from the series of the most ranks.
// Two series, each at octaves shifted by its ranks and speed, the second at weight w (outside 0 to 1: beyond
// the last rank count).
class Correction {
 public:
  Correction(Nearest const& nearest, NcclTopology const& t, BytesPerSecond speed) {
    auto const& s = nearest.series;
    if (s.empty()) return;
    if (t.nodes > 1 || s.size() == 1) {
      high_ = shifted(*s.back(), t, speed);
      return;
    }
    double const x = log2_of(t.ranks);
    std::size_t high = 1;
    while (high + 1 < s.size() && s[high]->ranks < t.ranks) ++high;
    double const a = log2_of(s[high - 1]->ranks), b = log2_of(s[high]->ranks);
    high_ = shifted(*s[high], t, speed);
    if (!(b > a)) return;
    low_ = shifted(*s[high - 1], t, speed);
    weight_ = (x - a) / (b - a);
    if (x > b) weight_ = 1 + 0.5 * std::min(1.0, x - b) / (b - a);
    if (x < a) weight_ = -0.5 * std::min(1.0, a - x) / (b - a);
  }

  double log_ratio(double octave) const {
    if (high_.series == nullptr) return 0;
    double const high = at(high_.series->knots, octave + high_.octaves);
    if (low_.series == nullptr) return high;
    double const low = at(low_.series->knots, octave + low_.octaves);
    return low + (high - low) * weight_;
  }

 private:
  struct Shifted {
    NcclCorrection const* series = nullptr;
    double octaves = 0;
  };

  static Shifted shifted(NcclCorrection const& s, NcclTopology const& t, BytesPerSecond speed) {
    double octaves = 0;
    if (s.speed.value > 0 && speed.value > 0) octaves += log2_of(s.speed / speed);
    if (t.nodes == 1) octaves += 0.5 * log2_of(static_cast<double>(s.ranks) / t.ranks);
    return {&s, octaves};
  }

  Shifted low_, high_;
  double weight_ = 1;
};

using Times = std::array<Seconds, kCurvePoints>;

Times priced(ClusterSpec const& c, CollectiveKind kind, Group g, Nearest const& nearest) {
  NcclTopology const t = nccl_topology(c, g);
  auto const choices = nccl_choices(t, kind);
  BytesPerSecond speed = t.intra;
  if (t.nodes > 1) {
    // Before oversubscription: a cluster that outgrows its leaf does not get another correction.
    speed = t.inter * (t.nodes > c.fabric.nodes_per_leaf ? c.fabric.oversubscription : 1);
  }
  Correction const correction(nearest, t, speed);
  Times out{};
  for (std::size_t i = 0; i < kCurvePoints; ++i) {
    Bytes const b = curve_point(i);
    double const octave = kFirstOctave + 0.5 * static_cast<double>(i);
    out[i] = nccl_best(choices, b).time(b) * portable_exp(correction.log_ratio(octave));
    if (i > 0) out[i] = max(out[i], out[i - 1]);
  }
  return out;
}

void raise(Times& to, Times const& least) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = max(to[i], least[i]);
}

Evidence evidence_of(Nearest const& nearest, NcclTopology const& t, Group g) {
  bool const pcie = !t.nvlink && t.ranks_per_node() > 1;
  if (nearest.series.empty() || nearest.foreign || g.nodes > 2 || pcie) return Evidence::unmeasured;
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

CollectiveCurve collective_curve(NcclCalibration const& calibration, ClusterSpec const& c,
                                 CollectiveKind kind, Group g) {
  CollectiveCurve curve;
  if (g.ranks <= 1) return curve;
  g.nodes = std::max(1, g.nodes);
  NcclTopology const t = nccl_topology(c, g);
  Nearest const nearest = nearest_for(calibration, c, kind, g);
  curve.volume = link_volume(t, kind);
  curve.time = priced(c, kind, g, nearest);
  curve.evidence = evidence_of(nearest, t, g);
  curve.source = nearest.series.empty() ? "NCCL's own model" : nearest.series.back()->source;
  if (g.nodes > 1 && t.ranks_per_node() > 1) {
    Group const one{t.ranks_per_node(), 1, 1};
    raise(curve.time, priced(c, kind, one, nearest_for(calibration, c, kind, one)));
  }
  if (g.nodes > 2) raise(curve.time, priced(c, kind, {2 * t.ranks_per_node(), 2, g.sharing}, nearest));
  return curve;
}

CollectivePrice nccl_price(NcclCalibration const& calibration, ClusterSpec const& c, CollectiveKind kind,
                           Group g, Bytes bytes) {
  return price(collective_curve(calibration, c, kind, g), bytes);
}

}  // namespace rollcast
