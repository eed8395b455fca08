#include "calibrate/profiles.hpp"

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "calibrate/datasheet.hpp"
#include "calibrate/embedded_profiles.hpp"
#include "models/pools.hpp"

namespace rollcast {
namespace {

std::string measured_like(Gpu const& gpu) { return gpu.fp8.value > 0 ? "h100-sxm" : "a100-sxm-80gb"; }

}  // namespace

std::optional<ProfileText> built_in_text_for(Gpu const& gpu, std::string_view engine) {
  auto text = embedded_profile_of(gpu.name, engine);
  return text ? std::move(text) : embedded_profile_of(measured_like(gpu), engine);
}

std::vector<ProfileText> built_in_texts_for(Gpu const& gpu) {
  std::vector<ProfileText> texts = embedded_profiles_of(gpu.name);
  return texts.empty() ? embedded_profiles_of(measured_like(gpu)) : texts;
}

bool is_measured(Gpu const& gpu) {
  auto const text = embedded_profile_of(gpu.name);
  return text && price_note(*text, gpu).basis == PriceBasis::measured;
}

ProfileTexts completed(ProfileText own, Gpu const& gpu, std::string_view engine) {
  ProfileTexts texts;
  texts.push_back(std::move(own));
  // What is carried to a measured card is there to be compared with it.
  if (texts.front().gpu != gpu.name && is_measured(gpu)) return texts;
  if (auto built_in = built_in_text_for(gpu, engine)) texts.push_back(std::move(*built_in));
  return texts;
}

Parsed<Profile> profile_with(ProfileText own, Gpu const& gpu, std::string_view engine) {
  if (own.gpu != gpu.name && is_measured(gpu))
    return {std::nullopt,
            "it is of " + own.gpu + ", the scenario's GPU is " + gpu.name + ", which has a measured profile"};
  ProfileTexts const texts = completed(std::move(own), gpu, engine);
  Parsed<Profile> p = profile_for(texts, gpu);
  if (p.value && texts.size() > 1) p.value->note = price_note(texts.front(), texts.back(), gpu);
  return p;
}

Profile profile_for(Gpu const& gpu, std::string_view engine) {
  auto const text = built_in_text_for(gpu, engine);
  if (!text) {
    Profile p = datasheet_profile(gpu);
    p.note.gpu = gpu.name;
    return p;
  }
  Parsed<Profile> p = profile_for(*text, gpu);
  if (!p.value) throw std::logic_error("built-in profile of " + text->gpu + ": " + p.error);
  return std::move(*p.value);
}

std::vector<Profile> profiles_for(Job const& job) {
  std::vector<Profile> profiles;
  for (Pool const& pool : pools_of(job))
    profiles.push_back(profile_for(pool.cluster.node.gpu, name_of(job.rollout.kind)));
  return profiles;
}

PriceNote price_note(Gpu const& gpu) {
  if (auto const text = built_in_text_for(gpu)) return price_note(*text, gpu);
  PriceNote note;
  note.gpu = gpu.name;
  return note;
}

}  // namespace rollcast
