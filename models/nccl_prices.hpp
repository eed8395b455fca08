// NCCL's own price times what measured tables say of it.
//
// A correction is the measured time over NCCL's own price at the message sizes of one series (GPU, fabric,
// collective, ranks, nodes): log of the ratio, linear in log2 of the bytes between knots, constant outside.
// - One node: the sizes of a series of n ranks are compared at equal bytes / sqrt(n) / ring speed (the rule
// of
//   three that let 2 and 8 ranks tell 4 best); between rank counts the log ratio is linear in log2(n);
//   outside it goes on at half the slope for at most one doubling.
// - Several nodes, at equal bytes / NIC speed: the series of as many nodes, else of the most below that, else
// of
//   the least above.
// - A series of another collective, fabric or GPU stands in where there is none; Evidence says so. A node
// whose
//   ranks talk over PCIe is corrected by series of its own GPU alone.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/collective_curve.hpp"
#include "models/nccl.hpp"

namespace rollcast {

struct CorrectionKnot {
  double octave = 0;     // log2(bytes)
  double log_ratio = 0;  // log(measured / NCCL's own price)
};

struct NcclCorrection {
  std::string gpu;     // catalog names
  std::string fabric;  // "" on one node
  CollectiveKind kind = CollectiveKind::all_reduce;
  int ranks = 0;
  int nodes = 1;
  BytesPerSecond speed;               // NcclTopology::intra on one node, inter on several
  std::vector<CorrectionKnot> knots;  // octaves ascending, at least one
  std::string source;
};

struct NcclCalibration {
  std::vector<NcclCorrection> corrections;
};

// A group on several nodes costs at least what its ranks of one node would alone, and what as many ranks per
// node on two nodes would, or on any smaller number of nodes that has a series.
CollectiveCurve collective_curve(NcclCalibration const& calibration, ClusterSpec const& c,
                                 CollectiveKind kind, Group g);

CollectivePrice nccl_price(NcclCalibration const& calibration, ClusterSpec const& c, CollectiveKind kind,
                           Group g, Bytes bytes);

// Compact text, one line per correction:
//   nccl GPU FABRIC|node COLLECTIVE RANKS NODES GB/s OCTAVE:LOG_RATIO ... # SOURCE
// Octaves with up to four, log ratios with three decimals; reading gives back what was written from such
// values.
std::string to_text(NcclCalibration const& calibration);

struct NcclCalibrationText {
  std::optional<NcclCalibration> value;
  std::string error;  // "line 3: ...", when value is not set
};
// Lines that do not start with "nccl" are left to other readers.
NcclCalibrationText nccl_calibration_from_text(std::string_view text);

std::optional<CollectiveKind> collective_named(std::string_view name);

}  // namespace rollcast
