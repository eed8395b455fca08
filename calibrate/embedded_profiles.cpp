#include "calibrate/embedded_profiles.hpp"

#include <stdexcept>

namespace rollcast {

std::optional<ProfileText> embedded_profile_of(std::string const& gpu) {
  for (EmbeddedProfile const& p : embedded_profiles()) {
    if (gpu_of_profile(p.text) != gpu) continue;
    ProfileTextResult result = profile_from_text(p.text, std::string(p.name));
    if (!result.profile)
      throw std::logic_error("a built-in profile cannot be read: " + format(result.problems));
    return std::move(result.profile);
  }
  return std::nullopt;
}

}  // namespace rollcast
