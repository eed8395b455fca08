// The profile of any GPU: the built-in measured one, else one derived from it.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "calibrate/measured_profile.hpp"
#include "calibrate/profile_text.hpp"
#include "models/hardware.hpp"
#include "models/job.hpp"
#include "models/profile.hpp"

namespace rollcast {

// A GPU with a built-in profile gets it. Another one (or one whose rates are not those of the catalog) gets
// the profile of the nearest measured GPU, carried over (measured_profile.hpp): A100-SXM-80GB for cards
// without fp8, H100-SXM for the others, which has tables of fp8.
// Of several measured software stacks that of the engine, where there is one ("sglang"), else the first.
Profile profile_for(Gpu const& gpu, std::string_view engine = "");

// The profiles of the job's pools, in their order; engine: that of the pool that generates.
std::vector<Profile> profiles_for(Job const& job);

// It has a built-in profile of its own, and the rates of the catalog.
bool is_measured(Gpu const& gpu);

// A text of the user's, then the built-in one of `gpu`, measured or carried over, for the tables and numbers
// that it lacks (a fit of nccl-tests output alone lacks all kernels). Alone where it is of another card and
// `gpu` is measured: such a text is there to be compared, not to be priced by.
ProfileTexts completed(ProfileText own, Gpu const& gpu, std::string_view engine = "");

// The profile of that. An error as profile_for(ProfileText, Gpu) has it, and for a text of another card than
// `gpu`, where that is measured.
Parsed<Profile> profile_with(ProfileText own, Gpu const& gpu, std::string_view engine = "");

// The text that profile_for makes it of; nullopt: none is built in, and a profile is that of the data sheet.
std::optional<ProfileText> built_in_text_for(Gpu const& gpu, std::string_view engine = "");
// One for each software stack.
std::vector<ProfileText> built_in_texts_for(Gpu const& gpu);

// Its `note`, without making the profile.
PriceNote price_note(Gpu const& gpu);

}  // namespace rollcast
