#include "reports/value_list.hpp"

#include <fmt/format.h>

namespace rollcast {
namespace {

// A quote opens where a value may begin: "don't" has none.
bool may_open_quote(std::string_view text, std::size_t at) {
  return at == 0 || std::string_view(" \t,:=[{").find(text[at - 1]) != std::string_view::npos;
}

}  // namespace

Parsed<std::vector<std::string>> split_values(std::string_view text) {
  std::vector<std::string> values(1);
  std::string closing;  // of the brackets that are open
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    char const c = text[i];
    if (quote != 0) {
      if (c == quote) quote = 0;
      if (c == '\\' && quote == '"' && i + 1 < text.size()) values.back() += text[i++];
    } else if ((c == '"' || c == '\'') && may_open_quote(text, i)) {
      quote = c;
    } else if (c == '[' || c == '{') {
      closing += c == '[' ? ']' : '}';
    } else if (!closing.empty() && c == closing.back()) {
      closing.pop_back();
    } else if (c == ',' && closing.empty()) {
      values.emplace_back();
      continue;
    }
    values.back() += text[i];
  }
  if (quote != 0) return {std::nullopt, fmt::format("a {} is not closed", quote)};
  if (!closing.empty()) return {std::nullopt, fmt::format("a {} is missing", closing.back())};
  return {values, ""};
}

}  // namespace rollcast
