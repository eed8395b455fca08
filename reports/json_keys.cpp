#include "reports/json_keys.hpp"

#include <fmt/format.h>

namespace rollcast {

std::string key_table(std::span<JsonKey const> keys) {
  std::string out = "| key | type | meaning |\n|---|---|---|\n";
  for (JsonKey const& k : keys) out += fmt::format("| `{}` | {} | {} |\n", k.path, k.type, k.meaning);
  return out;
}

}  // namespace rollcast
