#include "scenarios/text/document.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "scenarios/text/yaml_events.hpp"

namespace rollcast {
namespace {

constexpr std::size_t kLargestFile = 1 << 20;

Document refused(std::string const& name, std::string what, std::string remedy) {
  Document d;
  d.sources.push_back({SourceKind::file, name, {}});
  d.root.kind = ValueKind::map;
  d.problems.push_back({name, 0, 0, "", std::move(what), std::move(remedy), ""});
  return d;
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    std::size_t const end = text.find('\n');
    lines.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return lines;
}

std::string with_unix_line_ends(std::string_view text) {
  if (text.substr(0, 3) == "\xEF\xBB\xBF") text.remove_prefix(3);
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\r') {
      out += text[i];
    } else if (i + 1 == text.size() || text[i + 1] != '\n') {
      out += '\n';
    }
  }
  return out;
}

// Length of the UTF-8 character at i, 0 if it is not one.
std::size_t character_length(std::string_view s, std::size_t i) {
  auto const byte = [&](std::size_t k) -> std::uint32_t {
    return i + k < s.size() ? static_cast<unsigned char>(s[i + k]) : 0U;
  };
  std::uint32_t const b = byte(0);
  std::size_t const n = b < 0x80                ? 1
                        : b >= 0xC2 && b < 0xE0 ? 2
                        : b >= 0xE0 && b < 0xF0 ? 3
                        : b >= 0xF0 && b < 0xF5 ? 4
                                                : 0;
  for (std::size_t k = 1; k < n; ++k) {
    if ((byte(k) & 0xC0U) != 0x80U) return 0;
  }
  bool const overlong = (b == 0xE0 && byte(1) < 0xA0) || (b == 0xF0 && byte(1) < 0x90);
  bool const no_character = (b == 0xED && byte(1) >= 0xA0) || (b == 0xF4 && byte(1) >= 0x90);
  return overlong || no_character ? 0 : n;
}

// What is wrong with the text as text: the first byte that cannot be in a scenario file.
void check_characters(Document& d, std::string_view text) {
  int line = 1;
  std::size_t line_start = 0;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t const n = character_length(text, i);
    auto const c = static_cast<unsigned char>(text[i]);
    bool const control = (c < 0x20 && c != '\n' && c != '\t') || c == 0x7F;
    if (n == 0 || control) {
      Mark const mark{0, line, static_cast<int>(i - line_start) + 1};
      std::string const what = c == 0   ? "a zero byte: this is a binary file"
                               : n == 0 ? "not UTF-8 text"
                                        : "a control character";
      d.problems.push_back(problem_at(d, mark, "", what, "write it as a text file in UTF-8"));
      d.problems.back().source_line.clear();
      return;
    }
    if (c == '\n') {
      ++line;
      line_start = i + 1;
    }
    i += n;
  }
}

std::string joined(std::string_view path, std::string_view key) {
  return path.empty() ? std::string(key) : std::string(path) + "." + std::string(key);
}

Entry* find_entry(Value& map, std::string_view key) {
  auto const it =
      std::find_if(map.entries.begin(), map.entries.end(), [&](Entry const& e) { return e.key == key; });
  return it == map.entries.end() ? nullptr : &*it;
}

Entry& find_or_add(Value& map, std::string_view key, Mark mark) {
  if (Entry* e = find_entry(map, key)) return *e;
  map.entries.push_back({std::string(key), mark, Value{ValueKind::null, mark, "", false, {}, {}}});
  return map.entries.back();
}

void put(Value& v, int source) {
  v.mark = {source, 0, 0};
  for (Value& item : v.items) put(item, source);
  for (Entry& e : v.entries) {
    e.mark = {source, 0, 0};
    put(e.value, source);
  }
}

struct FileText {
  std::string text;
  std::string what;  // why it cannot be read; empty if it was
  std::string remedy;
};

