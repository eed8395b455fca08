#include "calibrate/embedded_profiles.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace rollcast {

std::vector<ProfileText> embedded_profiles_of(std::string const& gpu) {
  std::vector<ProfileText> texts;
  for (EmbeddedProfile const& p : embedded_profiles()) {
    if (gpu_of_profile(p.text) != gpu) continue;
    ProfileTextResult result = profile_from_text(p.text, std::string(p.name));
    if (!result.profile)
      throw std::logic_error("a built-in profile cannot be read: " + format(result.problems));
    texts.push_back(std::move(*result.profile));
  }
  return texts;
}

std::optional<ProfileText> embedded_profile_of(std::string const& gpu, std::string_view engine) {
  std::vector<ProfileText> texts = embedded_profiles_of(gpu);
  if (texts.empty()) return std::nullopt;
  auto it = texts.begin();
  if (!engine.empty()) {
    it = std::find_if(texts.begin(), texts.end(), [&](ProfileText const& t) {
      return std::any_of(t.operations.begin(), t.operations.end(), [&](OperationNote const& o) {
        return o.operation.starts_with("attention_decode") && o.software.starts_with(engine);
      });
    });
    if (it == texts.end()) it = texts.begin();
  }
  return std::move(*it);
}

}  // namespace rollcast
