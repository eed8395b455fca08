#include "calibrate/import/imported.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rollcast {
namespace {

constexpr std::ptrdiff_t kMostOfAFile = 20;

}  // namespace

void skip(Imported& out, SourceText const& source, std::string_view why) {
  // The rows of a file come one after the other: its tallies are the last ones.
  for (auto it = out.skipped.rbegin(); it != out.skipped.rend() && it->file == source.path; ++it) {
    if (it->why == why) {
      ++it->rows;
      return;
    }
  }
  out.skipped.push_back({source.path, std::string(why), 1});
}

void note(Imported& out, SourceText const& source, int line, std::string_view column, std::string what,
          std::string remedy, std::string_view source_line) {
  auto const of_file = std::count_if(out.problems.begin(), out.problems.end(),
                                     [&](Problem const& p) { return p.file == source.path; });
  if (of_file > kMostOfAFile) {
    Problem& last = out.problems.back();
    last.column += 1;
    last.what = fmt::format("{} more rows like these", last.column);
    return;
  }
  Problem p;
  p.file = source.path;
  if (of_file == kMostOfAFile) {
    p.column = 1;
    p.what = "1 more row like these";
    p.remedy = "the first ones are above";
  } else {
    p.line = line;
    p.column = 1;
    p.key = std::string(column);
    p.what = std::move(what);
    p.remedy = std::move(remedy);
    p.source_line = std::string(source_line);
  }
  out.problems.push_back(std::move(p));
}

}  // namespace rollcast
