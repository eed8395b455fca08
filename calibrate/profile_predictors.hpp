// Everything that profiles say of the samples of a GPU, in the order in which it is asked (predicted).
#pragma once

#include <vector>

#include "calibrate/predictor.hpp"
#include "calibrate/profile_text.hpp"
#include "models/hardware.hpp"

namespace rollcast {

// Measured tables first, then served points, then the data sheet for what they do not hold, and the layers
// composed of them; of the text as `completed` completes it (profiles.hpp), so that it is checked as it
// prices a run. An error as profile_for(ProfileText, Gpu) has it.
Parsed<std::vector<Predictor>> profile_predictors(ProfileText const& text, Gpu const& gpu);

// Of the built-in profiles of this GPU, or those it is derived from. Rows of software that one of them was
// fitted to are priced by that one, others by the first.
std::vector<Predictor> built_in_predictors(Gpu const& gpu);

}  // namespace rollcast
