// The profiles of calibrate/profiles/, built into the program as text. Nothing is read before it is asked
// for.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/profile_text.hpp"

namespace rollcast {

struct EmbeddedProfile {
  std::string_view name;  // of the file, without its ending
  std::string_view text;
};

// In the order of their names.
std::vector<EmbeddedProfile> const& embedded_profiles();

// The first of this GPU (catalog name). nullopt: none is built in. Throws std::logic_error when its text
// cannot be read.
std::optional<ProfileText> embedded_profile_of(std::string const& gpu);

}  // namespace rollcast
