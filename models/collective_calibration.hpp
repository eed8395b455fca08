// What is known by measurement about collectives, in one value and one text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "models/custom_all_reduce.hpp"
#include "models/expert_exchange.hpp"
#include "models/nccl_prices.hpp"

namespace rollcast {

struct CollectiveCalibration {
  NcclCalibration nccl;
  ExchangeCalibration exchange;
  CustomAllReduceCalibration custom;
};

// `own`, and of `other` what it lacks: series of another GPU, fabric, collective, rank or node count;
// exchanges of another GPU, mode, direction or reach; engines' all-reduces of another GPU, engine or rank
// count. So that a calibration of one cluster still tells the nearest measured one where it has nothing of
// its own.
CollectiveCalibration completed(CollectiveCalibration own, CollectiveCalibration const& other);

// The lines of the three parts, one after another.
std::string to_text(CollectiveCalibration const& calibration);

struct CollectiveCalibrationText {
  std::optional<CollectiveCalibration> value;
  std::string error;  // "line 3: ...", when value is not set
};
// Lines that start with "#" or with nothing are comments; any other first word than nccl, exchange and custom
// is an error.
CollectiveCalibrationText collective_calibration_from_text(std::string_view text);

}  // namespace rollcast
