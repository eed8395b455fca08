#include "models/table_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

namespace rollcast {
namespace {

constexpr std::string_view kDigits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz+-";
constexpr int kBase = 64;
constexpr int kCodes = kBase * kBase - 1;
constexpr std::array<double, 4> kSteps = {0.001, 0.002, 0.0025, 0.005};

std::array<int, 256> digit_values() {
  std::array<int, 256> values{};
  values.fill(-1);
  for (std::size_t i = 0; i < kDigits.size(); ++i) {
    values[static_cast<unsigned char>(kDigits[i])] = static_cast<int>(i);
  }
  return values;
}

}  // namespace

LogScale scale_of(std::vector<double> const& values) {
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  for (double const v : values) {
    if (std::isnan(v)) continue;
    low = std::min(low, v);
    high = std::max(high, v);
  }
  if (!(low <= high)) return {};
  LogScale scale;
  for (double const step : kSteps) {
    scale = {std::floor(low * 10) / 10, step};
    if (scale.offset + step * (kCodes - 1) >= high) break;
  }
  return scale;
}

std::string encode(std::vector<double> const& values, LogScale scale) {
  std::string text;
  text.reserve(2 * values.size());
  for (double const v : values) {
    if (std::isnan(v)) {
      text += "..";
      continue;
    }
    double const code = std::clamp(std::round((v - scale.offset) / scale.step), 0.0, kCodes - 1.0);
    auto const c = static_cast<std::size_t>(code);
    text += kDigits[c / kBase];
    text += kDigits[c % kBase];
  }
  return text;
}

bool decode(std::string_view text, LogScale scale, std::vector<double>& values) {
  static std::array<int, 256> const kValues = digit_values();
  values.clear();
  if (text.size() % 2 != 0) return false;
  values.reserve(text.size() / 2);
  for (std::size_t i = 0; i < text.size(); i += 2) {
    if (text[i] == '.' && text[i + 1] == '.') {
      values.push_back(std::numeric_limits<double>::quiet_NaN());
      continue;
    }
    int const high = kValues[static_cast<unsigned char>(text[i])];
    int const low = kValues[static_cast<unsigned char>(text[i + 1])];
    if (high < 0 || low < 0 || high * kBase + low >= kCodes) return false;
    values.push_back(scale.offset + scale.step * (high * kBase + low));
  }
  return true;
}

std::string join(std::vector<double> const& numbers) {
  std::string line;
  for (double const v : numbers) line += fmt::format("{}{:.9g}", line.empty() ? "" : " ", v);
  return line;
}

std::vector<std::string_view> split_words(std::string_view line) {
  std::vector<std::string_view> words;
  std::size_t at = 0;
  while (at < line.size()) {
    std::size_t const begin = line.find_first_not_of(" \t\r", at);
    if (begin == std::string_view::npos) break;
    std::size_t const end = std::min(line.find_first_of(" \t\r", begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    at = end;
  }
  return words;
}

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    std::size_t const end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    std::size_t const begin = line.find_first_not_of(" \t\r");
    if (begin != std::string_view::npos) lines.push_back(line.substr(begin));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

bool read_numbers(std::vector<std::string_view> const& words, std::size_t first,
                  std::vector<double>& numbers) {
  numbers.clear();
  for (std::size_t i = first; i < words.size(); ++i) {
    double v = 0;
    auto const [end, error] = std::from_chars(words[i].data(), words[i].data() + words[i].size(), v);
    if (error != std::errc() || end != words[i].data() + words[i].size() || !std::isfinite(v)) return false;
    numbers.push_back(v);
  }
  return true;
}

bool ascends(std::vector<double> const& knots) {
  if (knots.empty() || !(knots.front() > 0)) return false;
  for (std::size_t i = 1; i < knots.size(); ++i) {
    if (!(knots[i] > knots[i - 1])) return false;
  }
  return true;
}

}  // namespace rollcast
