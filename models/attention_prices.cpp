// An AttentionTable bound to a GPU and a head configuration.
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "models/attention_tables.hpp"
#include "models/monotone.hpp"
#include "models/random.hpp"

namespace rollcast {
namespace {

// How much farther another group size (heads per kv head) or head_dim is than another number of kv heads.
constexpr double kGroupDistance = 2;
constexpr double kHeadDimDistance = 3;
// Of the shortest time, what counts beside the roofline when a price is carried to another card.
constexpr double kDecodePart = 0.05;
constexpr double kPrefillPart = 0.3;

bool same(double a, double b) { return !(a < b) && !(b < a); }

// The log ratios of one measured shape without gaps, [batch][length].
std::vector<double> completed(AttentionTable const& t, std::size_t shape) {
  std::size_t const nl = t.length.size();
  std::size_t const nb = t.batch.size();
  std::vector<double> grid(t.log_ratio.begin() + static_cast<std::ptrdiff_t>(shape * nb * nl),
                           t.log_ratio.begin() + static_cast<std::ptrdiff_t>((shape + 1) * nb * nl));
  double const* before = nullptr;  // the complete row of the next smaller batch
  std::size_t empty = 0;           // rows before the first one with a value
  for (std::size_t b = 0; b < nb; ++b) {
    double* row = &grid[b * nl];
    std::vector<std::size_t> known;
    for (std::size_t l = 0; l < nl; ++l) {
      if (!std::isnan(row[l])) known.push_back(l);
    }
    if (known.empty()) {
      if (before == nullptr) {
        ++empty;
        continue;
      }
      std::copy(before, before + nl, row);
    } else {
      for (std::size_t l = 0; l < nl; ++l) {
        auto const after = std::lower_bound(known.begin(), known.end(), l);
        if (after != known.end() && *after == l) continue;
        if (after != known.end() && after != known.begin()) {
          std::size_t const low = *(after - 1);
          double const weight =
              portable_log(t.length[l] / t.length[low]) / portable_log(t.length[*after] / t.length[low]);
          row[l] = row[low] + weight * (row[*after] - row[low]);
        } else {
          std::size_t const end = after == known.end() ? known.back() : known.front();
          row[l] = row[end] + (before == nullptr ? 0 : before[l] - before[end]);
        }
      }
    }
    before = row;
  }
  for (std::size_t b = 0; b < empty && before != nullptr; ++b) {
    std::copy_n(&grid[empty * nl], nl, &grid[b * nl]);
  }
  return grid;
}

struct Source {
  std::size_t shape;
  double weight;
};

double& coordinate(HeadShape& s, bool heads) { return heads ? s.heads : s.kv_heads; }

// The two measured shapes around `wanted` that differ in heads alone (or in kv_heads alone).
void add_between(AttentionTable const& t, HeadShape wanted, bool heads, std::vector<Source>& sources) {
  double const here = coordinate(wanted, heads);
  std::size_t low = t.shapes.size();
  std::size_t high = t.shapes.size();
  auto const value = [&](std::size_t i) {
    HeadShape s = t.shapes[i];
    return coordinate(s, heads);
  };
  for (std::size_t i = 0; i < t.shapes.size(); ++i) {
    HeadShape other = t.shapes[i];
    if (!same(other.head_dim, wanted.head_dim)) continue;
    if (!same(coordinate(other, !heads), coordinate(wanted, !heads))) continue;
    if (value(i) < here && (low == t.shapes.size() || value(i) > value(low))) low = i;
    if (value(i) > here && (high == t.shapes.size() || value(i) < value(high))) high = i;
  }
  if (low == t.shapes.size() || high == t.shapes.size()) return;
  double const to_low = portable_log(here / value(low));
  double const to_high = portable_log(value(high) / here);
  double const trust = 1 / (to_low * to_high);
  sources.push_back({low, trust * to_high / (to_low + to_high)});
  sources.push_back({high, trust * to_low / (to_low + to_high)});
}

std::vector<Source> sources_of(AttentionTable const& t, HeadShape wanted) {
  for (std::size_t i = 0; i < t.shapes.size(); ++i) {
    HeadShape const& s = t.shapes[i];
    if (same(s.heads, wanted.heads) && same(s.kv_heads, wanted.kv_heads) &&
        same(s.head_dim, wanted.head_dim)) {
      return {{i, 1}};
    }
  }
  std::vector<Source> sources;
  add_between(t, wanted, /*heads=*/true, sources);
  add_between(t, wanted, /*heads=*/false, sources);
  double sum = 0;
  for (Source const& s : sources) sum += s.weight;
  for (Source& s : sources) s.weight /= sum;
  return sources;
}

HeadShape nearest_to(AttentionTable const& t, HeadShape wanted) {
  auto const distance = [&](HeadShape const& s) {
    double const group = portable_log(s.heads / s.kv_heads * wanted.kv_heads / wanted.heads);
    return kGroupDistance * std::abs(group) + std::abs(portable_log(s.kv_heads / wanted.kv_heads)) +
           kHeadDimDistance * std::abs(portable_log(s.head_dim / wanted.head_dim));
  };
  HeadShape best = t.shapes.front();
  for (HeadShape const& s : t.shapes) {
    if (distance(s) < distance(best)) best = s;
  }
  return best;
}

std::size_t segment_of(std::vector<double> const& knots, double v) {
  auto const it = std::upper_bound(knots.begin(), knots.end(), v);
  std::size_t const above = static_cast<std::size_t>(it - knots.begin());
  return std::min(above == 0 ? 0 : above - 1, knots.size() - 2);
}

}  // namespace

double AttentionPrices::work_of(double length) const {
  if (!prefill_) return length;
  return quadratic_ * causal_pairs_twice(length, window_) + linear_ * length;
}

AttentionPrices::AttentionPrices(AttentionTable const& table, Gpu const& measured_on, Gpu const& gpu,
                                 HeadShape shape)
    : prefill_(table.kind == AttentionKind::prefill),
      batch_(table.batch),
      length_(table.length),
      window_(table.window) {
  if (table.shapes.empty() || batch_.empty() || length_.empty()) {
    throw std::logic_error("an attention table without a measured value has no prices");
  }
  if (!(shape.heads > 0) || !(shape.kv_heads > 0) || !(shape.head_dim > 0)) {
    throw std::logic_error("heads, kv_heads and head_dim are above 0");
  }
  // Units of work per length: the roofline of one sequence, of which pairs and bytes are one part each.
  quadratic_ = (Flops(2 * shape.heads * shape.head_dim) / gpu.bf16).value;
  linear_ = (bytes(4 * (shape.heads + shape.kv_heads) * shape.head_dim) / gpu.memory_bandwidth).value;
  for (double const l : length_) work_.push_back(work_of(l));

  std::size_t const nl = length_.size();
  std::vector<Source> const sources = sources_of(table, shape);
  bool const carried = !same_rates(measured_on, gpu);
  std::vector<double> log_time(batch_.size() * nl, 0);
  if (!sources.empty()) {
    for (Source const& s : sources) {
      std::vector<double> const grid = completed(table, s.shape);
      for (std::size_t i = 0; i < grid.size(); ++i) log_time[i] += s.weight * grid[i];
    }
    for (std::size_t b = 0; b < batch_.size(); ++b) {
      for (std::size_t l = 0; l < nl; ++l) {
        Seconds const roof = attention_roofline(measured_on, table, shape, batch_[b], length_[l]);
        double& v = log_time[b * nl + l];
        v += portable_log((table.shortest + roof).value);
        if (!carried) continue;
        Seconds const part = table.shortest * (prefill_ ? kPrefillPart : kDecodePart);
        Seconds const here = attention_roofline(gpu, table, shape, batch_[b], length_[l]);
        v = std::max(v + portable_log((here + part) / (roof + part)), portable_log(table.shortest.value));
      }
    }
  } else {
    HeadShape const like = nearest_to(table, shape);
    AttentionPrices const prices(table, measured_on, gpu, like);
    // Fewer heads are like less of a batch, also less than one sequence.
    double const batches = prefill_ ? shape.heads * shape.head_dim / (like.heads * like.head_dim)
                                    : shape.kv_heads / like.kv_heads;
    double const lengths = prefill_ ? 1 : shape.head_dim / like.head_dim;
    for (std::size_t b = 0; b < batch_.size(); ++b) {
      for (std::size_t l = 0; l < nl; ++l) {
        log_time[b * nl + l] = portable_log(prices.at(batch_[b] * batches, length_[l] * lengths).value);
      }
    }
  }
  make_ascending(log_time, batch_.size(), nl, 1);
  for (double const v : log_time) seconds_.push_back(portable_exp(v));
  if (prefill_) return;
  // Between measured shapes and lengths a line may dip below what reading the cache takes.
  for (std::size_t b = 0; b < batch_.size(); ++b) {
    for (std::size_t l = 0; l < nl; ++l) {
      double& s = seconds_[b * nl + l];
      s = std::max(s, attention_roofline(gpu, table, shape, batch_[b], length_[l]).value);
    }
  }
}

AttentionPrices::Rows AttentionPrices::rows_at(double batch) const {
  if (batch <= batch_.front() || batch_.size() < 2) return {0, 0, batch / batch_.front()};
  std::size_t const b = segment_of(batch_, batch);
  return {b, b + 1, (batch - batch_[b]) / (batch_[b + 1] - batch_[b])};
}

double AttentionPrices::value_at(Rows rows, std::size_t l) const {
  double const low = seconds_[rows.low * length_.size() + l];
  if (rows.high == rows.low) {
    if (rows.weight >= 1) return low * rows.weight;
    double const shortest = seconds_[rows.low * length_.size()];
    return shortest + rows.weight * (low - shortest);
  }
  return low + rows.weight * (seconds_[rows.high * length_.size() + l] - low);
}

Seconds AttentionPrices::at(double batch, double length) const {
  if (!(batch > 0) || !(length > 0)) return Seconds(0);
  Rows const rows = rows_at(batch);
  if (length <= length_.front() || length_.size() < 2) return seconds(value_at(rows, 0));
  std::size_t const l = segment_of(length_, length);
  double const low = value_at(rows, l);
  double const high = value_at(rows, l + 1);
  return seconds(low + (high - low) * (work_of(length) - work_[l]) / (work_[l + 1] - work_[l]));
}

Seconds AttentionPrices::with_prefix(double batch, double added, double prefix) const {
  return max(at(batch, added), at(batch, prefix + added) - at(batch, prefix));
}

Curve AttentionPrices::curve(double batch) const {
  if (!(batch > 0)) return {length_, std::vector<double>(length_.size(), 0)};
  Curve c;
  c.x = length_;
  Rows const rows = rows_at(batch);
  for (std::size_t l = 0; l < length_.size(); ++l) c.y.push_back(value_at(rows, l));
  return c;
}

}  // namespace rollcast
