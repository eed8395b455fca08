// The peak of each ledger over the phases of the run.
#pragma once

#include <vector>

#include "reports/analysis.hpp"

namespace rollcast {

// One entry per ledger and pool that rank classes use, in order of the first such class.
std::vector<LedgerPeak> memory_peaks(EventLog const& log);

// The peak of one ledger over these phases (at least one); pool and ranks are not filled in.
LedgerPeak peak_of(RankLedger const& ledger, std::vector<Phase> const& phases);

}  // namespace rollcast
