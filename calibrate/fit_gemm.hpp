// A GemmTable from measured matrix products.
#pragma once

#include <string>
#include <vector>

#include "calibrate/residuals.hpp"
#include "calibrate/sample.hpp"
#include "models/gemm_table.hpp"

namespace rollcast {

struct GemmFit {
  GemmTable table;
  int rows = 0;  // that the table is made of
  Residuals held_out;
};

// Rows that are no gemm of this kind, or of another GPU, are left out; of several times of one shape the
// median is taken. Knots are the sizes that occur. Exponents outside the grid: the medians, between 0 and 1,
// of the slope of log time between the two outermost knots, below over all lines of the grid, above over
// those whose time there is not below the median. Without rows the table is empty. held_out: rows that the
// fit does not see; they only give the residuals.
GemmFit fit_gemm(Gpu const& gpu, GemmKind kind, std::vector<Sample> const& train,
                 std::vector<Sample> const& held_out);

// Why the rows of a fit are too few for a table, "gemm bf16: 1 row is too few ..."; "" where they are not. A
// table of a corner would be extended without end: it has at least 8 sizes of m that span a factor of 64, and
// 4 pairs (n, k).
std::string too_few(GemmFit const& fit);

// |price / measured - 1| of the samples of this kind and GPU.
std::vector<double> gemm_errors(GemmPrices const& prices, Gpu const& gpu, GemmKind kind,
                                std::vector<Sample> const& samples);

}  // namespace rollcast
