#include "calibrate/profiles.hpp"

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "calibrate/datasheet.hpp"
#include "calibrate/embedded_profiles.hpp"
#include "calibrate/measured_profile.hpp"

namespace rollcast {
namespace {

std::string measured_like(Gpu const& gpu) { return gpu.fp8.value > 0 ? "h100-sxm" : "a100-sxm-80gb"; }

}  // namespace

std::optional<ProfileText> built_in_text_for(Gpu const& gpu) {
  auto text = embedded_profile_of(gpu.name);
  return text ? std::move(text) : embedded_profile_of(measured_like(gpu));
}

Profile profile_for(Gpu const& gpu) {
  auto const text = built_in_text_for(gpu);
  if (!text) {
    Profile p = datasheet_profile(gpu);
    p.note.gpu = gpu.name;
    return p;
  }
  Parsed<Profile> p = profile_for(*text, gpu);
  if (!p.value) throw std::logic_error("built-in profile of " + text->gpu + ": " + p.error);
  return std::move(*p.value);
}

PriceNote price_note(Gpu const& gpu) {
  if (auto const text = built_in_text_for(gpu)) return price_note(*text, gpu);
  PriceNote note;
  note.gpu = gpu.name;
  return note;
}

}  // namespace rollcast
