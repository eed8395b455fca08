#include "scenarios/text/trace_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "scenarios/problem.hpp"

namespace rollcast {
namespace {

constexpr std::uintmax_t kLargestFile = std::uintmax_t{1} << 30;
constexpr std::size_t kMostRows = 10'000'000;
constexpr int kMostAdapters = 1'000'000;
constexpr double kLatest = 1e9;  // seconds, 30 years
constexpr double kMostTokens = 1e9;
constexpr std::string_view kExample = "write for example arrival,prompt,output,adapter in its first line";

enum Column { arrival, prompt, output, adapter, columns };
constexpr std::array<std::array<std::string_view, 2>, columns> kNames = {{{"arrival", "arrived_at"},
                                                                          {"prompt", "num_prefill_tokens"},
                                                                          {"output", "num_decode_tokens"},
                                                                          {"adapter", "adapter"}}};

std::string_view trimmed(std::string_view s) {
  auto const first = s.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return s.substr(first, s.find_last_not_of(" \t\r") - first + 1);
}

// Into the cells of a line; false: a quote that does not end, or text behind one.
bool split(std::string_view line, std::vector<std::string>& cells) {
  cells.clear();
  while (true) {
    std::string cell;
    std::size_t at = line.find_first_not_of(" \t");
    if (at != std::string_view::npos && line[at] == '"') {
      for (++at;; ++at) {
        if (at >= line.size()) return false;
        if (line[at] == '"' && (at + 1 >= line.size() || line[at + 1] != '"')) break;
        if (line[at] == '"') ++at;
        cell += line[at];
      }
      ++at;
      std::size_t const comma = std::min(line.find(',', at), line.size());
      if (!trimmed(line.substr(at, comma - at)).empty()) return false;
      at = comma;
    } else {
      at = std::min(line.find(','), line.size());
      cell = trimmed(line.substr(0, at));
    }
    cells.push_back(std::move(cell));
    if (at >= line.size()) return true;
    line.remove_prefix(at + 1);
  }
}

std::optional<double> number_of(std::string_view text) {
  double v = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(v)) return {};
  return v;
}

std::optional<int> adapter_number(std::string_view text) {
  int v = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
  if (error != std::errc() || end != text.data() + text.size() || v < 0) return {};
  return v;
}

class TraceReader {
 public:
  TraceReader(std::istream& text, std::string const& name) : text_(text), name_(shown(name)) {}

  TraceFile read() {
    if (read_header() && read_rows() && number_adapters()) {
      put_in_order();
    } else {
      file_.rows.clear();
    }
    return std::move(file_);
  }

 private:
  bool refuse_file(std::string_view what, std::string_view remedy) {
    file_.error = fmt::format("{}: {}", name_, what);
    file_.remedy = remedy;
    return false;
  }
  bool refuse(std::string_view what, std::string_view remedy) {
    return refuse_file(fmt::format("line {}: {}", line_, what), remedy);
  }
  bool refuse_cell(Column c, std::string_view cell, std::string_view what, std::string_view remedy) {
    return refuse(fmt::format("column {}: '{}' {}", header_[place_[c]], shown(cell), what), remedy);
  }

  // The next line that holds anything, cut into cells_.
  bool next_line() {
    while (std::getline(text_, text_line_)) {
      ++line_;
      std::string_view line = text_line_;
      if (line_ == 1 && line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);
      if (trimmed(line).empty()) continue;
      whole_ = split(line, cells_);
      return true;
    }
    return false;
  }

  bool read_header() {
    place_.fill(kAbsent);
    if (!next_line()) return refuse_file("the file is empty", kExample);
    if (!whole_) return refuse_quote();
    header_ = cells_;
    for (std::size_t i = 0; i < header_.size(); ++i) {
      if (!place_column(i)) return false;
    }
    for (Column c : {arrival, prompt, output}) {
      if (place_[c] != kAbsent) continue;
      bool const otherwise = header_.size() == 1 && header_[0].find_first_of(";\t") != std::string::npos;
      return refuse(fmt::format("no column {}", kNames[c][0]),
                    otherwise ? "put commas between the columns" : kExample);
    }
    return true;
  }

  bool place_column(std::size_t i) {
    std::vector<std::string_view> names;
    for (int c = 0; c < columns; ++c) {
      auto const at = static_cast<std::size_t>(c);
      for (std::string_view name : kNames[at]) names.push_back(name);
      if (header_[i] != kNames[at][0] && header_[i] != kNames[at][1]) continue;
      if (place_[at] != kAbsent)
        return refuse(fmt::format("two columns {}", kNames[at][0]), "keep one of them");
      place_[at] = i;
      return true;
    }
    std::string_view const near = nearest(header_[i], names);
    if (near.empty()) return true;
    return refuse(fmt::format("unknown column '{}'", shown(header_[i])),
                  fmt::format("did you mean {}?", near));
  }

  bool refuse_quote() { return refuse("a quote without its end", "close it in the same line"); }

