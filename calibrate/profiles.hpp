// The profile of any GPU: the built-in measured one, else one derived from it.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "calibrate/profile_text.hpp"
#include "models/hardware.hpp"
#include "models/profile.hpp"

namespace rollcast {

// A GPU with a built-in profile gets it. Another one (or one whose rates are not those of the catalog) gets
// the profile of the nearest measured GPU, carried over (measured_profile.hpp): A100-SXM-80GB for cards
// without fp8, H100-SXM for the others, which has tables of fp8.
// Of several measured software stacks that of the engine, where there is one ("sglang"), else the first.
Profile profile_for(Gpu const& gpu, std::string_view engine = "");

// The profile that a text of the user's gives, on its own card or carried over to `gpu`. What the text does
// not hold (tables, numbers; a fit of nccl-tests output alone has no others) is that of the built-in profile
// of the text's card, if there is one. An error as profile_for(ProfileText, Gpu) has it.
Parsed<Profile> profile_with(ProfileText own, Gpu const& gpu);

// The text that profile_for makes it of; nullopt: none is built in, and a profile is that of the data sheet.
std::optional<ProfileText> built_in_text_for(Gpu const& gpu, std::string_view engine = "");
// One for each software stack.
std::vector<ProfileText> built_in_texts_for(Gpu const& gpu);

// Its `note`, without making the profile.
PriceNote price_note(Gpu const& gpu);

}  // namespace rollcast
