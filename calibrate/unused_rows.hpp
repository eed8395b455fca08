// Measured rows that a fit has no use for, and why.
#pragma once

#include <string>
#include <vector>

#include "calibrate/profile_text.hpp"
#include "calibrate/sample.hpp"

namespace rollcast {

struct UnusedRows {
  std::string why;  // "gemm: there is no table of type fp16"
  int rows = 0;
};

// Rows whose time cannot be true (plausible_time.hpp), of any GPU of the catalog: by operation.
std::vector<UnusedRows> implausible_rows(std::vector<Sample> const& samples);

// Of one GPU, rows of plausible times that `fitted` was not fitted to: types without a table, other software
// than was taken, other engines' points; of collectives what collectives_left_out tells. Rows that are held
// out for the check have a use; `trained` are the others. By reason, in alphabetical order.
std::vector<UnusedRows> unused_rows(std::vector<Sample> const& samples, std::vector<Sample> const& trained,
                                    ProfileText const& fitted);

}  // namespace rollcast
