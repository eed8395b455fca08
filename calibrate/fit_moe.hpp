// A MoeTable from measured expert MLPs.
#pragma once

#include <string>
#include <vector>

#include "calibrate/residuals.hpp"
#include "calibrate/sample.hpp"
#include "models/moe_table.hpp"

namespace rollcast {

struct MoeFit {
  MoeTable table;
  int rows = 0;  // that the table is made of
  Residuals held_out;
};

// Rows of another kind, GPU or distribution are left out; a row's variant names its distribution, alone or
// after its kernel. Of several times of one shape the shortest is taken: a stack picks its kernel. Without
// rows the table is empty. held_out: rows that the fit does not see; they only give the residuals.
MoeFit fit_moe(Gpu const& gpu, GemmKind kind, std::string const& distribution,
               std::vector<Sample> const& train, std::vector<Sample> const& held_out);

// Why its rows are too few for a table; "" where they are not. It has at least 4 numbers of tokens.
std::string too_few(MoeFit const& fit);

// |price / measured - 1| of the samples of this kind, GPU and distribution.
std::vector<double> moe_errors(MoeTable const& table, Gpu const& gpu, std::vector<Sample> const& samples);

}  // namespace rollcast
