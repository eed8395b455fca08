// Measured times over message sizes: what the fits of collectives share.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "calibrate/sample.hpp"

namespace rollcast {

using SizeRows = std::vector<std::pair<double, double>>;  // size, seconds

// What tells measuring campaigns apart: source and software, "FILE; NCCL 2.29.2".
std::string campaign_of(Sample const& s);

// Whether two of them are the same one, though the files were found from different folders: one path is the
// end of the other, and the software is the same.
bool is_same_campaign(std::string_view a, std::string_view b);

// Linear between order statistics; v is not empty.
double quantile(std::vector<double> v, double q);

// Distinct sizes, ascending.
std::vector<double> sizes_of(SizeRows const& rows);

// The place of a size among `sizes` (which has it) is even: the half that trains.
bool is_even_size(std::vector<double> const& sizes, double size);

// Median time of each size, then made non-decreasing: sizes whose times fall are pooled and get their median
// (pooled adjacent violators). Lower medians: a disturbed measurement is too long, never too short.
SizeRows smooth(SizeRows const& rows);

// The campaign of a series that is fitted: the widest range of sizes, of equals (to a tenth of an octave) the
// most rows, then the last by name (the newer version).
std::string const& fitted_source(std::map<std::string, SizeRows> const& sources);

double rounded(double v, double scale);  // to 1 / scale

}  // namespace rollcast
