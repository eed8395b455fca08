#include "calibrate/profile_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <iterator>
#include <set>
#include <stdexcept>
#include <system_error>

#include "calibrate/import/table.hpp"

namespace rollcast {
namespace {

constexpr Basis kBases[] = {Basis::measured, Basis::fitted, Basis::bytes_over_bandwidth, Basis::derived};
constexpr std::string_view kTableIndent = "      ";

// What a number of a profile may be; the names that are not here are no numbers of one.
struct Range {
  std::string_view name;
  double low;   // itself not allowed
  double high;  // allowed
};
constexpr double kLongest = 0.999999;  // s
constexpr Range kRanges[] = {{"gemm_bf16", 0, 1},
                             {"gemm_fp8", 0, 1},
                             {"memory_pass", 0, 1},
                             {"sustained_clock", 0, 1},
                             {"pcie", 0, 1},
                             {"kernel_launch", 0, kLongest},
                             {"engine_step", 0, kLongest},
                             {"engine_per_sequence", 0, kLongest},
                             {"attention_backward_over_forward", 0.1, 20}};

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (char const c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' || c == '\r' || c == '\t' ? ' ' : c;
  }
  return out + '"';
}

class Reader {
 public:
  Reader(std::string_view text, std::string const& file) : lines_(text), file_(file) {}

  ProfileTextResult read() {
    while (result_.problems.empty() && (held_ || lines_.next())) {
      held_ = false;
      if (is_blank(lines_.line())) continue;
      read_top(lines_.line());
    }
    if (result_.problems.empty() && profile_.gpu.empty())
      problem("gpu", "is missing", "name the GPU of the catalog");
    if (result_.problems.empty()) result_.profile = std::move(profile_);
    return std::move(result_);
  }

 private:
  static bool is_blank(std::string_view line) {
    auto const first = line.find_first_not_of(' ');
    return first == std::string_view::npos || line[first] == '#';
  }

  void problem(std::string_view key, std::string what, std::string remedy) {
    if (!result_.problems.empty()) return;
    Problem p;
    p.file = file_;
    p.line = lines_.number();
    p.column = 1;
    p.key = std::string(key);
    p.what = std::move(what);
    p.remedy = std::move(remedy);
    p.source_line = std::string(lines_.line());
    result_.problems.push_back(std::move(p));
  }

  // "key: value" after `indent` blanks, or after "- " there; false, with a problem, for another line.
  bool split(std::string_view line, std::size_t indent, std::string_view& key, std::string_view& value) {
    line.remove_prefix(std::min(indent, line.size()));
    auto const colon = line.find(':');
    if (colon == std::string_view::npos || colon == 0 || line.front() == ' ') {
      problem("", "no line of a profile", "profiles are written by 'rollcast calibrate fit'");
      return false;
    }
    key = line.substr(0, colon);
    value = line.substr(colon + 1);
    while (value.starts_with(' ')) value.remove_prefix(1);
    while (value.ends_with(' ')) value.remove_suffix(1);
    return true;
  }

  std::string text_of(std::string_view key, std::string_view value) {
    if (!value.starts_with('"')) return std::string(value);
    std::string out;
    for (std::size_t i = 1; i < value.size(); ++i) {
      if (value[i] == '"') {
        if (i + 1 != value.size()) break;
        return out;
      }
      if (value[i] == '\\' && i + 1 < value.size()) ++i;
      out += value[i];
    }
    problem(key, "a text without its closing quote", "end it with \"");
    return out;
  }

  double number_of(std::string_view key, std::string_view value) {
    double v = 0;
    auto const [end, error] = std::from_chars(value.data(), value.data() + value.size(), v);
    if (error != std::errc() || end != value.data() + value.size() || !std::isfinite(v) || v < 0)
      problem(key, "'" + shown(value) + "' is not a number of at least 0", "");
    return v;
  }

  int count_of(std::string_view key, std::string_view value) {
    double const v = number_of(key, value);
    if (v > 2e9 || std::floor(v) < v) problem(key, "'" + shown(value) + "' is no count", "");
    return result_.problems.empty() ? static_cast<int>(v) : 0;
  }

  // Each key once.
  void check_new(std::set<std::string, std::less<>>& known, std::string_view key) {
    if (!known.emplace(key).second) problem(key, "is there twice", "keep one of them");
  }

  void unknown(std::string_view key, std::vector<std::string_view> const& known) {
    problem(key, "is no key here", "possible: " + one_of(known));
  }

