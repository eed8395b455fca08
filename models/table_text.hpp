// Numbers of kernel tables as compact text: two characters each, logarithms on a fixed scale. A table of
// 25,000 prices is 50 kB of text and is read in well under a millisecond.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rollcast {

// Value = offset + step x code, 0 <= code < 4095. A code is two digits to base 64 (0-9 A-Z a-z + -), the
// larger one first. NaN, "not measured", is "..".
struct LogScale {
  double offset = 0;
  double step = 0.0025;
};

// The finest of a few round scales that covers every value that is not NaN: off by half a step, 0.05 to 0.25
// %.
LogScale scale_of(std::vector<double> const& values);

// Values beyond the scale become its end.
std::string encode(std::vector<double> const& values, LogScale scale);

// False, and nothing of use in `values`, for text that encode does not write.
bool decode(std::string_view text, LogScale scale, std::vector<double>& values);

// What the writers and readers of tables share: lines of words. Numbers have up to 9 significant digits.
std::string join(std::vector<double> const& numbers);
std::vector<std::string_view> split_words(std::string_view line);
std::vector<std::string_view> split_lines(std::string_view text);  // without empty ones and leading blanks
bool read_numbers(std::vector<std::string_view> const& words, std::size_t first,
                  std::vector<double>& numbers);

bool ascends(std::vector<double> const& knots);  // strictly, from above 0, and is not empty

}  // namespace rollcast
