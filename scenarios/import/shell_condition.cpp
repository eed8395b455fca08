#include "scenarios/import/shell_condition.hpp"

#include <charconv>
#include <cstdint>

namespace rollcast {
namespace {

std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t v = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return {};
  return v;
}

std::optional<bool> compare(std::string_view op, std::int64_t a, std::int64_t b) {
  if (op == "-eq") return a == b;
  if (op == "-ne") return a != b;
  if (op == "-lt") return a < b;
  if (op == "-le") return a <= b;
  if (op == "-gt") return a > b;
  if (op == "-ge") return a >= b;
  return {};
}

std::optional<bool> binary(Word const& a, std::string_view op, Word const& b) {
  if (!a.unset.empty() || !b.unset.empty()) return {};
  bool const pattern = b.text.find_first_of("*?") != std::string::npos;
  if (op == "=" || op == "==" || op == "!=") {
    if (pattern) return {};
    return (a.text == b.text) == (op != "!=");
  }
  auto const x = number(a.text);
  auto const y = number(b.text);
  return x && y ? compare(op, *x, *y) : std::nullopt;
}

}  // namespace

bool is_test(std::string_view command) { return command == "[" || command == "[[" || command == "test"; }

std::optional<bool> test_result(std::vector<Word> const& words) {
  std::size_t first = 1;
  std::size_t last = words.size();
  if (last > first && (words[last - 1].text == "]" || words[last - 1].text == "]]")) --last;
  bool negated = false;
  if (last > first && words[first].text == "!") {
    negated = true;
    ++first;
  }
  std::optional<bool> result;
  std::size_t const n = last - first;
  if (n == 1 && words[first].unset.empty()) {
    result = !words[first].text.empty();
  } else if (n == 2 && words[first].text == "-z") {
    result = words[first + 1].text.empty();
  } else if (n == 2 && words[first].text == "-n") {
    result = !words[first + 1].text.empty();
  } else if (n == 3) {
    result = binary(words[first], words[first + 1].text, words[first + 2]);
  }
  return result ? std::optional(*result != negated) : result;
}

}  // namespace rollcast
