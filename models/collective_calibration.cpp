#include "models/collective_calibration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <vector>

#include "models/calibration_text.hpp"

namespace rollcast {

namespace {

auto key_of(NcclCorrection const& c) { return std::tie(c.gpu, c.fabric, c.kind, c.ranks, c.nodes); }
auto key_of(ExchangeFit const& f) { return std::tie(f.gpu, f.mode, f.direction, f.several_nodes); }
auto key_of(CustomAllReduceSeries const& s) { return std::tie(s.gpu, s.backend, s.ranks); }

template <class T>
void complete(std::vector<T>& own, std::vector<T> const& other) {
  std::size_t const count = own.size();
  for (T const& o : other) {
    auto const end = own.begin() + static_cast<std::ptrdiff_t>(count);
    if (std::none_of(own.begin(), end, [&](T const& x) { return key_of(x) == key_of(o); })) own.push_back(o);
  }
}

}  // namespace

CollectiveCalibration completed(CollectiveCalibration own, CollectiveCalibration const& other) {
  complete(own.nccl.corrections, other.nccl.corrections);
  complete(own.exchange.fits, other.exchange.fits);
  complete(own.custom.series, other.custom.series);
  return own;
}

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
