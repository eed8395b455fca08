#include "calibrate/profile_predictors.hpp"

#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "calibrate/datasheet.hpp"
#include "calibrate/layers.hpp"
#include "calibrate/measured_predictors.hpp"
#include "calibrate/measured_profile.hpp"
#include "calibrate/profiles.hpp"
#include "calibrate/served.hpp"

namespace rollcast {
namespace {

Parsed<std::vector<Predictor>> tables_of(ProfileTexts const& texts, Gpu const& gpu) {
  Parsed<KernelTables> const tables = measured_tables_from(texts);
  if (!tables.value) return {std::nullopt, tables.error};
  return {measured_predictors(*tables.value, texts, gpu), {}};
}

// Prices of the software that each operation of `text` was fitted to, none of others.
void keep_own_software(std::vector<Predictor>& list, ProfileText const& text) {
  std::set<std::string> measured;  // "operation software"
  for (OperationNote const& o : text.operations)
    measured.insert(o.operation.substr(0, o.operation.find(' ')) + " " + o.software);
  for (Predictor& p : list) {
    p.price = [price = std::move(p.price), measured](Sample const& s) -> std::optional<Seconds> {
      return measured.contains(s.operation + " " + s.version) ? price(s) : std::nullopt;
    };
  }
}

}  // namespace

Parsed<std::vector<Predictor>> profile_predictors(ProfileText const& text, Gpu const& gpu) {
  ProfileTexts const texts = completed(text, gpu);
  Parsed<Profile> const profile = profile_for(texts, gpu);
  if (!profile.value) return {std::nullopt, profile.error};
  Parsed<std::vector<Predictor>> list = tables_of(texts, gpu);
  if (!list.value) return list;
  for (Predictor& p : served_predictors(*profile.value)) list.value->push_back(std::move(p));
  for (Predictor& p : datasheet_predictors(*profile.value)) list.value->push_back(std::move(p));
  add_layer_predictors(*list.value);
  return list;
}

std::vector<Predictor> built_in_predictors(Gpu const& gpu) {
  std::vector<Predictor> all;
  std::vector<ProfileText> const texts = built_in_texts_for(gpu);
  for (std::size_t i = 1; i < texts.size(); ++i) {
    Parsed<std::vector<Predictor>> own = tables_of({texts[i]}, gpu);
    if (!own.value) throw std::logic_error("built-in profile " + texts[i].name + ": " + own.error);
    keep_own_software(*own.value, texts[i]);
    for (Predictor& p : *own.value) all.push_back(std::move(p));
  }
  if (texts.empty()) {
    for (Predictor& p : datasheet_predictors(datasheet_profile(gpu))) all.push_back(std::move(p));
    add_layer_predictors(all);
    return all;
  }
  Parsed<std::vector<Predictor>> first = profile_predictors(texts.front(), gpu);
  if (!first.value) throw std::logic_error("built-in profile " + texts.front().name + ": " + first.error);
  for (Predictor& p : *first.value) all.push_back(std::move(p));
  return all;
}

}  // namespace rollcast
