// What a sweep keeps of each point, in its store and in its CSV.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "reports/headline.hpp"
#include "reports/sweep_grid.hpp"

namespace rollcast {

// Numbers have 9 significant digits. monostate: there is none.
using Cell = std::variant<std::monostate, std::string, double, std::int64_t>;

struct SweepColumn {
  std::string_view name;
  std::function<Cell(Headline const& h)> of;
  bool of_serving = false;
};

// outcome, reason, gpus, steps, then times, rates, costs (none where no step was completed) and memory: that
// of the pool nearest to its capacity; then those of serving (reports/serving_columns.hpp).
std::vector<SweepColumn> const& sweep_columns();

// "1,\"a,b\",0.25".
std::string csv_line(std::vector<Cell> const& cells);

// The varied keys, then sweep_columns(), those of serving where a point serves; of each point one line, in
// the order of the points. headlines: one for each point.
std::string sweep_csv(std::vector<VariedKey> const& grid, std::vector<Headline> const& headlines);

}  // namespace rollcast
