#include "scenarios/import/arithmetic.hpp"

#include <cctype>
#include <limits>

namespace rollcast {
namespace {

using Number = std::optional<std::int64_t>;

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_digit(c); }

Number apply(char op, std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  bool overflow = false;
  switch (op) {
    case '+':
      overflow = __builtin_add_overflow(a, b, &out);
      break;
    case '-':
      overflow = __builtin_sub_overflow(a, b, &out);
      break;
    case '*':
      overflow = __builtin_mul_overflow(a, b, &out);
      break;
    default:
      if (b == 0 || (b == -1 && a == std::numeric_limits<std::int64_t>::min())) return {};
      out = op == '/' ? a / b : a % b;
  }
  return overflow ? Number{} : Number{out};
}

Number power(std::int64_t base, std::int64_t exponent) {
  if (exponent < 0 || exponent > 64) return {};
  Number out = 1;
  for (std::int64_t i = 0; i < exponent && out; ++i) out = apply('*', *out, base);
  return out;
}

class Parser {
 public:
  Parser(std::string_view text, std::function<Number(std::string_view)> const& value_of)
      : text_(text), value_of_(value_of) {}

  Number whole() {
    Number const v = sum();
    skip();
    return at_ == text_.size() ? v : Number{};
  }

 private:
  void skip() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  }
  char peek() {
    skip();
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  Number sum() {
    Number left = product();
    while (left && (peek() == '+' || peek() == '-')) {
      char const op = text_[at_++];
      Number const right = product();
      left = right ? apply(op, *left, *right) : Number{};
    }
    return left;
  }

  Number product() {
    Number left = factor();
    while (left && (peek() == '*' || peek() == '/' || peek() == '%')) {
      char const op = text_[at_++];
      Number const right = factor();
      left = right ? apply(op, *left, *right) : Number{};
    }
    return left;
  }

  Number factor() {
    Number const base = unary();
    if (!base || text_.substr(at_, 2) != "**") return base;
    at_ += 2;
    Number const exponent = unary();
    return exponent ? power(*base, *exponent) : Number{};
  }

  Number unary() {
    if (++depth_ > 64) return {};
    Number const v = primary();
    --depth_;
    skip();
    return v;
  }

  Number primary() {
    char const c = peek();
    if (c == '-' || c == '+') {
      ++at_;
      Number const v = unary();
      return v && c == '-' ? apply('-', 0, *v) : v;
    }
    if (c == '(') {
      ++at_;
      Number const v = sum();
      if (peek() != ')') return {};
      ++at_;
      return v;
    }
    if (c == '$') ++at_;
    if (at_ < text_.size() && text_[at_] == '{') {
      std::size_t const close = text_.find('}', at_);
      if (close == std::string_view::npos) return {};
      std::string_view const name = text_.substr(at_ + 1, close - at_ - 1);
      at_ = close + 1;
      return value_of_(name);
    }
    std::size_t const start = at_;
    while (at_ < text_.size() && is_name(text_[at_])) ++at_;
    std::string_view const word = text_.substr(start, at_ - start);
    if (word.empty()) return {};
    return is_digit(word.front()) ? number(word) : value_of_(word);
  }

  static Number number(std::string_view word) {
    Number out = 0;
    for (char c : word) {
      if (!is_digit(c) || !out) return {};
      out = apply('*', *out, 10);
      if (out) out = apply('+', *out, c - '0');
    }
    return out;
  }

  std::string_view text_;
  std::function<Number(std::string_view)> const& value_of_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

std::optional<std::int64_t> arithmetic(
    std::string_view text,
    std::function<std::optional<std::int64_t>(std::string_view name)> const& value_of) {
  return Parser(text, value_of).whole();
}

}  // namespace rollcast