FileText text_of(std::string const& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::file_status const status = fs::status(path, error);
  if (!fs::exists(status)) return {"", "there is no such file", "check the path"};
  if (fs::is_directory(status)) return {"", "this is a directory", "name a file in it"};
  if (fs::is_regular_file(status) && fs::file_size(path, error) > kLargestFile && !error) {
    return {"", "the file is larger than 1 MiB", "some dozens of lines are enough"};
  }
  std::ifstream in(path, std::ios::binary);
  if (!in) return {"", std::string("cannot be opened: ") + std::strerror(errno), "check its permissions"};
  FileText file{std::string(kLargestFile + 1, '\0'), "", ""};
  in.read(file.text.data(), static_cast<std::streamsize>(file.text.size()));
  if (in.bad()) return {"", "cannot be read", "check the disk"};
  file.text.resize(static_cast<std::size_t>(in.gcount()));
  return file;
}

}  // namespace

Document parse_lines(std::string_view text, std::string const& name) {
  if (text.size() > kLargestFile) {
    return refused(name, "the file is larger than 1 MiB", "some dozens of lines are enough");
  }
  Document d;
  std::string const clean = with_unix_line_ends(text);
  d.sources.push_back({SourceKind::file, name, lines_of(clean)});
  d.root.kind = ValueKind::map;
  check_characters(d, clean);
  return d;
}

Document parse_document(std::string_view text, std::string const& name, std::string_view content) {
  Document d = parse_lines(text, name);
  if (!d.problems.empty()) return d;
  Value root = parse_yaml(with_unix_line_ends(text), 0, d);
  if (!d.problems.empty() && root.kind == ValueKind::null) return d;
  if (root.kind == ValueKind::null) {
    d.problems.push_back({name, 0, 0, "", "the file is empty", std::string(content), ""});
  } else if (root.kind != ValueKind::map) {
    d.problems.push_back(problem_at(d, root.mark, "", "the file is not a map of keys", std::string(content)));
  } else {
    d.root = std::move(root);
  }
  return d;
}

Document read_document(std::string const& path, std::string_view content) {
  FileText file = text_of(path);
  return file.what.empty() ? parse_document(file.text, path, content) : refused(path, file.what, file.remedy);
}

Document read_lines(std::string const& path) {
  FileText file = text_of(path);
  return file.what.empty() ? parse_lines(file.text, path) : refused(path, file.what, file.remedy);
}

void set_value(Document& d, std::string const& assignment, bool (*may_be_base)(std::string_view path)) {
  int const source = static_cast<int>(d.sources.size());
  d.sources.push_back({SourceKind::set, "--set " + shown(assignment), {}});
  auto const refuse = [&](std::string key, std::string what, std::string remedy) {
    d.problems.push_back(problem_at(d, {source, 0, 0}, std::move(key), std::move(what), std::move(remedy)));
  };
  std::size_t const equals = assignment.find('=');
  std::string const path = assignment.substr(0, equals);
  auto const segments = segments_of(path);
  bool const empty_segment =
      std::any_of(segments.begin(), segments.end(), [](std::string_view s) { return s.empty(); });
  if (equals == std::string::npos || empty_segment || segments.size() > 64) {
    return refuse("", "not of the form key.path=value", "write for example --set train.parallel.tp=2");
  }
  std::string const text = assignment.substr(equals + 1);
  if (text.size() > kLargestFile)
    return refuse(path, "the value is larger than 1 MiB", "put it into the file");
  Document scratch;
  scratch.sources.push_back({SourceKind::set, d.sources.back().name, {}});
  check_characters(scratch, text);
  Value value = scratch.problems.empty() ? parse_yaml(text, 0, scratch) : Value{};
  for (Problem& p : scratch.problems) refuse(path, p.what, p.remedy);
  if (!scratch.problems.empty()) return;
  put(value, source);
  Value* at = &d.root;
  std::string walked;
  for (std::size_t i = 0; i + 1 < segments.size(); ++i) {
    walked = joined(walked, segments[i]);
    Value& next = find_or_add(*at, segments[i], {source, 0, 0}).value;
    if (next.kind == ValueKind::null) next.kind = ValueKind::map;
    if (next.kind == ValueKind::scalar && may_be_base(walked)) {
      Value map{ValueKind::map, next.mark, "", false, {}, {}};
      map.entries.push_back({"base", next.mark, std::move(next)});
      next = std::move(map);
    }
    if (next.kind != ValueKind::map)
      return refuse(path, walked + " is not a map", "set " + walked + " itself");
    at = &next;
  }
  Entry& e = find_or_add(*at, segments.back(), {source, 0, 0});
  e.mark = {source, 0, 0};
  e.value = std::move(value);
}

