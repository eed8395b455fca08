// One samples file from what several benchmark programs print.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rollcast {

// Takes the lines of samples files (sample_file.hpp), program after program. The header is that of all: a key
// with several values holds them joined by "; ". Rows and the comments between them stay as they are, in
// order.
class BenchCollection {
 public:
  void begin_program();
  // True for a row.
  bool add(std::string_view line);

  std::size_t rows() const { return rows_; }
  std::string value(std::string_view key) const;  // of the header; "" where there is none
  std::string text() const;

 private:
  void add_header(std::string_view line);

  std::vector<std::pair<std::string, std::string>> header_;
  std::string body_;
  std::size_t rows_ = 0;
  bool in_header_ = true;
};

}  // namespace rollcast
