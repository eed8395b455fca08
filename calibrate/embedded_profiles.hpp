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

// The one of this name; nullopt: there is none.
std::optional<ProfileText> embedded_profile_called(std::string_view name);

// Its name in embedded_profiles; "" of a text that is none of them.
std::string_view embedded_name(ProfileText const& text);

// Those of this GPU (catalog name), one for each software stack that was measured. Throws std::logic_error
// when a text cannot be read.
std::vector<ProfileText> embedded_profiles_of(std::string const& gpu);

// The one whose decode attention is that of the engine ("sglang"), else the first. nullopt: none is built in.
std::optional<ProfileText> embedded_profile_of(std::string const& gpu, std::string_view engine = "");

}  // namespace rollcast
