#include "reports/commands/variants.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "reports/value_list.hpp"

namespace rollcast {

VariantSets variant_sets(std::string const& text) {
  auto parts = split_values(text);
  if (!parts.value) return {{}, fmt::format("'{}': {}", text, parts.error)};
  VariantSets out{std::move(*parts.value), ""};
  for (std::string const& part : out.sets) {
    auto const equals = part.find('=');
    if (equals == std::string::npos || equals == 0)
      out.error = fmt::format("'{}' of '{}' is not KEY=VALUE", part, text);
  }
  return out;
}

std::string name_of_file(std::string const& path) { return std::filesystem::path(path).stem().string(); }

}  // namespace rollcast
