// What a calibration of collectives says of measured points.
#pragma once

#include <vector>

#include "calibrate/predictor.hpp"
#include "models/collective_calibration.hpp"

namespace rollcast {

// Predictors of the six collectives, ep_dispatch and ep_combine on nodes of this GPU (the first of the
// catalog): variant "nccl" or none by NCCL's model, "vllm_graph" and the like by the custom all-reduce of
// that backend, DeepEP's by the exchange. No price: several nodes of an unknown fabric, int8 all-reduces of
// cards with NVLS (they run without it), algorithms that were forced. Before datasheet_predictors in a list,
// they are asked first. A knot is a size that a series of the sample's own campaign (campaign_of of
// size_series.hpp) was fitted at; an exchange, two numbers, has none.
std::vector<Predictor> collective_predictors(Gpu const& gpu, CollectiveCalibration const& calibration);

}  // namespace rollcast
