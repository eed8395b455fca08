// Keys of a JSON file and how they stand in scenarios/SCHEMA.md.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace rollcast {

struct JsonKey {
  std::string_view path;  // "[]" for the items of a list, "<pool>" and the like for a key that varies
  std::string_view type;
  std::string_view meaning;
};

// A Markdown table.
std::string key_table(std::span<JsonKey const> keys);

}  // namespace rollcast
