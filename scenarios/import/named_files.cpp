#include "scenarios/import/named_files.hpp"

#include <fmt/format.h>

#include <filesystem>

namespace rollcast {
namespace {

constexpr int kDeepest = 8;
constexpr std::string_view kContent = "name a configuration of the framework";

void mark_all(Value& v, int source) {
  v.mark.source = source;
  for (Value& item : v.items) mark_all(item, source);
  for (Entry& e : v.entries) {
    e.mark.source = source;
    mark_all(e.value, source);
  }
}

bool is_file(std::filesystem::path const& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error);
}

void add_path(Configuration& c, std::filesystem::path const& path, Parents parents, int depth,
              Settings& into) {
  Document other = read_document(path.lexically_normal().string(), kContent);
  auto const index = static_cast<int>(c.document.sources.size());
  c.document.sources.push_back(std::move(other.sources.front()));
  c.problems.insert(c.problems.end(), other.problems.begin(), other.problems.end());
  mark_all(other.root, index);
  add_document(c, other.root, path.parent_path().string(), parents, depth, into);
}

std::vector<std::string> parents_of(Value const& root) {
  std::vector<std::string> names;
  if (Entry const* e = find(root, "defaults")) {
    if (e->value.kind == ValueKind::scalar) names.push_back(e->value.text);
    for (Value const& item : e->value.items) {
      if (item.kind == ValueKind::scalar && item.text != "_self_") names.push_back(item.text);
    }
  }
  return names;
}

}  // namespace

void add_document(Configuration& c, Value const& root, std::string const& folder, Parents parents, int depth,
                  Settings& into) {
  if (parents == Parents::followed) {
    for (std::string const& name : parents_of(root)) {
      std::filesystem::path const path = std::filesystem::path(folder) / name;
      if (depth < kDeepest && is_file(path)) {
        add_path(c, path, parents, depth + 1, into);
      } else {
        c.assume(fmt::format("what {} sets", shown(name)),
                 fmt::format("it is not beside the configuration, the defaults of {} are taken",
                             name_of(c.framework)));
      }
    }
  }
  Settings own;
  add_tree(root, "", own);
  if (parents == Parents::followed) own.erase("defaults");
  into.add_all(own);
}

bool add_file(Configuration& c, std::string const& name, Parents parents, Settings& into) {
  std::filesystem::path const beside = std::filesystem::path(c.folder) / name;
  std::filesystem::path const by_name =
      std::filesystem::path(c.folder) / std::filesystem::path(name).filename();
  for (std::filesystem::path const& path : {beside, by_name}) {
    if (!is_file(path)) continue;
    add_path(c, path, parents, 0, into);
    return true;
  }
  c.assume(fmt::format("what {} sets", shown(name)),
           fmt::format("there is no such file, the defaults of {} are taken", name_of(c.framework)));
  return false;
}

}  // namespace rollcast
