#include "reports/sweep_grid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "reports/value_list.hpp"
#include "scenarios/problem.hpp"

namespace rollcast {
namespace {

template <class T>
std::optional<T> number_in(std::string_view text) {
  T value{};
  auto const [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && stop == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

std::string trimmed(std::string_view text) {
  auto const first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(" \t") - first + 1));
}

// "1..100" too.
Parsed<std::vector<std::string>> seeds_in(std::vector<std::string> const& texts) {
  std::vector<std::string> seeds;
  for (std::string const& text : texts) {
    auto const dots = text.find("..");
    auto const first = number_in<std::uint64_t>(std::string_view(text).substr(0, dots));
    auto const last =
        dots == std::string::npos ? first : number_in<std::uint64_t>(std::string_view(text).substr(dots + 2));
    if (!first || !last || *last < *first)
      return {std::nullopt,
              fmt::format("'{}' is no seed; write whole numbers as 1,2,3 or a range as 1..100", shown(text))};
    if (*last - *first >= kMostPoints)
      return {std::nullopt, fmt::format("'{}' are more than {} seeds", text, kMostPoints)};
    for (std::uint64_t i = 0; i <= *last - *first; ++i) seeds.push_back(std::to_string(*first + i));
  }
  return {seeds, ""};
}

bool comes_before(std::string const& a, std::string const& b) {
  auto const number = [](std::string const& text) {
    auto const v = number_in<double>(text);
    return v && std::isfinite(*v) ? v : std::nullopt;
  };
  auto const left = number(a);
  auto const right = number(b);
  if (left.has_value() != right.has_value()) return left.has_value();
  if (left && *left < *right) return true;
  if (left && *right < *left) return false;
  return a < b;
}

}  // namespace

Parsed<VariedKey> varied_key(std::string const& text) {
  auto const refused = [&](std::string const& what) {
    return Parsed<VariedKey>{std::nullopt, fmt::format("--vary {}: {}", shown(text), what)};
  };
  auto const equals = text.find('=');
  VariedKey k{trimmed(std::string_view(text).substr(0, equals)), {}};
  if (equals == std::string::npos || k.key.empty())
    return refused("write a key and its values, train.parallel.tp=1,2,4");
  auto split = split_values(std::string_view(text).substr(equals + 1));
  if (split.value) {
    for (std::string& v : *split.value) v = trimmed(v);
  }
  if (split.value && k.key == "seed") split = seeds_in(*split.value);
  if (!split.value) return refused(split.error);
  k.values = std::move(*split.value);
  std::sort(k.values.begin(), k.values.end(), comes_before);
  if (std::find(k.values.begin(), k.values.end(), "") != k.values.end()) return refused("a value is empty");
  if (auto const twice = std::adjacent_find(k.values.begin(), k.values.end()); twice != k.values.end())
    return refused(fmt::format("{} is there twice; leave one out", shown(*twice)));
  return {std::move(k), ""};
}

Parsed<std::vector<VariedKey>> grid_of(std::vector<std::string> const& texts) {
  std::vector<VariedKey> grid;
  std::size_t points = 1;
  for (std::string const& text : texts) {
    Parsed<VariedKey> key = varied_key(text);
    if (!key.value) return {std::nullopt, key.error};
    for (VariedKey const& other : grid) {
      if (other.key == key.value->key)
        return {std::nullopt,
                fmt::format("--vary {} is given twice; write all its values in one", shown(other.key))};
    }
    if (key.value->values.size() > kMostPoints / points)
      return {std::nullopt, fmt::format("these are more than {} points; vary fewer values", kMostPoints)};
    points *= key.value->values.size();
    grid.push_back(std::move(*key.value));
  }
  return {std::move(grid), ""};
}

std::size_t points_of(std::vector<VariedKey> const& grid) {
  std::size_t points = 1;
  for (VariedKey const& k : grid) points *= k.values.size();
  return points;
}

std::vector<std::string> values_at(std::vector<VariedKey> const& grid, std::size_t point) {
  std::vector<std::string> values(grid.size());
  for (std::size_t i = grid.size(); i-- > 0;) {
    values[i] = grid[i].values[point % grid[i].values.size()];
    point /= grid[i].values.size();
  }
  return values;
}

}  // namespace rollcast
