// Measured collectives to an NcclCalibration, and what the calibration makes of measured rows.
//
// Samples (sample.hpp) that is_fitted_by_nccl, on several nodes those whose fabric is known. `source` and
// `version` tell measuring campaigns apart. A series is (GPU, fabric, collective, ranks, nodes).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "calibrate/sample.hpp"
#include "models/nccl_prices.hpp"

namespace rollcast {

// Variant "nccl" or none (not an engine's own all-reduce, not in place, no forced algorithm), no integers:
// their all-reduces run without NVLS on Hopper.
bool is_fitted_by_nccl(Sample const& s);

// Which rows a fit sees. The message sizes of a series are ordered; even places train, odd are held out.
enum class CollectiveSplit {
  all,
  sizes,            // even sizes
  without_4_ranks,  // even sizes of the other rank counts of a node; held out: every row of 4 ranks on one
                    // node
  without_8_ranks,
};
std::string_view name_of(CollectiveSplit s);

// Of each series one campaign is fitted (fitted_source of size_series.hpp); other sources are other clusters.
// A series needs four trained sizes. Per size the median over rows; the medians are made
// non-decreasing in bytes (pooled adjacent violators); a knot per half octave, at its middle row, of the mean
// log ratio. A GPU that the catalog does not know is skipped.
NcclCalibration fit_collectives(std::vector<Sample> const& samples, CollectiveSplit split);

// Rows that fit_collectives and the fit of the engines' own all-reduces have no use for, by reason: in place,
// forced algorithms and integers; several nodes without a known fabric; of a series with fewer than four
// sizes; campaigns of a series other than the fitted one, both named. `trained`: those of the samples that
// the fit sees.
std::map<std::string, int> collectives_left_out(std::vector<Sample> const& samples,
                                                std::vector<Sample> const& trained);

enum class CollectiveRows {
  trained,        // rows that the fit of this split saw
  held_out,       // rows of the same source that it did not see
  other_cluster,  // rows of other sources
};
std::string_view name_of(CollectiveRows r);

struct CollectiveResidual {
  std::string gpu;
  std::string fabric;  // "" on one node
  std::string collective;
  int ranks = 0;
  int nodes = 1;
  std::string split;   // "sizes, held out"
  std::string source;  // of the rows
  int rows = 0;
  double median = 0;  // of |priced / measured - 1|
  double p90 = 0;
};

// By series and source, in that order; rows below `least` bytes are left out.
std::vector<CollectiveResidual> check_collectives(NcclCalibration const& calibration,
                                                  std::vector<Sample> const& samples, CollectiveSplit split,
                                                  CollectiveRows rows, Bytes least = Bytes(0));

// All of it as one line: collective "all", ranks and nodes 0.
CollectiveResidual check_all_collectives(NcclCalibration const& calibration,
                                         std::vector<Sample> const& samples, CollectiveSplit split,
                                         CollectiveRows rows, Bytes least = Bytes(0));

}  // namespace rollcast
