// Why one way to serve does more than another: the GPU time of a request, part against part. Pure.
#pragma once

#include <string>
#include <vector>

#include "reports/serving_columns.hpp"

namespace rollcast {

// Of one part, GPU-seconds of a request.
struct ServingDifference {
  ServingTime part = ServingTime::base;
  Seconds winner;
  Seconds other;

  Seconds saved() const { return other - winner; }
};

// Largest |saved| first; those of a hundredth of the other's GPU time and more.
std::vector<ServingDifference> serving_differences(ServingHeadline const& winner,
                                                   ServingHeadline const& other);

// "it spends 1.20 s less GPU time on the further forwards of split batches and 0.31 s less on waits for
// loads, although 0.80 s more on adapters in steps": the one or two parts that save most, the second where it
// is a tenth of all savings, then the part that costs most where that is a fifth of them. More idle time is
// no cost. Empty without a saving.
std::string because(std::vector<ServingDifference> const& differences, AdapterExecution others);

// What the GPUs do in a part, and its column.
char const* noun_of(ServingTime part, AdapterExecution execution);
ServingColumn column_of(ServingTime t);

}  // namespace rollcast
