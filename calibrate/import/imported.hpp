// What reading one measured file gives.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/sample.hpp"
#include "scenarios/problem.hpp"

namespace rollcast {

// Good rows that are no samples, and why.
struct Skipped {
  std::string file;
  std::string why;
  int rows = 0;
};

struct Imported {
  std::vector<Sample> samples;
  std::vector<Skipped> skipped;
  std::vector<Problem> problems;  // rows that cannot be read; the other rows of the file are kept
};

// A file as an importer sees it.
struct SourceText {
  std::string path;       // as messages name it
  std::string name;       // as Sample::source names it: relative to the folder that was imported
  std::string_view text;  // must outlive the import
  std::string gpu;        // catalog name given by the user for files that do not name their GPU, else ""
};

// Adds one row to the tally of `why` of this file.
void skip(Imported& out, SourceText const& source, std::string_view why);

// Notes a problem of a line. After the 20th of a file further ones are only counted, in its last entry.
void note(Imported& out, SourceText const& source, int line, std::string_view column, std::string what,
          std::string remedy, std::string_view source_line = {});

}  // namespace rollcast
