#include "scenarios/text/hf_config.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "scenarios/text/document.hpp"
#include "scenarios/text/fields.hpp"
#include "scenarios/text/hf_families.hpp"
#include "scenarios/text/hf_keys.hpp"

namespace rollcast {
namespace {

constexpr std::string_view kContent = "name the config.json of a model in the Hugging Face format";

HfFamily const* family_of(Document const& d, Value const& map, std::vector<Problem>& problems) {
  Entry const* e = find(map, "model_type");
  std::string const type = e == nullptr ? std::string() : e->value.text;
  if (HfFamily const* family = find_hf_family(type)) return family;
  std::string what = e == nullptr ? "is missing: the architecture is not known"
                                  : fmt::format("the architecture '{}' is not understood", shown(type));
  problems.push_back(
      problem_at(d, e == nullptr ? map.mark : e->mark, "model_type", std::move(what),
                 fmt::format("understood are {}; or write the model inline", one_of(hf_model_types()))));
  return nullptr;
}

std::string name_of_model(Value const& root, std::string const& file) {
  std::string name;
  if (Entry const* e = find(root, "_name_or_path"))
    name = std::filesystem::path(e->value.text).filename().string();
  if (name.empty()) name = std::filesystem::path(file).parent_path().filename().string();
  return name.empty() ? std::filesystem::path(file).stem().string() : name;
}

HfConfigResult read(Document const& d, std::string const& file) {
  HfConfigResult result;
  result.problems = d.problems;
  if (!result.problems.empty()) return result;
  Entry const* text = find(d.root, "text_config");
  bool const nested =
      text != nullptr && text->value.kind == ValueKind::map && find(text->value, "hidden_size") != nullptr;
  Value const& map = nested ? text->value : d.root;
  HfFamily const* family =
      family_of(d, nested && find(map, "model_type") == nullptr ? d.root : map, result.problems);
  if (family == nullptr) return result;

  Architecture a;
  a.name = name_of_model(d.root, file);
  a.family = family->family;
  a.sources = {{"*", file}};
  HfKeys keys(d, d.root, map, result.problems);
  family->read(keys, a);
  if (!a.mla && a.heads > 0 && a.hidden % a.heads != 0 && find(map, "head_dim") == nullptr)
    result.problems.push_back(
        problem_at(d, map.mark, "head_dim",
                   fmt::format("is missing, and {} heads do not divide hidden_size {}", a.heads, a.hidden),
                   "write head_dim"));
  if (!result.problems.empty()) return result;
  keys.refuse_other_shapes(family->model_type);
  if (std::string why = fault(a); !why.empty())
    result.problems.push_back(problem_at(d, map.mark, "", std::move(why), "correct the shapes"));
  if (result.problems.empty()) result.architecture = std::move(a);
  return result;
}

}  // namespace

HfConfigResult read_hf_config(std::string const& path) { return read(read_document(path, kContent), path); }

HfConfigResult read_hf_config_text(std::string_view text, std::string const& name) {
  return read(parse_document(text, name, kContent), name);
}

}  // namespace rollcast
