#include "calibrate/fit_collectives.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>

#include "calibrate/size_series.hpp"
#include "models/catalog/catalog.hpp"

namespace rollcast {
namespace {

// A shape needs at least so many sizes; one or two say nothing of the others.
constexpr std::size_t kFewestSizes = 4;

struct SeriesKey {
  std::string gpu;
  std::string fabric;
  CollectiveKind kind = CollectiveKind::all_reduce;
  int ranks = 0;
  int nodes = 1;

  auto operator<=>(SeriesKey const&) const = default;
};

using Series = std::map<SeriesKey, std::map<std::string, SizeRows>>;  // by source

Node const* node_with(std::string const& gpu) {
  for (Node const& n : builtin_catalog().nodes) {
    if (n.gpu.name == gpu) return &n;
  }
  return nullptr;
}

std::optional<SeriesKey> key_of(Sample const& s) {
  auto const kind = collective_named(s.operation);
  Node const* node = node_with(s.gpu);
  if (!kind || node == nullptr || s.shape.size() != 3 || !is_fitted_by_nccl(s)) return std::nullopt;
  SeriesKey k{s.gpu, "", *kind, static_cast<int>(s.shape[1]), static_cast<int>(s.shape[2])};
  if (k.ranks < 2 || k.nodes < 1 || k.ranks < k.nodes || !(s.shape[0] > 0) || !(s.seconds.value > 0))
    return std::nullopt;
  if (k.nodes > 1) {
    if (find_fabric(builtin_catalog(), s.fabric) == nullptr) return std::nullopt;
    k.fabric = s.fabric;
  }
  return k;
}

Series series_of(std::vector<Sample> const& samples) {
  Series out;
  for (Sample const& s : samples) {
    if (auto const k = key_of(s)) out[*k][campaign_of(s)].push_back({s.shape[0], s.seconds.value});
  }
  return out;
}

ClusterSpec cluster_of(SeriesKey const& k) {
  Node const& node = *node_with(k.gpu);
  Fabric const* fabric = find_fabric(builtin_catalog(), k.fabric.empty() ? node.fabric : k.fabric);
  return {node, k.nodes, *fabric};
}

int ranks_left_out(CollectiveSplit s) {
  if (s == CollectiveSplit::without_4_ranks) return 4;
  return s == CollectiveSplit::without_8_ranks ? 8 : 0;
}

// Whether the fit sees this size of the fitted source.
bool is_trained(SeriesKey const& k, std::vector<double> const& sizes, double bytes, CollectiveSplit split) {
  if (split == CollectiveSplit::all) return true;
  if (k.nodes == 1 && k.ranks == ranks_left_out(split)) return false;
  return is_even_size(sizes, bytes);
}

// With a rank count left out, the odd sizes of the other counts are neither trained nor asked for.
bool is_held_out(SeriesKey const& k, std::vector<double> const& sizes, double bytes, CollectiveSplit split) {
  int const ranks = ranks_left_out(split);
  if (ranks > 0) return k.nodes == 1 && k.ranks == ranks;
  return !is_trained(k, sizes, bytes, split);
}

std::vector<CorrectionKnot> knots_of(SeriesKey const& k, SizeRows const& rows) {
  auto const choices = nccl_choices(nccl_topology(cluster_of(k), {k.ranks, k.nodes, 1}), k.kind);
  std::map<int, std::vector<CorrectionKnot>> bins;
  for (auto const& [bytes, seconds] : smooth(rows)) {
    double const octave = std::log2(bytes);
    double const own = nccl_best(choices, Bytes(bytes)).time(Bytes(bytes)).value;
    bins[static_cast<int>(std::floor(2 * octave + 0.5))].push_back({octave, std::log(seconds / own)});
  }
  std::vector<CorrectionKnot> knots;
  for (auto const& [half_octave, bin] : bins) {
    double sum = 0;
    for (CorrectionKnot const& row : bin) sum += row.log_ratio;
    // At a size that was measured, so that a check can tell it.
    double const middle = bin[(bin.size() - 1) / 2].octave;
    knots.push_back({rounded(middle, 1e4), rounded(sum / static_cast<double>(bin.size()), 1000)});
  }
  return knots;
}

struct Errors {
  std::vector<double> values;

