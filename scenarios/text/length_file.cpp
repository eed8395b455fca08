#include "scenarios/text/length_file.hpp"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "scenarios/problem.hpp"

namespace rollcast {
namespace {
constexpr std::uintmax_t kLargestFile = 16 << 20;
constexpr std::size_t kMostLengths = 1'000'000;

std::string_view trimmed(std::string_view s) {
  auto const first = s.find_first_not_of(" \t\r,");
  if (first == std::string_view::npos) return {};
  return s.substr(first, s.find_last_not_of(" \t\r,") - first + 1);
}
}  // namespace

LengthFile read_length_file(std::string const& path, std::string const& folder) {
  namespace fs = std::filesystem;
  fs::path const full = fs::path(path).is_absolute() ? fs::path(path) : fs::path(folder) / path;
  auto const refuse = [&](std::string const& why) {
    return LengthFile{{}, fmt::format("{}: {}", shown(full.string()), why)};
  };
  std::error_code error;
  if (!fs::is_regular_file(full, error)) return refuse("there is no such file");
  if (fs::file_size(full, error) > kLargestFile) return refuse("the file is larger than 16 MiB");
  std::ifstream in(full);
  if (!in) return refuse("cannot be opened");
  LengthFile result;
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    std::string_view const text = trimmed(line);
    if (text.empty()) continue;
    int tokens = 0;
    auto const [end, code] = std::from_chars(text.data(), text.data() + text.size(), tokens);
    bool const good = code == std::errc() && end == text.data() + text.size() && tokens >= 1;
    if (!good && result.tokens.empty() && number == 1) continue;  // a header
    if (!good)
      return refuse(fmt::format("line {}: '{}' is not a length of at least 1 token", number, shown(text)));
    result.tokens.push_back(tokens);
    if (result.tokens.size() > kMostLengths) return refuse("more than one million lengths");
  }
  if (result.tokens.empty()) return refuse("no lengths in it");
  return result;
}

}  // namespace rollcast
