// Rows of the table of a contest.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "reports/contest.hpp"

namespace rollcast {

// What a contender shows in a row; empty: nothing.
struct ContestRow {
  std::string label;
  std::function<std::string(ContenderFigures const&, std::size_t)> cell;
};

// Of contenders that serve: latencies, rates, cost, where the GPUs' time goes, adapters, tenants.
std::vector<ContestRow> serving_rows(Contest const& c);

std::string money_text(double dollars);
// "0.912 (0.900 to 0.924)"; empty without one.
std::string speed_text(std::optional<PairedRatio> const& r);

}  // namespace rollcast
