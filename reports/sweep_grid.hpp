// The points of a sweep: all combinations of the values of the varied keys.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "models/units.hpp"

namespace rollcast {

struct VariedKey {
  std::string key;                  // as in --set; "seed" is that of the random numbers
  std::vector<std::string> values;  // in order, none twice
};

// "train.parallel.tp=1,2,4". Commas in brackets, braces and quotes belong to a value. "seed=1..100" is a
// hundred seeds. Values are put in order: numbers by size before other texts by their bytes. An error for an
// empty value, one that is there twice, a bracket or quote that is not closed, and a seed that is no whole
// number.
Parsed<VariedKey> varied_key(std::string const& text);

inline constexpr std::size_t kMostPoints = 1'000'000;

// An error for a key that is there twice, and for more than kMostPoints points.
Parsed<std::vector<VariedKey>> grid_of(std::vector<std::string> const& texts);

// Points are counted with the last key running fastest, so that they are in the order of their values.
std::size_t points_of(std::vector<VariedKey> const& grid);
// One of each key; point < points_of(grid).
std::vector<std::string> values_at(std::vector<VariedKey> const& grid, std::size_t point);

}  // namespace rollcast
