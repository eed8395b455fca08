#include "scenarios/problem.hpp"

#include <algorithm>
#include <cstddef>

namespace rollcast {
namespace {

constexpr std::size_t kWindow = 120;  // characters of a source line shown around the column

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

// Byte offset of character n, or the size.
std::size_t offset_of_character(std::string_view s, std::size_t n) {
  std::size_t i = 0;
  while (i < s.size() && n > 0) {
    ++i;
    while (i < s.size() && continues_character(s[i])) ++i;
    --n;
  }
  return i;
}

std::string printable(std::string_view s) {
  std::string out(s);
  for (char& c : out) {
    if (c == '\t') c = ' ';
    if (static_cast<unsigned char>(c) < 0x20U || c == 0x7F) c = '?';
  }
  return out;
}

std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> two(b.size() + 1), one(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) one[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({one[j] + 1, row[j - 1] + 1, one[j - 1] + (a[i - 1] == b[j - 1] ? 0U : 1U)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], two[j - 2] + 1);
    }
    std::swap(two, one);
    std::swap(one, row);
  }
  return one[b.size()];
}

}  // namespace

std::string format(Problem const& p) {
  std::string out = p.file;
  if (p.line > 0) out += ":" + std::to_string(p.line) + ":" + std::to_string(p.column);
  out += ": ";
  if (!p.key.empty()) out += p.key + ": ";
  out += p.what;
  if (!p.remedy.empty()) out += "; " + p.remedy;
  out += '\n';
  if (p.line > 0 && !p.source_line.empty() && p.column > 0) {
    auto const column = static_cast<std::size_t>(p.column - 1);
    std::size_t const skip = column < kWindow ? 0 : column - kWindow / 2;
    std::string_view rest = std::string_view(p.source_line).substr(offset_of_character(p.source_line, skip));
    std::size_t const length = offset_of_character(rest, kWindow);
    bool const cut = length < rest.size();
    out += std::string("  ") + (skip > 0 ? "..." : "") + printable(rest.substr(0, length)) +
           (cut ? "..." : "") + "\n";
    out += std::string(2 + (skip > 0 ? 3 : 0) + (column - skip), ' ') + "^\n";
  }
  return out;
}

std::string sentence(Problem const& p) { return p.key.empty() ? p.what : p.key + ": " + p.what; }

std::string format(std::vector<Problem> const& problems) {
  std::string out;
  for (Problem const& p : problems) out += format(p);
  return out;
}

std::string_view nearest(std::string_view word, std::vector<std::string_view> const& candidates) {
  std::size_t const length = word.size();
  std::size_t const allowed = length <= 3 ? 1 : length <= 8 ? 2 : length / 3;
  std::string_view best;
  std::size_t best_distance = allowed + 1;
  for (std::string_view c : candidates) {
    std::size_t const gap = c.size() > length ? c.size() - length : length - c.size();
    if (gap >= best_distance) continue;
    if (std::size_t const d = distance(word, c); d < best_distance) {
      best = c;
      best_distance = d;
    }
  }
  return best;
}

std::string shown(std::string_view text) {
  constexpr std::size_t kMost = 60;
  std::size_t const end = offset_of_character(text, kMost);
  return printable(text.substr(0, end)) + (end < text.size() ? "..." : "");
}

std::string one_of(std::vector<std::string_view> const& words) {
  std::string out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) out += i + 1 == words.size() ? " or " : ", ";
    out += words[i];
  }
  return out;
}

}  // namespace rollcast
