// A problem of an input file: where, what, and what to write instead.
#pragma once

#include <string>
#include <vector>

namespace rollcast {

struct Problem {
  std::string file;  // "" for --set values
  int line = 0;      // 1-based; 0: the file as a whole
  int column = 0;    // 1-based
  std::string key;   // "train.parallel.tp"; empty for syntax errors
  std::string what;
  std::string remedy;       // what to write instead
  std::string source_line;  // text of that line, for the caret
};

// "file:line:col: key: what; remedy", the source line and a caret below it.
std::string format(Problem const& p);
std::string format(std::vector<Problem> const& problems);

}  // namespace rollcast