  void read_top(std::string_view line) {
    std::string_view key, value;
    if (!split(line, 0, key, value)) return;
    check_new(top_keys_, key);
    if (key == "name")
      profile_.name = text_of(key, value);
    else if (key == "gpu")
      profile_.gpu = text_of(key, value);
    else if (key == "stack")
      profile_.stack = text_of(key, value);
    else if (key == "date")
      profile_.date = text_of(key, value);
    else if (key == "operations")
      read_items([this](auto k, auto v) { operation_key(k, v); },
                 [this] { profile_.operations.emplace_back(); }, {"operation"}, [] {});
    else if (key == "numbers")
      read_items([this](auto k, auto v) { number_key(k, v); }, [this] { profile_.numbers.emplace_back(); },
                 {"number", "value"}, [this] { finish_number(); });
    else if (key == "tables")
      read_items([this](auto k, auto v) { table_key(k, v); }, [this] { profile_.tables.emplace_back(); },
                 {"table", "text", "lines"}, [this] { finish_table(); });
    else
      unknown(key, {"name", "gpu", "stack", "date", "operations", "numbers", "tables"});
  }

  // Lines "  - key: value" and "    key: value" up to one that is less indented, which is held back.
  // Each item has the keys `required`, and no key twice.
  template <class Key, class Start, class Finish>
  void read_items(Key key_of, Start start, std::vector<std::string_view> const& required, Finish finish) {
    bool started = false;
    std::set<std::string, std::less<>> keys;
    auto const end_item = [&] {
      for (std::string_view const key : required) {
        if (started && !keys.contains(key))
          problem(key, "is missing in the entry before this line", "the file is cut or was edited");
      }
      if (started && result_.problems.empty()) finish();
      keys.clear();
    };
    while (result_.problems.empty() && (held_ || lines_.next())) {
      held_ = false;
      std::string_view const line = lines_.line();
      if (is_blank(line)) continue;
      if (line.front() != ' ') {
        held_ = true;
        end_item();
        return;
      }
      bool const first = line.starts_with("  - ");
      if (!first && (!started || !line.starts_with("    "))) {
        problem("", "no item of a list", "write '  - key: value'");
        return;
      }
      if (first) {
        end_item();
        if (!result_.problems.empty()) return;
        start();
      }
      started = true;
      std::string_view key, value;
      if (!split(line, 4, key, value)) return;
      check_new(keys, key);
      key_of(key, value);
    }
    if (result_.problems.empty()) end_item();
  }

  void operation_key(std::string_view key, std::string_view value) {
    OperationNote& o = profile_.operations.back();
    if (key == "operation")
      o.operation = text_of(key, value);
    else if (key == "dtype")
      o.dtype = text_of(key, value);
    else if (key == "software")
      o.software = text_of(key, value);
    else if (key == "source")
      o.source = text_of(key, value);
    else if (key == "rows")
      o.rows = count_of(key, value);
    else if (key == "heldout_rows")
      o.heldout_rows = count_of(key, value);
    else if (key == "heldout_median")
      o.heldout_median = number_of(key, value);
    else if (key == "heldout_p90")
      o.heldout_p90 = number_of(key, value);
    else if (key == "basis")
      read_basis(o, value);
    else
      unknown(key, {"operation", "dtype", "basis", "software", "source", "rows", "heldout_rows",
                    "heldout_median", "heldout_p90"});
  }

  void read_basis(OperationNote& o, std::string_view value) {
    for (Basis const b : kBases) {
      if (name_of(b) != value) continue;
      o.basis = b;
      return;
    }
    problem("basis", "'" + shown(value) + "' is no basis",
            "write one of measured, fitted, bytes_over_bandwidth, derived");
  }

  void number_key(std::string_view key, std::string_view value) {
    auto& [name, cited] = profile_.numbers.back();
    if (key == "number") {
      name = text_of(key, value);
      for (auto n = profile_.numbers.begin(); n + 1 < profile_.numbers.end(); ++n) {
        if (n->first == name) problem(key, "'" + shown(name) + "' is there twice", "keep one of them");
      }
    } else if (key == "value") {
      cited.value = number_of(key, value);
      check_range(name, cited.value, value);
    } else if (key == "source") {
      cited.source = text_of(key, value);
    } else {
      unknown(key, {"number", "value", "source"});
    }
  }

  // The writer has the name before the value; another order is checked at the end of the entry.
  void check_range(std::string const& name, double v, std::string_view written) {
    for (Range const& r : kRanges) {
      if (r.name != name || (v > r.low && v <= r.high)) continue;
      problem("value", fmt::format("'{}' of {} is out of range", shown(written), name),
              fmt::format("more than {:g} and at most {:g}", r.low, r.high));
    }
  }

