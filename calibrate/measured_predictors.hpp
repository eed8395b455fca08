// What the tables of profiles say of measured points.
#pragma once

#include <vector>

#include "calibrate/measured_profile.hpp"
#include "calibrate/predictor.hpp"

namespace rollcast {

// One for each table; no price for other types, windows, distributions. A knot: a cell of the table,
// of a sample of the software that the table was fitted to (others measured the shape, but not that row;
// where no note of the texts tells the software, of any); of the collectives a size of a series that was
// fitted to the sample's own source. Tables of another card than `gpu` are carried over; nothing of `gpu` is
// a knot of theirs.
std::vector<Predictor> measured_predictors(KernelTables const& tables, ProfileTexts const& texts,
                                           Gpu const& gpu);

}  // namespace rollcast
