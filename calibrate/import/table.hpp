// A table of comma-separated values, row by row. RFC 4180 quotes, Windows line ends, a byte-order mark and
// comment lines ("# ...") before the header are accepted; blank lines are passed over.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/import/imported.hpp"

namespace rollcast {

// Names of the first row that is no comment; empty for a text without one. At most the first 64 KiB are
// looked at.
std::vector<std::string> table_columns(std::string_view text);

bool has_columns(std::vector<std::string> const& columns, std::vector<std::string_view> const& wanted);

// Lines without their ends, one by one.
class LineReader {
 public:
  explicit LineReader(std::string_view text) : rest_(text) {}
  bool next();
  std::string_view line() const { return line_; }
  int number() const { return number_; }  // 1-based

 private:
  std::string_view rest_;
  std::string_view line_;
  int number_ = 0;
};

class TableReader {
 public:
  TableReader(SourceText const& source, Imported& out);

  // The next row that has as many cells as the header; others become problems.
  bool next();

  bool has(std::string_view column) const { return index_.find(column) != index_.end(); }
  // Cell of this row; "" where the table has no such column.
  std::string const& text(std::string_view column) const;
  // Numbers of this row. A cell that is none of the kind asked for becomes a problem, the row is no longer
  // good() and 0 comes back.
  double count(std::string_view column);     // whole, at least 1
  double whole(std::string_view column);     // whole, at least 0
  double positive(std::string_view column);  // above 0
  // As count(); `fallback` where the table has no such column.
  double count_or(std::string_view column, double fallback);

  bool good() const { return good_; }  // no problem in this row so far
  void problem(std::string_view column, std::string what, std::string remedy);
  int line() const { return lines_.number(); }

 private:
  double number(std::string_view column, double least, bool whole, std::string_view kind);

  SourceText const& source_;
  Imported& out_;
  LineReader lines_;
  std::map<std::string, std::size_t, std::less<>> index_;
  std::vector<std::string> cells_;
  std::size_t width_ = 0;
  bool good_ = true;
};

}  // namespace rollcast
