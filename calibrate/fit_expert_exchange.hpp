// Measured DeepEP dispatch and combine to an ExchangeCalibration.
#pragma once

#include <string>
#include <vector>

#include "calibrate/sample.hpp"
#include "models/expert_exchange.hpp"

namespace rollcast {

struct ExchangeSample {
  std::string gpu;
  ExpertExchange exchange;
  Seconds seconds;
  std::string source;
};

// Samples of ep_dispatch and ep_combine: variant "deepep low latency", or "deepep normal, 20 SMs" (DeepEP's
// default; other counts are left out).
std::vector<ExchangeSample> exchange_samples_of(std::vector<Sample> const& samples);

// alpha and share of each (GPU, mode, direction, one node or several): least squares of the relative error
// over the median times by size (bytes of a GPU). even_sizes: only every other size. Skipped: a GPU that the
// catalog does not know, sizes that span less than a factor of four.
ExchangeCalibration fit_expert_exchange(std::vector<ExchangeSample> const& samples, bool even_sizes);

struct ExchangeResidual {
  std::string gpu;
  std::string mode;
  std::string direction;
  bool several_nodes = false;
  int rows = 0;
  double median = 0;  // of |priced / measured - 1|
  double p90 = 0;
};

// held_out: only the sizes that a fit of even sizes does not see.
std::vector<ExchangeResidual> check_expert_exchange(ExchangeCalibration const& calibration,
                                                    std::vector<ExchangeSample> const& samples,
                                                    bool held_out);

}  // namespace rollcast
