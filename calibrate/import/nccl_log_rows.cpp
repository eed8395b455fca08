#include "calibrate/import/nccl_log_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <system_error>

namespace rollcast {
namespace {

constexpr std::array<std::string_view, 17> kTypes = {
    "int8",     "uint8",  "int32",  "uint32",   "int64",    "uint64", "half",    "float",  "double",
    "bfloat16", "f8e4m3", "f8e5m2", "fp8_e4m3", "fp8_e5m2", "char",   "float16", "float32"};
constexpr std::array<std::string_view, 7> kRedops = {"sum", "prod", "min", "max", "avg", "mulsum", "none"};

template <class List>
bool one_of_list(List const& list, std::string const& word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

std::optional<double> number(std::string_view word) {
  double value = 0;
  auto const [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

bool is_whole(std::string const& word) {
  return !word.empty() && word.size() <= 18 &&
         word.find_first_not_of("0123456789", word.front() == '-' && word.size() > 1 ? 1 : 0) ==
             std::string::npos;
}

// Which columns the words after type and redop are: root, columns per timing, timings. Where the number of
// words leaves two readings, time and algbw must agree in the right one.
struct Layout {
  std::size_t root = 0, columns = 0, timings = 0;
};
std::vector<Layout> layouts_of(std::vector<std::string> const& words, std::size_t at) {
  std::vector<Layout> fit;
  bool const rooted = at < words.size() && words[at] == "-1";  // no time is negative
  for (Layout const& l : {Layout{0, 3, 1}, Layout{0, 4, 1}, Layout{1, 3, 1}, Layout{1, 4, 1}, Layout{0, 3, 2},
                          Layout{1, 3, 2}, Layout{0, 4, 2}, Layout{1, 4, 2}}) {
    bool const root_fits = l.root == 1 ? at < words.size() && is_whole(words[at]) : !rooted;
    if (root_fits && words.size() - at == l.root + l.columns * l.timings) fit.push_back(l);
  }
  return fit;
}

// An empty error where it could be read.
std::string read_timing(std::vector<std::string> const& words, std::size_t at, std::size_t columns,
                        double size, NcclTiming& t) {
  auto const time = number(words[at]), algbw = number(words[at + 1]), busbw = number(words[at + 2]);
  if (!time || !algbw || !busbw)
    return fmt::format("'{} {} {}' is no time with two bandwidths", words[at], words[at + 1], words[at + 2]);
  if (*time <= 0 || *algbw < 0 || *busbw < 0) return fmt::format("a time of {} us", words[at]);
  double const expected = size / *time * 1e-3;
  // Printed with two decimals, times with three digits at least.
  if (std::fabs(*algbw - expected) > 0.02 * expected + 0.006)
    return fmt::format("{:.0f} bytes in {} us are {:.4g} GB/s, not {}", size, words[at], expected,
                       words[at + 1]);
  t = {*time, *algbw, *busbw, columns == 4 ? number(words[at + 3]).value_or(0) : 0};
  // Old versions print the largest relative error here.
  return t.wrong >= 1 ? fmt::format("nccl-tests reported {:.0f} wrong results in this row", t.wrong) : "";
}

std::string read_timings(std::vector<std::string> const& words, std::size_t at, Layout const& layout,
                         NcclRow& row) {
  row.root = layout.root == 1 ? number(words[at]) : std::nullopt;
  row.in_place.reset();
  at += layout.root;
  std::string error = read_timing(words, at, layout.columns, row.size, row.out_of_place);
  // Some collectives cannot run in place and print N/A there.
  if (error.empty() && layout.timings == 2 && words[at + layout.columns] != "N/A") {
    row.in_place.emplace();
    error = read_timing(words, at + layout.columns, layout.columns, row.size, *row.in_place);
  }
  return error;
}

}  // namespace

std::vector<std::string> log_words(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  auto const flush = [&] {
    if (!word.empty()) words.push_back(word);
    word.clear();
  };
  for (std::size_t i = 0; i < line.size(); ++i) {
    char const c = line[i];
    if (c == '\x1b') {  // up to the letter that ends the sequence
      flush();
      while (i + 1 < line.size() &&
             std::string_view("@ABCDEFGHJKSTfhlmnsu").find(line[i]) == std::string_view::npos)
        ++i;
    } else if (line.substr(i).starts_with("\xC2\xA0")) {  // no-break space
      flush();
      ++i;
    } else if (c == ' ' || c == '\t' || c == '|' || c == '>' || c == '\r') {
      flush();
    } else {
      word += c;
    }
  }
  flush();
  return words;
}

NcclRowResult nccl_row(std::vector<std::string> const& words) {
  std::size_t i = 0;
  while (i + 2 < words.size() &&
         !(is_whole(words[i]) && is_whole(words[i + 1]) && one_of_list(kTypes, words[i + 2])))
    ++i;
  if (i + 2 >= words.size()) return {};
  NcclRowResult result;
  result.found = true;
  NcclRow row;
  row.size = number(words[i]).value_or(0);
  row.dtype = words[i + 2];
  std::size_t at = i + 3;
  if (at < words.size() && one_of_list(kRedops, words[at])) row.redop = words[at++];
  for (Layout const& layout : layouts_of(words, at)) {
    std::string const error = read_timings(words, at, layout, row);
    if (error.empty()) {
      result.row = row;
      return result;
    }
    if (!result.error.empty()) continue;
    result.error = error;
    result.wrong = row.out_of_place.wrong >= 1 || (row.in_place && row.in_place->wrong >= 1);
  }
  if (result.error.empty())
    result.error = fmt::format("{} columns after the element type: the row is cut off or joined with another",
                               words.size() - i - 3);
  return result;
}

std::optional<NcclRank> nccl_rank(std::vector<std::string> const& words) {
  auto const rank = std::find(words.begin(), words.end(), "Rank");
  auto const on = std::find(rank, words.end(), "on");
  auto const device = std::find(on, words.end(), "device");
  if (device == words.end() || rank + 1 == on || on + 1 == device || !is_whole(*(rank + 1)))
    return std::nullopt;
  NcclRank r;
  r.rank = static_cast<int>(number(*(rank + 1)).value_or(0));
  r.host = *(on + 1);
  for (auto it = device + 1; it != words.end(); ++it) {
    if (!r.device.empty()) r.device += ' ';
    r.device += *it;
  }
  return r;
}

std::string nccl_version(std::vector<std::string> const& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "NCCL" && i + 2 < words.size() && words[i + 1] == "version") return words[i + 2];
    constexpr std::string_view kLibrary = "nccl-library=";
    if (words[i].starts_with(kLibrary) && is_whole(words[i].substr(kLibrary.size()))) {
      int const code = static_cast<int>(number(words[i].substr(kLibrary.size())).value_or(0));
      // 2.8 and older count 1000 to the major version.
      int const major = code < 10000 ? code / 1000 : code / 10000;
      int const minor = code < 10000 ? code / 100 % 10 : code / 100 % 100;
      return fmt::format("{}.{}.{}", major, minor, code % 100);
    }
  }
  return {};
}

std::string nccl_test_name(std::vector<std::string> const& words) {
  for (std::string const& word : words) {
    auto const end = word.find("_perf");
    if (end == std::string::npos || end == 0) continue;
    auto const begin = word.find_last_not_of("abcdefghijklmnopqrstuvwxyz_", end - 1);
    std::string const name = word.substr(begin == std::string::npos ? 0 : begin + 1,
                                         end - (begin == std::string::npos ? 0 : begin + 1));
    for (std::string_view const known :
         {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "alltoall", "sendrecv", "reduce",
          "gather", "scatter", "hypercube"}) {
      if (name == known) return name;
    }
  }
  return {};
}

}  // namespace rollcast
