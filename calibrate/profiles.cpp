#include "calibrate/profiles.hpp"

#include <algorithm>
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

std::optional<ProfileText> built_in_text_for(Gpu const& gpu, std::string_view engine) {
  auto text = embedded_profile_of(gpu.name, engine);
  return text ? std::move(text) : embedded_profile_of(measured_like(gpu), engine);
}

std::vector<ProfileText> built_in_texts_for(Gpu const& gpu) {
  std::vector<ProfileText> texts = embedded_profiles_of(gpu.name);
  return texts.empty() ? embedded_profiles_of(measured_like(gpu)) : texts;
}

Parsed<Profile> profile_with(ProfileText own, Gpu const& gpu) {
  auto const built_in = embedded_profile_of(own.gpu);
  if (!built_in) return profile_for(own, gpu);
  auto const lacks = [](auto const& list, auto const& name, auto name_of_one) {
    return std::none_of(list.begin(), list.end(), [&](auto const& one) { return name_of_one(one) == name; });
  };
  auto const table_name = [](ProfileTable const& t) { return t.name; };
  auto const number_name = [](std::pair<std::string, Cited> const& n) { return n.first; };
  auto const own_tables = own.tables;
  auto const own_numbers = own.numbers;
  for (ProfileTable const& t : built_in->tables) {
    if (lacks(own_tables, t.name, table_name)) own.tables.push_back(t);
  }
  for (auto const& n : built_in->numbers) {
    if (lacks(own_numbers, n.first, number_name)) own.numbers.push_back(n);
  }
  return profile_for(own, gpu);
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

PriceNote price_note(Gpu const& gpu) {
  if (auto const text = built_in_text_for(gpu)) return price_note(*text, gpu);
  PriceNote note;
  note.gpu = gpu.name;
  return note;
}

}  // namespace rollcast
