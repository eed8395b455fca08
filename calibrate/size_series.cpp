#include "calibrate/size_series.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/quantile.hpp"

namespace rollcast {
namespace {

double lower_median(std::vector<double> v) {
  auto const middle = v.begin() + static_cast<std::ptrdiff_t>((v.size() - 1) / 2);
  std::nth_element(v.begin(), middle, v.end());
  return *middle;
}

}  // namespace

std::string campaign_of(Sample const& s) {
  return s.version.empty() ? s.source : s.source + "; " + s.version;
}

bool is_same_campaign(std::string_view a, std::string_view b) {
  auto const path_end = [](std::string_view s) { return std::min(s.rfind("; "), s.size()); };
  if (a.substr(path_end(a)) != b.substr(path_end(b))) return false;
  a = a.substr(0, path_end(a));
  b = b.substr(0, path_end(b));
  if (a.size() < b.size()) std::swap(a, b);
  return a.ends_with(b) && (a.size() == b.size() || (!b.empty() && a[a.size() - b.size() - 1] == '/'));
}

double quantile(std::vector<double> v, double q) {
  std::sort(v.begin(), v.end());
  return interpolated_quantile(v, q);
}

std::vector<double> sizes_of(SizeRows const& rows) {
  std::vector<double> sizes;
  for (auto const& r : rows) sizes.push_back(r.first);
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end(), [](double a, double b) { return !(a < b); }),
              sizes.end());
  return sizes;
}

bool is_even_size(std::vector<double> const& sizes, double size) {
  return (std::lower_bound(sizes.begin(), sizes.end(), size) - sizes.begin()) % 2 == 0;
}

SizeRows smooth(SizeRows const& rows) {
  std::map<double, std::vector<double>> by_size;
  for (auto const& [size, seconds] : rows) by_size[size].push_back(seconds);
  struct Block {
    std::vector<double> times;  // one of each size
    double level;
  };
  std::vector<Block> blocks;
  for (auto const& [size, times] : by_size) {
    double const time = lower_median(times);
    blocks.push_back({{time}, time});
    while (blocks.size() > 1 && blocks.back().level < blocks[blocks.size() - 2].level) {
      Block const b = std::move(blocks.back());
      blocks.pop_back();
      Block& a = blocks.back();
      a.times.insert(a.times.end(), b.times.begin(), b.times.end());
      a.level = lower_median(a.times);
    }
  }
  SizeRows out;
  auto size = by_size.begin();
  for (Block const& b : blocks) {
    for (std::size_t i = 0; i < b.times.size(); ++i) out.push_back({(size++)->first, b.level});
  }
  return out;
}

std::string const& fitted_source(std::map<std::string, SizeRows> const& sources) {
  auto const rank = [](SizeRows const& rows) {
    auto const sizes = sizes_of(rows);
    return std::pair{std::lround(10 * std::log2(sizes.back() / sizes.front())), rows.size()};
  };
  auto best = sources.begin();
  for (auto i = sources.begin(); i != sources.end(); ++i) {
    if (rank(i->second) >= rank(best->second)) best = i;
  }
  return best->first;
}

double rounded(double v, double scale) { return std::round(v * scale) / scale; }

}  // namespace rollcast
