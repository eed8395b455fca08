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

// What the user says about files that do not say it themselves; empty or 0: nothing.
struct ImportHints {
  std::string gpu;         // catalog name
  std::string fabric;      // catalog name
  std::string collective;  // operation of a table that does not name it
  int nodes = 0;           // that a table without a list of ranks was measured on
};

// A file as an importer sees it.
struct SourceText {
  std::string path;       // as messages name it
  std::string name;       // as Sample::source names it: relative to the folder that was imported
  std::string_view text;  // must outlive the import
  ImportHints hints;
};

// Adds one row to the tally of `why` of this file.
void skip(Imported& out, SourceText const& source, std::string_view why);

// Notes a problem of a line. After the 20th of a file further ones are only counted, in its last entry.
void note(Imported& out, SourceText const& source, int line, std::string_view column, std::string what,
          std::string remedy, std::string_view source_line = {});

}  // namespace rollcast
