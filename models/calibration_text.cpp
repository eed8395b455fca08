#include "models/calibration_text.hpp"

#include <algorithm>
#include <cmath>

namespace rollcast {
namespace {

std::vector<std::string_view> split_words(std::string_view line) {
  std::vector<std::string_view> out;
  while (true) {
    auto const from = line.find_first_not_of(" \t\r");
    if (from == std::string_view::npos) return out;
    auto const to = std::min(line.find_first_of(" \t\r", from), line.size());
    out.push_back(line.substr(from, to - from));
    line.remove_prefix(to);
  }
}

}  // namespace

std::vector<CalibrationLine> calibration_lines(std::string_view text) {
  std::vector<CalibrationLine> out;
  for (int number = 1; !text.empty(); ++number) {
    auto const end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    CalibrationLine l;
    l.number = number;
    auto const hash = line.find(" # ");
    if (hash != std::string_view::npos) {
      l.source = std::string(line.substr(hash + 3));
      line = line.substr(0, hash);
    }
    l.words = split_words(line);
    if (!l.words.empty()) out.push_back(std::move(l));
  }
  return out;
}

std::vector<CalibrationLine> calibration_lines(std::string_view text, std::string_view keyword) {
  std::vector<CalibrationLine> out;
  for (CalibrationLine& l : calibration_lines(text)) {
    if (l.words.front() == keyword) out.push_back(std::move(l));
  }
  return out;
}

bool read_pair(std::string_view text, double& first, double& second) {
  auto const colon = text.find(':');
  return colon != std::string_view::npos && read_number(text.substr(0, colon), first) &&
         read_number(text.substr(colon + 1), second) && std::isfinite(first) && std::isfinite(second);
}

}  // namespace rollcast
