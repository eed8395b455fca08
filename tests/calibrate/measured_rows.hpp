// Rows of the shared measured tables for the tests of fits, and the rule which of them a fit may not see.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "calibrate/sample.hpp"

namespace rollcast::tests {

inline std::filesystem::path measured_folder() {
  return std::filesystem::path(ROLLCAST_SOURCE_DIR).parent_path() / "shared" / "data" / "aiconfigurator";
}

inline std::vector<std::map<std::string, std::string>> read_csv(std::filesystem::path const& file) {
  std::vector<std::map<std::string, std::string>> rows;
  std::ifstream in(file);
  std::vector<std::string> names;
  std::string line;
  while (std::getline(in, line)) {
    std::istringstream cells(line);
    std::string cell;
    std::vector<std::string> values;
    while (std::getline(cells, cell, ',')) values.push_back(cell);
    if (names.empty()) {
      names = values;
      continue;
    }
    std::map<std::string, std::string> row;
    for (std::size_t i = 0; i < values.size() && i < names.size(); ++i) row[names[i]] = values[i];
    rows.push_back(row);
  }
  return rows;
}

inline double number(std::map<std::string, std::string> const& row, std::string const& name) {
  auto const it = row.find(name);
  return it == row.end() ? 0 : std::strtod(it->second.c_str(), nullptr);
}

// The split of whole shapes: FNV-1a, 64 bit, of a key, held out when a multiple of 5.
inline bool holds_out(std::string const& key) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (char const c : key) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 1099511628211ULL;
  }
  return hash % 5 == 0;
}

struct Rows {
  std::vector<Sample> train;
  std::vector<Sample> held_out;
};

}  // namespace rollcast::tests