  CollectiveResidual summary() const {
    CollectiveResidual r;
    r.rows = static_cast<int>(values.size());
    if (values.empty()) return r;
    r.median = quantile(values, 0.5);
    r.p90 = quantile(values, 0.9);
    return r;
  }
};

using ErrorsBySource = std::map<std::pair<SeriesKey, std::string>, Errors>;

ErrorsBySource errors_of(NcclCalibration const& calibration, std::vector<Sample> const& samples,
                         CollectiveSplit split, CollectiveRows wanted, Bytes least) {
  ErrorsBySource out;
  for (auto const& [k, sources] : series_of(samples)) {
    std::string const& fitted = fitted_source(sources);
    auto const curve = collective_curve(calibration, cluster_of(k), k.kind, {k.ranks, k.nodes, 1});
    for (auto const& [source, rows] : sources) {
      if ((source == fitted) == (wanted == CollectiveRows::other_cluster)) continue;
      auto const sizes = sizes_of(rows);
      for (auto const& [bytes, seconds] : rows) {
        if (bytes < least.value) continue;
        if (wanted == CollectiveRows::trained && !is_trained(k, sizes, bytes, split)) continue;
        if (wanted == CollectiveRows::held_out && !is_held_out(k, sizes, bytes, split)) continue;
        out[{k, source}].values.push_back(std::abs(price(curve, Bytes(bytes)).total().value / seconds - 1));
      }
    }
  }
  return out;
}

std::string split_text(CollectiveSplit split, CollectiveRows rows) {
  return std::string(name_of(split)) + ", " + std::string(name_of(rows));
}

}  // namespace

bool is_fitted_by_nccl(Sample const& s) {
  bool const integers = s.dtype == "int8" || s.dtype == "uint8" || s.dtype == "int32" ||
                        s.dtype == "uint32" || s.dtype == "int64" || s.dtype == "uint64";
  return (s.variant.empty() || s.variant == "nccl") && !integers;
}

std::string_view name_of(CollectiveSplit s) {
  switch (s) {
    case CollectiveSplit::all:
      return "all";
    case CollectiveSplit::sizes:
      return "sizes";
    case CollectiveSplit::without_4_ranks:
      return "without 4 ranks";
    case CollectiveSplit::without_8_ranks:
      break;
  }
  return "without 8 ranks";
}

std::string_view name_of(CollectiveRows r) {
  switch (r) {
    case CollectiveRows::trained:
      return "trained";
    case CollectiveRows::held_out:
      return "held out";
    case CollectiveRows::other_cluster:
      break;
  }
  return "other cluster";
}

NcclCalibration fit_collectives(std::vector<Sample> const& samples, CollectiveSplit split) {
  NcclCalibration out;
  for (auto const& [k, sources] : series_of(samples)) {
    std::string const& source = fitted_source(sources);
    SizeRows const& rows = sources.at(source);
    auto const sizes = sizes_of(rows);
    SizeRows kept;
    for (auto const& r : rows) {
      if (is_trained(k, sizes, r.first, split)) kept.push_back(r);
    }
    if (sizes_of(kept).size() < kFewestSizes) continue;
    NcclTopology const t = nccl_topology(cluster_of(k), {k.ranks, k.nodes, 1});
    out.corrections.push_back({k.gpu, k.fabric, k.kind, k.ranks, k.nodes, t.nodes > 1 ? t.inter : t.intra,
                               knots_of(k, kept), source});
  }
  return out;
}

std::map<std::string, int> collectives_left_out(std::vector<Sample> const& samples,
                                                std::vector<Sample> const& trained) {
  std::map<std::string, int> rows;
  for (Sample const& s : samples) {
    if (!is_collective(s.operation) || s.variant.starts_with("vllm") || s.variant.starts_with("sglang"))
      continue;
    bool const known = s.shape[2] < 2 || find_fabric(builtin_catalog(), s.fabric) != nullptr;
    if (!known) {
      ++rows[fmt::format("{} on {:.0f} nodes: their fabric is not known; name it with --fabric NAME",
                         s.operation, s.shape[2])];
    } else if (!is_fitted_by_nccl(s)) {
      ++rows[s.operation + ": in place, of integers or with a forced algorithm"];
    } else if (!key_of(s)) {
      ++rows[fmt::format("{}: the catalog has no node with {}", s.operation, s.gpu)];
    }
  }
  Series const seen = series_of(trained);
  for (auto const& [k, sources] : series_of(samples)) {
    std::string const series = fmt::format("{} of {} ranks on {} {}", name_of(k.kind), k.ranks, k.nodes,
                                           k.nodes > 1 ? "nodes" : "node");
    auto const of_series = seen.find(k);
    std::string const fitted = of_series == seen.end() ? "" : fitted_source(of_series->second);
    std::size_t const sizes = fitted.empty() ? 0 : sizes_of(of_series->second.at(fitted)).size();
    for (auto const& [source, of_source] : sources) {
      int const count = static_cast<int>(of_source.size());
      if (!fitted.empty() && source != fitted) {
        rows[fmt::format("{}: {} was taken, not {}", series, fitted, source)] += count;
      } else if (sizes < kFewestSizes) {
        rows[fmt::format("{}: {} message sizes to fit, of {}; a series needs {}", series, sizes,
                         sizes_of(of_source).size(), kFewestSizes)] += count;
      }
    }
  }
  return rows;
}

std::vector<CollectiveResidual> check_collectives(NcclCalibration const& calibration,
                                                  std::vector<Sample> const& samples, CollectiveSplit split,
                                                  CollectiveRows rows, Bytes least) {
  std::vector<CollectiveResidual> out;
  for (auto const& [at, errors] : errors_of(calibration, samples, split, rows, least)) {
    auto const& [k, source] = at;
    CollectiveResidual r = errors.summary();
    r.gpu = k.gpu;
    r.fabric = k.fabric;
    r.collective = std::string(name_of(k.kind));
    r.ranks = k.ranks;
    r.nodes = k.nodes;
    r.split = split_text(split, rows);
    r.source = source;
    out.push_back(std::move(r));
  }
  return out;
}

CollectiveResidual check_all_collectives(NcclCalibration const& calibration,
                                         std::vector<Sample> const& samples, CollectiveSplit split,
                                         CollectiveRows rows, Bytes least) {
  Errors all;
  for (auto const& [at, errors] : errors_of(calibration, samples, split, rows, least))
    all.values.insert(all.values.end(), errors.values.begin(), errors.values.end());
  CollectiveResidual r = all.summary();
  r.collective = "all";
  r.nodes = 0;
  r.split = split_text(split, rows);
  return r;
}

}  // namespace rollcast