  void finish_number() {
    auto const& [name, cited] = profile_.numbers.back();
    check_range(name, cited.value, fmt::format("{}", cited.value));
  }

  // What tables say of themselves in their first line, "gemm bf16", is in their names.
  void finish_table() {
    ProfileTable const& t = profile_.tables.back();
    if (t.text.empty()) problem("table", "'" + shown(t.name) + "' is empty", "the file is cut or was edited");
    std::string first = t.text.substr(0, t.text.find('\n'));
    if (first.starts_with("attention ")) first[first.find(' ')] = '_';
    bool const has_kind =
        t.name.starts_with("gemm ") || t.name.starts_with("attention_") || t.name.starts_with("moe ");
    if (has_kind && !(t.name + " ").starts_with(first + " "))
      problem("table", fmt::format("'{}' holds '{}'", shown(t.name), shown(first)),
              "a table is named by what it holds");
  }

  void table_key(std::string_view key, std::string_view value) {
    ProfileTable& t = profile_.tables.back();
    if (key == "table") {
      t.name = text_of(key, value);
      for (auto n = profile_.tables.begin(); n + 1 < profile_.tables.end(); ++n) {
        if (n->name == t.name) problem(key, "'" + shown(t.name) + "' is there twice", "keep one of them");
      }
    } else if (key == "lines") {
      if (count_of(key, value) != std::count(t.text.begin(), t.text.end(), '\n'))
        problem(key, fmt::format("'{}' does not match the text before it", shown(value)),
                "the file is cut or was edited");
    } else if (key == "text" && value == "|") {
      while (lines_.next()) {
        std::string_view const line = lines_.line();
        if (!line.starts_with(kTableIndent)) {
          held_ = true;
          return;
        }
        t.text += line.substr(kTableIndent.size());
        t.text += '\n';
      }
    } else {
      unknown(key, {"table", "text: |", "lines"});
    }
  }

  LineReader lines_;
  std::string const& file_;
  std::set<std::string, std::less<>> top_keys_;
  bool held_ = false;  // the reader's line was read, but not used
  ProfileText profile_;
  ProfileTextResult result_;
};

}  // namespace

std::string_view name_of(Basis b) {
  switch (b) {
    case Basis::measured:
      return "measured";
    case Basis::fitted:
      return "fitted";
    case Basis::bytes_over_bandwidth:
      return "bytes_over_bandwidth";
    case Basis::derived:
      return "derived";
  }
  throw std::logic_error("no such Basis");
}

std::string to_text(ProfileText const& p) {
  std::string out = fmt::format("name: {}\ngpu: {}\nstack: {}\ndate: {}\n", quoted(p.name), quoted(p.gpu),
                                quoted(p.stack), quoted(p.date));
  auto const at = std::back_inserter(out);
  if (!p.operations.empty()) out += "operations:\n";
  for (OperationNote const& o : p.operations) {
    fmt::format_to(
        at,
        "  - operation: {}\n    dtype: {}\n    basis: {}\n    software: {}\n    source: {}\n    rows: {}\n",
        quoted(o.operation), quoted(o.dtype), name_of(o.basis), quoted(o.software), quoted(o.source), o.rows);
    if (o.heldout_rows > 0)
      fmt::format_to(at, "    heldout_rows: {}\n    heldout_median: {:.4g}\n    heldout_p90: {:.4g}\n",
                     o.heldout_rows, o.heldout_median, o.heldout_p90);
  }
  if (!p.numbers.empty()) out += "numbers:\n";
  for (auto const& [name, cited] : p.numbers)
    fmt::format_to(at, "  - number: {}\n    value: {}\n    source: {}\n", quoted(name), cited.value,
                   quoted(cited.source));
  if (!p.tables.empty()) out += "tables:\n";
  for (ProfileTable const& t : p.tables) {
    fmt::format_to(at, "  - table: {}\n    text: |\n", quoted(t.name));
    LineReader lines(t.text);
    int count = 0;
    for (; lines.next(); ++count) fmt::format_to(at, "{}{}\n", kTableIndent, lines.line());
    fmt::format_to(at, "    lines: {}\n", count);
  }
  return out;
}

ProfileTextResult profile_from_text(std::string_view text, std::string const& file) {
  return Reader(text, file).read();
}

std::string gpu_of_profile(std::string_view text) {
  LineReader lines(text);
  while (lines.next()) {
    std::string_view line = lines.line();
    if (!line.starts_with("gpu: ")) continue;
    line.remove_prefix(5);
    if (line.size() >= 2 && line.front() == '"' && line.back() == '"') line = line.substr(1, line.size() - 2);
    return std::string(line);
  }
  return {};
}

}  // namespace rollcast
