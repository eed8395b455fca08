// The peak of each ledger over the phases of the run.
#pragma once

#include <vector>

#include "reports/analysis.hpp"

namespace rollcast {

// One entry per ledger and pool that rank classes use, in order of the first such class.
std::vector<LedgerPeak> memory_peaks(EventLog const& log);

}  // namespace rollcast
