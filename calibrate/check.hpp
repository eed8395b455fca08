// A profile against measured points.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "calibrate/layers.hpp"
#include "calibrate/predictor.hpp"
#include "calibrate/sample.hpp"
#include "calibrate/split.hpp"

namespace rollcast {

struct WorstRow {
  Sample sample;
  Seconds price;
  double error = 0;  // price / measured - 1
};

// Of one GPU, operation, element type, software and (of collectives) node count: the rows of one split. Of
// layers there is one more for each range of tokens.
struct Check {
  std::string gpu;
  std::string operation;
  std::string dtype;
  std::string version;
  int nodes = 0;  // 0: no collective
  SampleSplit split = SampleSplit::train;
  TokenRange range = TokenRange::all;
  int rows = 0;
  double median = 0;            // of |price / measured - 1|; the lower one of two middles
  double p90 = 0;               // not exceeded by 90 % of the rows
  double bias = 0;              // median of price / measured - 1
  int unpriced = 0;             // rows without a price, not among `rows`
  std::vector<WorstRow> worst;  // largest errors first
};

struct CheckResult {
  std::vector<Check> checks;  // by gpu, operation (order of sample.hpp), dtype, version, nodes, split, range
  std::vector<Sample> exposed;            // held-out rows that are a knot of their profile: the check failed
  std::vector<std::string> unknown_gpus;  // of samples that no profile was given for
};

struct CheckOptions {
  SplitOptions split;
  std::size_t worst = 3;  // rows kept of each check
};

// predictors: by GPU. Every sample's operation must be one of sample.hpp.
CheckResult check_samples(std::map<std::string, std::vector<Predictor>> const& predictors,
                          std::vector<Sample> const& samples, CheckOptions const& options = {});

}  // namespace rollcast
