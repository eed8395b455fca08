#include "scenarios/text/catalog_file.hpp"

#include <algorithm>

#include "scenarios/text/catalog_fields.hpp"

namespace rollcast {
namespace {

constexpr std::string_view kContent = "write gpus, nodes, fabrics or models";

template <class T>
T* find_exactly(std::vector<T>& entries, std::string_view name) {
  auto const it = std::find_if(entries.begin(), entries.end(), [&](T const& e) { return e.name == name; });
  return it == entries.end() ? nullptr : &*it;
}

// An entry of a known name starts from itself.
Value with_base(Value map, std::string const& name) {
  if (find(map, "base") != nullptr) return map;
  Entry base;
  base.key = "base";
  base.mark = map.mark;
  base.value.kind = ValueKind::scalar;
  base.value.mark = map.mark;
  base.value.text = name;
  map.entries.push_back(std::move(base));
  return map;
}

void note_sources(std::vector<SourceNote>& notes, Document const& document, Value const& map, Mark whole) {
  if (notes.empty()) notes.push_back({"*", place_of(document, whole)});
  for (Entry const& e : map.entries) {
    if (e.key == "base") continue;
    std::erase_if(notes, [&](SourceNote const& n) { return n.field == e.key; });
    notes.push_back({e.key, place_of(document, e.mark)});
  }
}

void check_entry(Fields&, Entry const&, Gpu const&) {}
void check_entry(Fields&, Entry const&, Node const&) {}
void check_entry(Fields&, Entry const&, Fabric const&) {}
void check_entry(Fields& section, Entry const& e, Architecture const& a) {
  std::string const why = fault(a);
  if (!why.empty()) section.problem(e.mark, e.key, why, "correct the shapes");
}

template <class T>
void read_section(Fields& file, std::string_view key, std::string_view meaning, Catalog& c,
                  std::vector<T>& entries) {
  file.custom(key, "map of entries by name", "", meaning, [&](Value const& map) {
    if (map.kind != ValueKind::map) {
      file.problem(map.mark, key, "not a map of entries by name", "write NAME: {key: value, ...}");
      return;
    }
    Fields section(file.reading(), &map, file.path_of(key), map.mark, "");
    for (Entry const& e : map.entries) {
      if (e.value.kind != ValueKind::map) {
        section.problem(e.mark, e.key, "an entry without keys",
                        "write " + shown(e.key) + ": {key: value, ...}");
        continue;
      }
      T* const known = find_exactly(entries, e.key);
      Value const given = known == nullptr ? e.value : with_base(e.value, e.key);
      std::size_t const problems = file.reading().problems.size();
      T v;
      Fields fields(file.reading(), &given, section.path_of(e.key), e.mark, "default");
      describe(fields, v, c);
      fields.finish();
      if (file.reading().problems.size() != problems) continue;
      check_entry(section, e, v);
      v.name = e.key;
      note_sources(v.sources, file.reading().document, e.value, e.mark);
      if (known != nullptr) {
        *known = std::move(v);
      } else {
        entries.push_back(std::move(v));
      }
    }
  });
}

void renew_gpus(std::vector<Node>& nodes, std::vector<Gpu>& gpus) {
  for (Node& n : nodes) {
    if (Gpu const* g = find_exactly(gpus, n.gpu.name)) n.gpu = *g;
  }
}

std::vector<Problem> apply(Document document, Catalog& c) {
  std::vector<Problem> problems = std::move(document.problems);
  if (!problems.empty()) return problems;
  Catalog changed = c;
  Reading reading{document, problems, {}, {}};
  Fields file(reading, &document.root, "", document.root.mark, "");
  read_section(file, "gpus", "GPUs by name", changed, changed.gpus);
  renew_gpus(changed.nodes, changed.gpus);
  read_section(file, "nodes", "nodes by name", changed, changed.nodes);
  read_section(file, "fabrics", "fabrics by name", changed, changed.fabrics);
  read_section(file, "models", "models by name", changed, changed.architectures);
  file.finish();
  if (problems.empty()) c = std::move(changed);
  return problems;
}

}  // namespace

std::vector<Problem> apply_catalog_file(std::string const& path, Catalog& c) {
  return apply(read_document(path, kContent), c);
}

std::vector<Problem> apply_catalog_text(std::string_view text, std::string const& name, Catalog& c) {
  return apply(parse_document(text, name, kContent), c);
}

}  // namespace rollcast
