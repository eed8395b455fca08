#include "calibrate/check.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>

#include "calibrate/residuals.hpp"

namespace rollcast {
namespace {

using Key = std::tuple<std::string, std::size_t, std::string, std::string, int, SampleSplit, TokenRange>;

struct Priced {
  std::size_t sample = 0;
  Seconds price;
  double error = 0;
};

struct Rows {
  std::vector<Priced> priced;
  int unpriced = 0;
};

std::size_t place_of(std::string const& operation) {
  auto const& all = operations();
  return static_cast<std::size_t>(std::find(all.begin(), all.end(), operation) - all.begin());
}

Key key_of(Sample const& s, SampleSplit split, TokenRange range) {
  int const nodes = is_collective(s.operation) ? static_cast<int>(std::lround(dimension(s, "nodes"))) : 0;
  return {s.gpu, place_of(s.operation), s.dtype, s.version, nodes, split, range};
}

Check check_of(Key const& key, Rows rows, std::vector<Sample> const& samples, std::size_t worst) {
  Check c;
  c.gpu = std::get<0>(key);
  c.operation = operations().at(std::get<1>(key));
  c.dtype = std::get<2>(key);
  c.version = std::get<3>(key);
  c.nodes = std::get<4>(key);
  c.split = std::get<5>(key);
  c.range = std::get<6>(key);
  c.unpriced = rows.unpriced;
  std::vector<double> sizes, errors;
  for (Priced const& p : rows.priced) {
    sizes.push_back(std::fabs(p.error));
    errors.push_back(p.error);
  }
  Residuals const residuals = residuals_of(std::move(sizes));
  c.rows = residuals.rows;
  c.median = residuals.median;
  c.p90 = residuals.p90;
  c.bias = median_of(std::move(errors));
  // Equal errors stay in the order of the rows.
  std::stable_sort(rows.priced.begin(), rows.priced.end(),
                   [](Priced const& a, Priced const& b) { return std::fabs(a.error) > std::fabs(b.error); });
  for (std::size_t i = 0; i < std::min(worst, rows.priced.size()); ++i) {
    Priced const& p = rows.priced[i];
    c.worst.push_back({samples[p.sample], p.price, p.error});
  }
  return c;
}

}  // namespace

CheckResult check_samples(std::map<std::string, std::vector<Predictor>> const& predictors,
                          std::vector<Sample> const& samples, CheckOptions const& options) {
  CheckResult result;
  std::vector<SampleSplit> const splits = split_of(samples, options.split);
  std::map<Key, Rows> groups;
  std::set<std::string> unknown;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    Sample const& s = samples[i];
    auto const of_gpu = predictors.find(s.gpu);
    if (of_gpu == predictors.end()) {
      unknown.insert(s.gpu);
      continue;
    }
    auto const price = predicted(of_gpu->second, s);
    auto const add_to = [&](TokenRange range) {
      Rows& rows = groups[key_of(s, splits[i], range)];
      if (price) {
        rows.priced.push_back({i, *price, *price / s.seconds - 1});
      } else {
        ++rows.unpriced;
      }
    };
    add_to(TokenRange::all);
    if (TokenRange const range = token_range_of(s); range != TokenRange::all) add_to(range);
    if (!price) continue;
    if (splits[i] != SampleSplit::train && is_knot(of_gpu->second, s)) result.exposed.push_back(s);
  }
  for (auto& [key, rows] : groups) {
    result.checks.push_back(check_of(key, std::move(rows), samples, options.worst));
  }
  result.unknown_gpus.assign(unknown.begin(), unknown.end());
  return result;
}

}  // namespace rollcast
