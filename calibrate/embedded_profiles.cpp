#include "calibrate/embedded_profiles.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace rollcast {

namespace {

ProfileText text_of(EmbeddedProfile const& p) {
  ProfileTextResult result = profile_from_text(p.text, std::string(p.name));
  if (!result.profile)
    throw std::logic_error("a built-in profile cannot be read: " + format(result.problems));
  return std::move(*result.profile);
}

}  // namespace

std::optional<ProfileText> embedded_profile_called(std::string_view name) {
  for (EmbeddedProfile const& p : embedded_profiles()) {
    if (p.name == name) return text_of(p);
  }
  return std::nullopt;
}

std::string_view embedded_name(ProfileText const& text) {
  ProfileText named;
  named.name = text.name;
  std::string const head = to_text(named);
  for (EmbeddedProfile const& p : embedded_profiles()) {
    if (p.text.starts_with(std::string_view(head).substr(0, head.find('\n') + 1))) return p.name;
  }
  return {};
}

std::vector<ProfileText> embedded_profiles_of(std::string const& gpu) {
  std::vector<ProfileText> texts;
  for (EmbeddedProfile const& p : embedded_profiles()) {
    if (gpu_of_profile(p.text) == gpu) texts.push_back(text_of(p));
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
