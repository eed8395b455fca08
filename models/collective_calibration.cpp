#include "models/collective_calibration.hpp"

#include <fmt/format.h>

#include "models/calibration_text.hpp"

namespace rollcast {

std::string to_text(CollectiveCalibration const& calibration) {
  return to_text(calibration.nccl) + to_text(calibration.exchange) + to_text(calibration.custom);
}

CollectiveCalibrationText collective_calibration_from_text(std::string_view text) {
  for (CalibrationLine const& line : calibration_lines(text)) {
    std::string_view const word = line.words.front();
    if (!word.starts_with("#") && word != "nccl" && word != "exchange" && word != "custom")
      return {std::nullopt,
              fmt::format("line {}: '{}' is none of nccl, exchange, custom", line.number, word)};
  }
  auto nccl = nccl_calibration_from_text(text);
  if (!nccl.value) return {std::nullopt, nccl.error};
  auto exchange = exchange_calibration_from_text(text);
  if (!exchange.value) return {std::nullopt, exchange.error};
  auto custom = custom_all_reduce_from_text(text);
  if (!custom.value) return {std::nullopt, custom.error};
  return {CollectiveCalibration{std::move(*nccl.value), std::move(*exchange.value), std::move(*custom.value)},
          ""};
}

}  // namespace rollcast
