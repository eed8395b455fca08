// How the report for people is painted and how wide it is.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "reports/terminal.hpp"
#include "reports/text_layout.hpp"

namespace rollcast {

class TerminalPage {
 public:
  static constexpr int kNameColumns = 22;

  explicit TerminalPage(TerminalOptions const& o)
      : colour_(o.colour), width_(std::max(o.width, kNarrowest)) {}

  int width() const { return width_; }
  std::string bold(std::string const& s) const { return painted(s, "1"); }
  std::string red(std::string const& s) const { return painted(s, "1;31"); }
  std::string cyan(std::string const& s) const { return painted(s, "36"); }

  // In kNameColumns columns.
  static std::string fit(std::string const& name) {
    return fmt::format("{:<{}.{}}", printable(name), kNameColumns, kNameColumns);
  }
  // Of the bars beside what takes so many columns.
  int bar_width(int columns) const { return std::clamp((width_ - columns) / 3, 8, 24); }

 private:
  static constexpr int kNarrowest = 80;

  std::string painted(std::string const& s, char const* code) const {
    return colour_ ? fmt::format("\x1b[{}m{}\x1b[0m", code, s) : s;
  }

  bool colour_;
  int width_;
};

}  // namespace rollcast
