#include "reports/commands/variants.hpp"

#include <fmt/format.h>

#include <filesystem>

namespace rollcast {

VariantSets variant_sets(std::string const& text) {
  VariantSets out;
  std::string part;
  char quote = 0;
  int depth = 0;
  auto const end_part = [&] {
    auto const equals = part.find('=');
    if (equals == std::string::npos || equals == 0)
      out.error = fmt::format("'{}' of '{}' is not KEY=VALUE", part, text);
    out.sets.push_back(part);
    part.clear();
  };
  for (char const c : text) {
    if (c == ',' && depth == 0 && quote == 0) {
      end_part();
      continue;
    }
    part += c;
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      --depth;
    }
  }
  end_part();
  return out;
}

std::string name_of_file(std::string const& path) { return std::filesystem::path(path).stem().string(); }

}  // namespace rollcast
