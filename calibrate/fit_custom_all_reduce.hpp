// Measured all-reduces of inference engines to a CustomAllReduceCalibration.
#pragma once

#include <string>
#include <vector>

#include "calibrate/sample.hpp"
#include "models/custom_all_reduce.hpp"

namespace rollcast {

// Samples of operation "all_reduce" on one node whose variant names a backend: "vllm_graph", "vllm_eager",
// "sglang_graph", "sglang_eager". Of each (GPU, backend, ranks) one campaign is fitted (fitted_source of
// size_series.hpp). even_sizes: only every other message size.
CustomAllReduceCalibration fit_custom_all_reduce(std::vector<Sample> const& samples, bool even_sizes);

struct CustomAllReduceResidual {
  std::string gpu;
  std::string backend;
  int ranks = 0;
  std::string source;
  int rows = 0;
  double median = 0;  // of |priced / measured - 1|
  double p90 = 0;
};

// held_out: of the fitted source only the sizes that a fit of even sizes does not see, and nothing of others.
std::vector<CustomAllReduceResidual> check_custom_all_reduce(CustomAllReduceCalibration const& calibration,
                                                             std::vector<Sample> const& samples,
                                                             bool held_out);

}  // namespace rollcast