void add_preset_value(Document& d, std::string_view key, std::string_view text, std::string const& source) {
  int index = 0;
  while (index < static_cast<int>(d.sources.size()) &&
         d.sources[static_cast<std::size_t>(index)].name != source)
    ++index;
  if (index == static_cast<int>(d.sources.size())) d.sources.push_back({SourceKind::preset, source, {}});
  Mark const mark{index, 0, 0};
  auto const segments = segments_of(key);
  Value* at = &d.root;
  for (std::size_t i = 0; i + 1 < segments.size(); ++i) {
    at = &find_or_add(*at, segments[i], mark).value;
    if (at->kind == ValueKind::null && at->mark.line == 0) at->kind = ValueKind::map;
    if (at->kind != ValueKind::map) return;  // the reader says what is wrong with it
  }
  if (find_entry(*at, segments.back()) != nullptr) return;
  auto const scalar = [&](std::string_view s) {
    return Value{ValueKind::scalar, mark, std::string(s), false, {}, {}};
  };
  Value value = scalar(text);
  if (text.size() >= 2 && text.front() == '[') {
    value = Value{ValueKind::list, mark, "", false, {}, {}};
    std::string_view rest = text.substr(1, text.size() - 2);
    while (!rest.empty()) {
      std::size_t const end = rest.find(", ");
      value.items.push_back(scalar(rest.substr(0, end)));
      rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 2);
    }
  }
  at->entries.push_back({std::string(segments.back()), mark, std::move(value)});
}

std::vector<std::string_view> segments_of(std::string_view path) {
  std::vector<std::string_view> out;
  while (true) {
    std::size_t const dot = path.find('.');
    out.push_back(path.substr(0, dot));
    if (dot == std::string_view::npos) return out;
    path.remove_prefix(dot + 1);
  }
}

Entry const* find(Value const& v, std::string_view key) {
  auto const it =
      std::find_if(v.entries.begin(), v.entries.end(), [&](Entry const& e) { return e.key == key; });
  return it == v.entries.end() ? nullptr : &*it;
}

Problem problem_at(Document const& d, Mark mark, std::string key, std::string what, std::string remedy) {
  Source const& s = d.sources.at(static_cast<std::size_t>(mark.source));
  Problem p{s.name, 0, 0, std::move(key), std::move(what), std::move(remedy), ""};
  if (s.kind != SourceKind::file || mark.line <= 0) return p;
  p.line = mark.line;
  auto const index = static_cast<std::size_t>(mark.line - 1);
  if (index < s.lines.size()) p.source_line = s.lines[index];
  auto const bytes_before =
      std::min(p.source_line.size(), static_cast<std::size_t>(std::max(mark.column - 1, 0)));
  p.column = 1;
  for (std::size_t i = 0; i < bytes_before; ++i) {
    if ((static_cast<unsigned char>(p.source_line[i]) & 0xC0U) != 0x80U) ++p.column;
  }
  return p;
}

std::string place_of(Document const& d, Mark mark) {
  Source const& s = d.sources.at(static_cast<std::size_t>(mark.source));
  return s.kind == SourceKind::file ? s.name + ":" + std::to_string(mark.line) : s.name;
}

}  // namespace rollcast
