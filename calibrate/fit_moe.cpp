#include "calibrate/fit_moe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <set>

#include "models/random.hpp"

namespace rollcast {
namespace {

using Key = std::array<double, 6>;

bool is_one(Sample const& s, Gpu const& gpu, GemmKind kind, std::string const& distribution) {
  return s.operation == "moe" && s.gpu == gpu.name && s.dtype == name_of(kind) && s.shape.size() == 7 &&
         s.seconds > Seconds(0) && s.variant.ends_with(distribution);
}

Key key_of(Sample const& s) {
  return {s.shape[1], s.shape[2], s.shape[3], s.shape[4], s.shape[5], s.shape[6]};
}

MoeShape shape_of(Key const& k) { return {k[0], k[1], k[2], k[3], k[4], k[5]}; }

}  // namespace

std::vector<double> moe_errors(MoeTable const& table, Gpu const& gpu, std::vector<Sample> const& samples) {
  std::map<Key, MoePrices> prices;
  std::vector<double> errors;
  for (Sample const& s : samples) {
    if (!is_one(s, gpu, table.kind, table.distribution)) continue;
    Key const key = key_of(s);
    auto it = prices.find(key);
    if (it == prices.end()) it = prices.emplace(key, MoePrices(table, gpu, shape_of(key))).first;
    errors.push_back(relative_error(it->second.at(s.shape[0]).value, s.seconds.value));
  }
  return errors;
}

MoeFit fit_moe(Gpu const& gpu, GemmKind kind, std::string const& distribution,
               std::vector<Sample> const& train, std::vector<Sample> const& held_out) {
  MoeFit fit;
  MoeTable& t = fit.table;
  t.kind = kind;
  t.distribution = distribution;
  std::map<Key, std::map<double, Seconds>> times;
  std::set<double> tokens;
  Seconds shortest(std::numeric_limits<double>::infinity());
  for (Sample const& s : train) {
    if (!is_one(s, gpu, kind, distribution)) continue;
    ++fit.rows;
    auto const [it, added] = times[key_of(s)].try_emplace(s.shape[0], s.seconds);
    it->second = min(it->second, s.seconds);
    tokens.insert(s.shape[0]);
    shortest = min(shortest, s.seconds);
  }
  if (times.empty()) return fit;
  t.shortest = shortest;
  t.tokens.assign(tokens.begin(), tokens.end());
  for (auto const& [key, row] : times) {
    t.shapes.push_back(shape_of(key));
    for (double const n : t.tokens) {
      auto const it = row.find(n);
      t.log_ratio.push_back(
          it == row.end()
              ? std::numeric_limits<double>::quiet_NaN()
              : portable_log(it->second / (t.shortest + moe_roofline(gpu, kind, t.shapes.back(), n))));
    }
  }
  fit.held_out = residuals_of(moe_errors(t, gpu, held_out));
  return fit;
}

std::string too_few(MoeFit const& fit) {
  constexpr std::size_t kTokens = 4;
  if (fit.table.tokens.size() >= kTokens) return {};
  return fmt::format("{} row{} too few for a table: it needs {} numbers of tokens", fit.rows,
                     fit.rows == 1 ? " is" : "s are", kTokens);
}

}  // namespace rollcast
