// How much of what is computed is padding.
#pragma once

#include <cstdint>
#include <vector>

#include "models/packing.hpp"

namespace rollcast {

struct PaddingWaste {
  std::int64_t tokens = 0;         // computed, padding included
  std::int64_t useful_tokens = 0;  // of sequences

  double wasted_share() const;  // of the tokens; 0 where nothing is computed
};

// Over the micro-batches of one replica. A useful token more than tokens is a std::logic_error.
PaddingWaste padding_waste(std::vector<MicroBatch> const& batches);

// Over several replicas or steps.
PaddingWaste operator+(PaddingWaste a, PaddingWaste b);

}  // namespace rollcast
