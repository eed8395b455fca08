#include "models/nccl_prices.hpp"

#include <algorithm>
#include <cstdlib>
#include <tuple>

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

// A series of NVLink says nothing of PCIe between the ranks of a node.
bool is_of_such_links(NcclCorrection const& s, Gpu const& gpu, NcclTopology const& t) {
  return t.nodes > 1 || t.nvlink || (s.gpu == gpu.name && s.speed <= 2 * t.intra);
}

Nearest nearest_series(NcclCalibration const& calibration, ClusterSpec const& c, CollectiveKind kind,
                       NcclTopology const& t) {
  Nearest out;
  bool const several_nodes = t.nodes > 1;
  for (NcclCorrection const& s : calibration.corrections) {
    if ((s.nodes > 1) != several_nodes || s.knots.empty() || !is_of_such_links(s, c.node.gpu, t)) continue;
    int distance = kind_distance(kind, s.kind);
    if (distance > out.distance) continue;
    distance += gpu_distance(c.node.gpu, s.gpu);
    if (several_nodes && distance <= out.distance) distance += fabric_distance(c.fabric, s.fabric);
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

// For several nodes: the series of as many, else of the most below, else of the least above; of these the one
// with the nearest number of ranks per node.
NcclCorrection const& series_of_nodes(std::vector<NcclCorrection const*> const& series,
                                      NcclTopology const& t) {
  auto const rank = [&](NcclCorrection const* s) {
    return std::tuple(s->nodes > t.nodes, std::abs(t.nodes - s->nodes),
                      std::abs(t.ranks_per_node() - s->ranks / s->nodes));
  };
  return **std::min_element(series.begin(), series.end(),
                            [&](auto const* a, auto const* b) { return rank(a) < rank(b); });
}

// log ratio for a topology: one node between rank counts, several nodes from series_of_nodes.
// Two series, each at octaves shifted by its ranks and speed, the second at weight w (outside 0 to 1: beyond
// the last rank count).
class Correction {
 public:
  Correction(Nearest const& nearest, NcclTopology const& t, BytesPerSecond speed) {
    auto const& s = nearest.series;
    if (s.empty()) return;
    if (t.nodes > 1 || s.size() == 1) {
      high_ = shifted(t.nodes > 1 ? series_of_nodes(s, t) : *s.front(), t, speed);
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

Evidence evidence_of(Nearest const& nearest, NcclTopology const& t) {
  auto const& series = nearest.series;
  if (series.empty() || nearest.foreign) return Evidence::unmeasured;
  bool const exact = std::any_of(series.begin(), series.end(),
                                 [&](auto const* s) { return s->ranks == t.ranks && s->nodes == t.nodes; });
  if (nearest.distance == 0 && exact) return Evidence::measured;
  bool const wider =
      std::any_of(series.begin(), series.end(), [&](auto const* s) { return s->nodes >= t.nodes; });
  bool const pcie = t.nodes > 1 && !t.nvlink && t.ranks_per_node() > 1 && nearest.distance > 0;
  return wider && !pcie ? Evidence::derived : Evidence::unmeasured;
}

}  // namespace

CollectiveCurve collective_curve(NcclCalibration const& calibration, ClusterSpec const& c,
                                 CollectiveKind kind, Group g) {
  CollectiveCurve curve;
  if (g.ranks <= 1) return curve;
  g.nodes = std::max(1, g.nodes);
  NcclTopology const t = nccl_topology(c, g);
  Nearest const nearest = nearest_series(calibration, c, kind, t);
  curve.volume = link_volume(t, kind);
  curve.time = priced(c, kind, g, nearest);
  curve.evidence = evidence_of(nearest, t);
  curve.source = "NCCL's own model";
  if (!nearest.series.empty())
    curve.source = (t.nodes > 1 ? series_of_nodes(nearest.series, t) : *nearest.series.back()).source;
  int const local = t.ranks_per_node();
  if (t.nodes > 1 && local > 1) {
    Group const one{local, 1, 1};
    raise(curve.time, priced(c, kind, one, nearest_series(calibration, c, kind, nccl_topology(c, one))));
  }
  std::vector<int> fewer = {2};
  for (auto const* s : nearest.series) fewer.push_back(s->nodes);
  std::sort(fewer.begin(), fewer.end());
  fewer.erase(std::unique(fewer.begin(), fewer.end()), fewer.end());
  for (int const nodes : fewer) {
    if (nodes > 1 && nodes < t.nodes)
      raise(curve.time, priced(c, kind, {nodes * local, nodes, g.sharing}, nearest));
  }
  return curve;
}

CollectivePrice nccl_price(NcclCalibration const& calibration, ClusterSpec const& c, CollectiveKind kind,
                           Group g, Bytes bytes) {
  return price(collective_curve(calibration, c, kind, g), bytes);
}

}  // namespace rollcast
