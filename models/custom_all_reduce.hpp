// The all-reduce that inference engines bring along for the GPUs of one node (vLLM and SGLang custom
// all-reduce): measured time over bytes, by rank count. Small tensors go through peer memory in one or two
// kernels; from 8 MB on the engine itself falls back to NCCL, and the table goes on with what it then takes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/collective_curve.hpp"

namespace rollcast {

struct CustomAllReduceKnot {
  double octave = 0;  // log2(bytes)
  double us = 0;
};

struct CustomAllReduceSeries {
  std::string gpu;
  std::string backend;  // "vllm_graph": inside a CUDA graph; "vllm_eager": with its launch, ...
  int ranks = 0;
  BytesPerSecond nvlink;                   // of that GPU, data sheet
  std::vector<CustomAllReduceKnot> knots;  // octaves ascending, times not falling
  std::string source;
};

struct CustomAllReduceCalibration {
  std::vector<CustomAllReduceSeries> series;
};

// Between knots log time over log bytes; below the first constant, above the last linear in bytes. Between
// rank counts log time over log ranks; outside the nearest count. Another GPU takes the series of its NCCL
// generation (else the first GPU of the list) at equal bytes / NVLink speed. nullopt: no such backend, a
// group on several nodes, or GPUs without NVLink (engines do not use it there). A group of one costs nothing.
// alpha is the time of the smallest message (at most 0.99 of the total), the rest an effective bandwidth for
// 2(n-1)/n of the bytes.
std::optional<CollectivePrice> custom_all_reduce_price(CustomAllReduceCalibration const& calibration,
                                                       Node const& node, std::string_view backend, int ranks,
                                                       Bytes bytes);

// The same at the points of a curve, to be read many times. Evidence: measured for a GPU and rank count of
// the list, else derived.
std::optional<CollectiveCurve> custom_all_reduce_curve(CustomAllReduceCalibration const& calibration,
                                                       Node const& node, std::string_view backend, int ranks);

// custom GPU BACKEND RANKS NVLINK_GB/s OCTAVE:US ... # SOURCE
std::string to_text(CustomAllReduceCalibration const& calibration);
struct CustomAllReduceText {
  std::optional<CustomAllReduceCalibration> value;
  std::string error;
};
// Lines that do not start with "custom" are left to other readers.
CustomAllReduceText custom_all_reduce_from_text(std::string_view text);

}  // namespace rollcast
