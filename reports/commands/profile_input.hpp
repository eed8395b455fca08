// A profile that the user names.
#pragma once

#include <optional>
#include <string>

#include "calibrate/profile_text.hpp"

namespace rollcast {

// Prints what is wrong with it; nullopt when it cannot be used.
std::optional<ProfileText> read_profile(std::string const& path);

}  // namespace rollcast