  bool read_rows() {
    while (next_line()) {
      if (!read_row()) return false;
    }
    return !file_.rows.empty() ||
           refuse_file("no requests in it", "write a line for each request below the header");
  }

  bool read_row() {
    if (!whole_) return refuse_quote();
    if (cells_.size() != header_.size())
      return refuse(fmt::format("{} cells below {} columns", cells_.size(), header_.size()),
                    "write one for each column");
    if (file_.rows.size() >= kMostRows)
      return refuse(fmt::format("more than {} requests", kMostRows), "cut the file");
    ServeRequest row;
    std::string_view const time = cells_[place_[arrival]];
    std::optional<double> const at = number_of(time);
    if (!at || *at < 0 || *at > kLatest)
      return refuse_cell(arrival, time,
                         !at       ? "is not a time"
                         : *at < 0 ? "is negative"
                                   : "is too late",
                         "write seconds from the start, at most 1e9");
    row.arrival = seconds(*at);
    if (!read_tokens(prompt, row.prompt_tokens) || !read_tokens(output, row.response_tokens)) return false;
    if (!read_adapter()) return false;
    file_.rows.push_back(row);
    return true;
  }

  bool read_tokens(Column c, int& tokens) {
    std::string_view const cell = cells_[place_[c]];
    std::optional<double> const v = number_of(cell);
    if (!v || *v < 1 || *v > kMostTokens || std::floor(*v) < *v)
      return refuse_cell(c, cell, "is not a length in tokens", "write whole numbers of at least 1");
    tokens = static_cast<int>(*v);
    return true;
  }

  // The name's number by first appearance, and the number that it may be.
  bool read_adapter() {
    if (place_[adapter] == kAbsent) return true;
    std::string const& cell = cells_[place_[adapter]];
    if (cell.empty()) {
      named_.push_back({-1, -1});
      return true;
    }
    if (std::optional<double> const v = number_of(cell); v && *v < 0)
      return refuse_cell(adapter, cell, "is no adapter",
                         "number them from 0; leave the cell empty to ask for the base model");
    auto const [known, fresh] = names_.try_emplace(cell, static_cast<int>(names_.size()));
    if (fresh && known->second >= kMostAdapters)
      return refuse_cell(adapter, cell, "is one adapter too many", "write at most a million");
    std::optional<int> const number = adapter_number(cell);
    if (!number) numbered_ = false;
    if (number && *number > largest_) {
      largest_ = *number;
      largest_line_ = line_;
    }
    named_.push_back({known->second, number.value_or(-1)});
    return true;
  }

  bool number_adapters() {
    if (names_.empty()) return true;
    if (numbered_ && largest_ >= kMostAdapters) {
      line_ = largest_line_;
      return refuse(
          fmt::format("column {}: adapter {} is beyond a million of them", kNames[adapter][0], largest_),
          "number them from 0");
    }
    file_.adapters = numbered_ ? largest_ + 1 : static_cast<int>(names_.size());
    for (std::size_t i = 0; i < file_.rows.size(); ++i)
      file_.rows[i].adapter = numbered_ ? named_[i].number : named_[i].name;
    return true;
  }

  void put_in_order() {
    std::vector<ServeRequest>& rows = file_.rows;
    std::stable_sort(rows.begin(), rows.end(),
                     [](ServeRequest const& a, ServeRequest const& b) { return a.arrival < b.arrival; });
    Seconds const first = rows.front().arrival;
    for (ServeRequest& r : rows) r.arrival = r.arrival - first;
  }

  static constexpr std::size_t kAbsent = static_cast<std::size_t>(-1);
  struct Named {
    int name = -1;
    int number = -1;
  };

  std::istream& text_;
  std::string name_;
  TraceFile file_;
  std::string text_line_;
  std::int64_t line_ = 0;
  bool whole_ = true;
  std::vector<std::string> cells_;
  std::vector<std::string> header_;
  std::array<std::size_t, columns> place_{};
  std::unordered_map<std::string, int> names_;
  std::vector<Named> named_;  // of each row, where there is such a column
  bool numbered_ = true;
  int largest_ = -1;
  std::int64_t largest_line_ = 0;
};

}  // namespace

TraceFile parse_trace(std::istream& text, std::string const& name) { return TraceReader(text, name).read(); }

TraceFile read_trace_file(std::string const& path, std::string const& folder) {
  namespace fs = std::filesystem;
  fs::path const full = fs::path(path).is_absolute() ? fs::path(path) : fs::path(folder) / path;
  auto const refuse = [&](std::string_view why) {
    TraceFile file;
    file.error = fmt::format("{}: {}", shown(full.string()), why);
    file.remedy = "name a file with a line for each request";
    return file;
  };
  std::error_code error;
  if (!fs::is_regular_file(full, error)) return refuse("there is no such file");
  if (fs::file_size(full, error) > kLargestFile) return refuse("the file is larger than 1 GiB");
  std::ifstream in(full);
  if (!in) return refuse("cannot be opened");
  return parse_trace(in, full.string());
}

}  // namespace rollcast
