// What the points of `ratio` come to, in sentences. Pure.
#pragma once

#include <string>
#include <vector>

#include "reports/ratio_report.hpp"

namespace rollcast {

// Sentences, the most important first: the balance; who sets the pace and what more GPUs would change; the
// knee; the fastest and the cheapest split; colocated or apart, and why; how the balance moves with the
// lengths. One sentence where no split can be simulated.
std::vector<std::string> ratio_verdict(RatioReport const& r);

}  // namespace rollcast
