// What the points of `ratio` come to, in sentences. Pure.
#pragma once

#include <string>
#include <vector>

#include "reports/ratio_report.hpp"

namespace rollcast {

// Sentences, the most important first: the balance; who sets the pace at the base and what more rollout GPUs
// would change (first, where GPUs do not set the pace); what other changes would; the knee; the fastest and
// the cheapest split; colocated or apart, and why; how the balance moves with the lengths. One sentence where
// no split can be simulated. A report with splits has a base, and its bottleneck.
std::vector<std::string> ratio_verdict(RatioReport const& r);

}  // namespace rollcast
