// The tables that a profile's text carries, and what they say of measured points.
//
// Names: "gemm <kind>", "attention_decode <dtype>[ window N]", "attention_prefill <dtype>[ window N]",
// "moe <kind> <distribution>", "passes", "collectives", "engines". Each text is what to_text of that table
// writes.
#pragma once

#include <string>
#include <vector>

#include "calibrate/predictor.hpp"
#include "calibrate/profile_text.hpp"
#include "models/kernels.hpp"

namespace rollcast {

// An unknown name or a text that cannot be read is an error that names the table.
Parsed<KernelTables> measured_tables_from(ProfileText const& p);

// One for each table of `p`; no price for other types, windows, distributions. A knot: a cell of the table,
// of a sample of the software that the table was fitted to (others measured the shape, but not that row); of
// the collectives a size of a series that was fitted to the sample's own source.
std::vector<Predictor> measured_predictors(KernelTables const& tables, ProfileText const& p, Gpu const& gpu);

// datasheet_profile of the GPU with the numbers and engines of the text. An unknown number, a gpu that is not
// in the catalog is an error.
Parsed<Profile> profile_of(ProfileText const& p);

}  // namespace rollcast
