#include "calibrate/import/table.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <system_error>

namespace rollcast {
namespace {

constexpr std::size_t kHeaderWindow = 64 * 1024;
constexpr double kMost = 1e18;

std::string_view trimmed(std::string_view s) {
  auto const first = s.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return s.substr(first, s.find_last_not_of(" \t") - first + 1);
}

// cells keeps its strings from row to row, so that a large table allocates once.
std::size_t split_row(std::string_view line, std::vector<std::string>& cells) {
  std::size_t count = 0;
  auto const cell = [&]() -> std::string& {
    if (count == cells.size()) cells.emplace_back();
    return cells[count++];
  };
  if (line.find('"') == std::string_view::npos) {
    while (true) {
      auto const comma = line.find(',');
      cell() = trimmed(line.substr(0, comma));
      if (comma == std::string_view::npos) return count;
      line.remove_prefix(comma + 1);
    }
  }
  std::string* at = &cell();
  at->clear();
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    char const c = line[i];
    if (c == '"') {
      if (quoted && i + 1 < line.size() && line[i + 1] == '"') {
        *at += c;
        ++i;
      } else {
        quoted = !quoted;
      }
    } else if (c == ',' && !quoted) {
      at = &cell();
      at->clear();
    } else {
      *at += c;
    }
  }
  return count;
}

bool is_comment(std::string_view line) {
  std::string_view const t = trimmed(line);
  return t.empty() || t.front() == '#';
}

}  // namespace

bool LineReader::next() {
  if (rest_.empty()) return false;
  if (number_ == 0 && rest_.starts_with("\xEF\xBB\xBF")) rest_.remove_prefix(3);
  auto const end = rest_.find('\n');
  line_ = rest_.substr(0, end);
  rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
  if (line_.ends_with('\r')) line_.remove_suffix(1);
  ++number_;
  return true;
}

std::vector<std::string> table_columns(std::string_view text) {
  LineReader lines(text.substr(0, kHeaderWindow));
  while (lines.next()) {
    if (is_comment(lines.line())) continue;
    std::vector<std::string> columns;
    split_row(lines.line(), columns);
    return columns;
  }
  return {};
}

bool has_columns(std::vector<std::string> const& columns, std::vector<std::string_view> const& wanted) {
  for (std::string_view const w : wanted) {
    bool found = false;
    for (std::string const& c : columns) found = found || c == w;
    if (!found) return false;
  }
  return true;
}

TableReader::TableReader(SourceText const& source, Imported& out)
    : source_(source), out_(out), lines_(source.text) {
  while (lines_.next()) {
    if (is_comment(lines_.line())) continue;
    std::vector<std::string> columns;
    width_ = split_row(lines_.line(), columns);
    for (std::size_t i = 0; i < width_; ++i) index_.emplace(columns[i], i);
    return;
  }
}

bool TableReader::next() {
  while (lines_.next()) {
    if (is_comment(lines_.line())) continue;
    good_ = true;
    std::size_t const found = split_row(lines_.line(), cells_);
    if (found == width_) return true;
    problem("", fmt::format("{} cells where the header has {}", found, width_),
            "write one cell for each column of the header");
  }
  return false;
}

std::string const& TableReader::text(std::string_view column) const {
  static std::string const none;
  auto const it = index_.find(column);
  return it == index_.end() ? none : cells_[it->second];
}

double TableReader::number(std::string_view column, double least, bool whole, std::string_view kind) {
  std::string const& cell = text(column);
  double value = 0;
  auto const [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  bool const read = error == std::errc() && end == cell.data() + cell.size() && std::isfinite(value);
  bool const fits = read && value <= kMost && (whole ? value >= least : value > least) &&
                    (!whole || !(std::floor(value) < value));
  if (fits) return value;
  problem(column, fmt::format("'{}' is not {}", shown(cell), kind), "correct or remove the row");
  return 0;
}

double TableReader::count(std::string_view column) {
  return number(column, 1, true, "a whole number of at least 1");
}
double TableReader::whole(std::string_view column) {
  return number(column, 0, true, "a whole number of at least 0");
}
double TableReader::positive(std::string_view column) {
  return number(column, 0, false, fmt::format("a number above 0 and at most {}", kMost));
}
double TableReader::count_or(std::string_view column, double fallback) {
  return has(column) ? count(column) : fallback;
}

void TableReader::problem(std::string_view column, std::string what, std::string remedy) {
  good_ = false;
  note(out_, source_, lines_.number(), column, std::move(what), std::move(remedy), lines_.line());
}

}  // namespace rollcast
