#include "reports/text_layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace rollcast {

std::string printable(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return out;
}

std::string bar(double share, int width) {
  int filled = static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * width));
  if (share > 0) filled = std::max(filled, 1);
  return std::string(static_cast<std::size_t>(filled), '#') +
         std::string(static_cast<std::size_t>(width - filled), '.');
}

std::string percent(double fraction) {
  double const p = fraction * 100;
  if (p <= 0) return "0 %";
  return p < 9.95 ? fmt::format("{:.1f} %", p) : fmt::format("{:.0f} %", p);
}

std::string wrapped(std::vector<std::string> const& items, std::string_view separator, int indent,
                    int width) {
  std::string const margin(static_cast<std::size_t>(indent), ' ');
  std::string out;
  std::size_t column = margin.size();
  for (std::size_t i = 0; i < items.size(); ++i) {
    std::string item = items[i];
    if (i + 1 < items.size()) item += separator;
    std::size_t const needed = item.size() - (item.ends_with(' ') ? 1 : 0);
    if (column > margin.size() && column + needed > static_cast<std::size_t>(width)) {
      while (out.ends_with(' ')) out.pop_back();
      out += '\n' + margin;
      column = margin.size();
    }
    out += item;
    column += item.size();
  }
  while (out.ends_with(' ')) out.pop_back();
  return out + '\n';
}

std::vector<std::string> words_of(std::string_view sentence) {
  std::vector<std::string> out;
  while (!sentence.empty()) {
    auto const blank = std::min(sentence.find(' '), sentence.size());
    if (blank > 0) out.emplace_back(sentence.substr(0, blank));
    sentence.remove_prefix(std::min(blank + 1, sentence.size()));
  }
  return out;
}

std::string paragraph(std::string_view sentence, int width) {
  return wrapped(words_of(sentence), " ", 0, width);
}

std::string table_line(std::string_view line) {
  return std::string(line.substr(0, line.find_last_not_of(' ') + 1)) + "\n";
}

}  // namespace rollcast
