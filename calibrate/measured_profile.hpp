// The tables that a profile's text carries.
//
// Names: "gemm <kind>", "attention_decode <dtype>[ window N]", "attention_prefill <dtype>[ window N]",
// "moe <kind> <distribution>", "passes", "collectives", "engines". Each text is what to_text of that table
// writes.
#pragma once

#include <string>
#include <vector>

#include "calibrate/profile_text.hpp"
#include "models/kernels.hpp"

namespace rollcast {

// Profiles that complete one another: of tables and numbers of the same name the first text's count.
using ProfileTexts = std::vector<ProfileText>;

// Each table with the card it was measured on. An unknown name or a text that cannot be read is an error that
// names the table.
Parsed<KernelTables> measured_tables_from(ProfileTexts const& texts);

// What prices of `gpu` from this text stand on. measured: the card of the text with its rates of the catalog;
// else derived. The error of a measured profile is that of the kernels' held-out rows, each operation with
// the weight of its rows; a derived one has at least that of H100 predicted from A100.
PriceNote price_note(ProfileText const& p, Gpu const& gpu);
// The same where a text of the user's is completed by one that is built in. The error is that of whose tables
// the kernels have: the larger one where some are of the one and some of the other.
PriceNote price_note(ProfileText const& own, ProfileText const& built_in, Gpu const& gpu);

// The text and its tables for `gpu`: as measured where that is the card of the text with its rates of the
// catalog, else derived: the kernels carried over (models/kernels.hpp), the numbers as they are (shares of
// the peaks, and times of the host), the engines, the others of datasheet_profile(gpu). An unknown number, a
// gpu of the text that is not in the catalog, a table that cannot be read is an error.
Parsed<Profile> profile_for(ProfileText const& p, Gpu const& gpu);
// The same of several texts; the note is not that of two (price_note).
Parsed<Profile> profile_for(ProfileTexts const& texts, Gpu const& gpu);

}  // namespace rollcast
