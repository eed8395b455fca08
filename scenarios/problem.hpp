// A problem of an input file: where, what, and what to write instead.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rollcast {

struct Problem {
  std::string file;  // or "--set key=value"
  int line = 0;      // 1-based; 0: the file as a whole
  int column = 0;    // 1-based, in characters
  std::string key;   // "train.parallel.tp"; empty for syntax errors
  std::string what;
  std::string remedy;       // what to write instead
  std::string source_line;  // text of that line, for the caret
};

// "file:line:col: key: what; remedy", the source line and a caret below it. A long line is cut to a window
// around the column; control characters show as '?'.
std::string format(Problem const& p);
std::string format(std::vector<Problem> const& problems);

// "key: what", or what alone where there is no key.
std::string sentence(Problem const& p);

// The candidate with the smallest edit distance (insert, delete, replace, swap neighbours: 1 each), when it
// is near enough to be a slip: at most 1 for names up to 3 characters, 2 up to 8, a third of the length
// beyond. Empty otherwise.
std::string_view nearest(std::string_view word, std::vector<std::string_view> const& candidates);

// Text from a file as it may stand in a message: at most 60 characters, control characters as '?'.
std::string shown(std::string_view text);

// "a, b or c".
std::string one_of(std::vector<std::string_view> const& words);

}  // namespace rollcast
