// What the text forms of calibrations share: one line per entry, words, "# source" at the end.
#pragma once

#include <charconv>
#include <string>
#include <string_view>
#include <vector>

namespace rollcast {

struct CalibrationLine {
  int number = 0;  // in the text, from 1
  std::vector<std::string_view> words;
  std::string source;  // after " # "
};

// The lines that have words.
std::vector<CalibrationLine> calibration_lines(std::string_view text);

// The lines whose first word is `keyword`.
std::vector<CalibrationLine> calibration_lines(std::string_view text, std::string_view keyword);

// The whole of `text` as a number.
template <class T>
bool read_number(std::string_view text, T& value) {
  auto const result = std::from_chars(text.data(), text.data() + text.size(), value);
  return result.ec == std::errc() && result.ptr == text.data() + text.size();
}

// "1.5:2": two numbers.
bool read_pair(std::string_view text, double& first, double& second);

}  // namespace rollcast
