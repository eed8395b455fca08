// A YAML file as a tree of values with their positions, and everything that is wrong with it as text.
//
// A subset of YAML 1.2: block and flow maps and lists, scalars. Refused with a position: syntax errors,
// duplicate keys, anchors, aliases, tags, keys that are not plain text, several documents in a file, nesting
// over 64, more than 100,000 values, control characters, text that is not UTF-8. Refused as a whole: files
// over 1 MiB (by their size, before reading), empty files, directories, unreadable files. A byte-order mark
// and Windows line ends are accepted.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "scenarios/problem.hpp"

namespace rollcast {

// Where a value stands. line 0: in no line of its source (a preset value, a --set value).
struct Mark {
  int source = 0;  // index into Document::sources
  int line = 0;    // 1-based
  int column = 0;  // 1-based, in bytes
};

enum class ValueKind { null, scalar, list, map };

struct Entry;

struct Value {
  ValueKind kind = ValueKind::null;
  Mark mark;
  std::string text;            // of a scalar
  bool quoted = false;         // scalar in quotes, or a block scalar
  std::vector<Value> items;    // of a list
  std::vector<Entry> entries;  // of a map, in order of the file; no key twice
};

struct Entry {
  std::string key;
  Mark mark;  // of the key
  Value value;
};

enum class SourceKind { file, set, preset };

struct Source {
  SourceKind kind = SourceKind::file;
  std::string name;                // file name, "--set key=value", or where a preset value comes from
  std::vector<std::string> lines;  // of a file
};

struct Document {
  std::vector<Source> sources;  // the file first
  Value root;                   // always a map; empty when the text could not be read
  std::vector<Problem> problems;
};

// content: the remedy where the file holds no map of keys, what to write into it.
constexpr std::string_view kScenarioContent = "write at least model, cluster and algorithm";

Document read_document(std::string const& path, std::string_view content = kScenarioContent);
// A file that is no YAML, a launch script say: its lines, and what is wrong with it as text; the root is
// empty.
Document read_lines(std::string const& path);
// text as if it stood in file `name`.
Document parse_document(std::string_view text, std::string const& name,
                        std::string_view content = kScenarioContent);
Document parse_lines(std::string_view text, std::string const& name);

// "key.path=value", value in YAML: replaces or adds the value in the tree. Maps on the way are created. A
// scalar on the way is taken as the name to start from, {base: scalar}, where `may_be_base(path)`; else it is
// a problem.
void set_value(Document& d, std::string const& assignment, bool (*may_be_base)(std::string_view path));

// A value from a preset: added to the tree unless the key is already there. text is a scalar, or "[a, b]" of
// scalars.
void add_preset_value(Document& d, std::string_view key, std::string_view text, std::string const& source);

// nullptr when the map has no such key, or v is not a map.
Entry const* find(Value const& v, std::string_view key);

// "train.parallel.tp" as train, parallel, tp.
std::vector<std::string_view> segments_of(std::string_view path);

Problem problem_at(Document const& d, Mark mark, std::string key, std::string what, std::string remedy);

// "file:line", "--set key=value" or the preset's source.
std::string place_of(Document const& d, Mark mark);

}  // namespace rollcast
