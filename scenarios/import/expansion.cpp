#include "scenarios/import/expansion.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "scenarios/import/arithmetic.hpp"

namespace rollcast {
namespace {

constexpr int kDeepest = 32;
constexpr int kMostExpressions = 1000;

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n'; }
bool ends_word(char c) {
  return is_space(c) || std::string_view(";&|()<>").find(c) != std::string_view::npos;
}

std::string joined(std::vector<Word> const& items, std::string& unset) {
  std::string out;
  for (Word const& w : items) {
    if (!out.empty()) out += ' ';
    out += w.text;
    if (unset.empty()) unset = w.unset;
    if (out.size() > kLongestWord) break;
  }
  return out;
}

// The end of a bracketed piece that opens at `at`; npos when it is not closed. Quotes inside are skipped.
std::size_t closing(std::string_view s, std::size_t at, char open, char close) {
  int depth = 0;
  for (std::size_t i = at; i < s.size(); ++i) {
    if (s[i] == '\\') {
      ++i;
    } else if (s[i] == '\'' || s[i] == '"') {
      std::size_t const end = s.find(s[i], i + 1);
      if (end == std::string_view::npos) return end;
      i = end;
    } else if (s[i] == open) {
      ++depth;
    } else if (s[i] == close && --depth == 0) {
      return i;
    }
  }
  return std::string_view::npos;
}

class Expander {
 public:
  explicit Expander(Variables const& variables) : variables_(variables) {}

  // A piece that begins with '$' at `at`; returns where it ends.
  WordEnd dollar(std::string_view s, std::size_t at, Quoting quoting, WordBuilder& out) {
    if (at + 1 >= s.size()) {
      out.add('$');
      return {at + 1, "", 0};
    }
    char const next = s[at + 1];
    if (next == '(') return parenthesis(s, at, out);
    if (next == '{') {
      std::size_t const end = closing(s, at + 1, '{', '}');
      if (end == std::string_view::npos) return {s.size(), "${", at};
      brace(s.substr(at + 2, end - at - 2), quoting, out);
      return {end + 1, "", 0};
    }
    if (starts_name(next)) {
      std::size_t end = at + 2;
      while (end < s.size() && continues_name(s[end])) ++end;
      value(s.substr(at + 1, end - at - 1), quoting, out);
      return {end, "", 0};
    }
    if ((next >= '0' && next <= '9') || std::string_view("@*#?!-$").find(next) != std::string_view::npos)
      return {at + 2, "", 0};  // positional arguments and the like: empty
    out.add('$');
    return {at + 1, "", 0};
  }

  Word whole(std::string_view text, Mark mark) {
    WordBuilder out(false);
    out.start(mark);
    if (++depth_ <= kDeepest) {
      for (std::size_t i = 0; i < text.size();) {
        if (text[i] == '$') {
          i = dollar(text, i, Quoting::in_quotes, out).at;
        } else if (text[i] == '\\' && i + 1 < text.size()) {
          out.add(text[i + 1]);
          i += 2;
        } else {
          if (text[i] != '"' && text[i] != '\'') out.add(text[i]);
          ++i;
        }
      }
    }
    --depth_;
    return out.take_one();
  }

 private:
  std::vector<Word> const* find(std::string_view name) const {
    auto const it = variables_.find(name);
    return it == variables_.end() ? nullptr : &it->second.items;
  }

  bool is_text(std::string_view name) const {
    auto const it = variables_.find(name);
    return it != variables_.end() && it->second.text;
  }

  void value(std::string_view name, Quoting quoting, WordBuilder& out) {
    if (auto const* items = find(name)) {
      // "$NAME" of an array is its first item.
      bool const all = items->empty() || is_text(name);
      out.add_value({items->begin(), all ? items->end() : items->begin() + 1}, quoting);
    } else {
      out.add_unset(name);
    }
  }

  std::optional<std::int64_t> number_of(std::string_view name) {
    std::size_t const colon = name.find_first_of(":-");
    auto const* items = find(name.substr(0, colon));
    std::string text = items != nullptr && !items->empty() && items->front().unset.empty()
                           ? items->front().text
                           : std::string();
    if (text.empty() && colon != std::string_view::npos) {
      std::size_t const word = name.find('-', colon);
      if (word != std::string_view::npos) text = name.substr(word + 1);
    }
    std::int64_t v = 0;
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
    if (error == std::errc() && end == text.data() + text.size() && !text.empty()) return v;
    // A variable may itself hold an expression.
    if (text.empty() || depth_ >= kDeepest || ++expressions_ > kMostExpressions) return {};
    ++depth_;
    auto const result = arithmetic(text, [this](std::string_view n) { return number_of(n); });
    --depth_;
    return result;
  }

  WordEnd parenthesis(std::string_view s, std::size_t at, WordBuilder& out) {
    std::size_t const end = closing(s, at + 1, '(', ')');
    if (end == std::string_view::npos) return {s.size(), "$(", at};
    std::string_view const inside = s.substr(at + 2, end - at - 2);
    if (inside.size() >= 2 && inside.front() == '(' && inside.back() == ')') {
      auto const v = arithmetic(inside.substr(1, inside.size() - 2),
                                [this](std::string_view name) { return number_of(name); });
      if (v) {
        out.add_text(std::to_string(*v));
      } else {
        out.add_unset("$((...))");
      }
    } else {
      out.add_unset("$(...)");
    }
    return {end + 1, "", 0};
  }

  // What stands between the braces of ${...}.
  void brace(std::string_view s, Quoting quoting, WordBuilder& out) {
    std::size_t end = 0;
    while (end < s.size() && continues_name(s[end])) ++end;
    std::string_view const name = s.substr(0, end);
    std::string_view rest = s.substr(end);
    if (name.empty()) {
      if (s.starts_with("#") || s.starts_with("!")) out.add_unset(s.substr(0, 40));
      return;  // ${@}, ${*}: empty
    }
    bool const positional = name.front() >= '0' && name.front() <= '9';
    auto const* items = positional ? nullptr : find(name);
    bool all = false;
    if (rest.starts_with("[")) {
      std::size_t const close = rest.find(']');
      if (close == std::string_view::npos) return out.add_unset(name);
      all = rest.substr(0, close + 1) == "[@]" || rest.substr(0, close + 1) == "[*]";
      rest.remove_prefix(close + 1);
    }
    if (rest.empty()) {
      if (positional) return;
      if (items == nullptr) return out.add_unset(std::string(name) + std::string(all ? kAll : ""));
      return all ? out.add_value(*items, quoting) : value(name, quoting, out);
    }
    operation(name, rest, items, positional, quoting, out);
  }

  void operation(std::string_view name, std::string_view rest, std::vector<Word> const* items,
                 bool positional, Quoting quoting, WordBuilder& out) {
    bool const colon = rest.front() == ':' && rest.size() > 1;
    char const op = colon ? rest[1] : rest.front();
    std::string_view const word = rest.substr(colon ? 2 : 1);
    std::string unset;
    std::string const text = items != nullptr ? joined(*items, unset) : std::string();
    bool const set = items != nullptr && (!colon || !text.empty() || !unset.empty());
    if (op == '-' || op == '=') {
      if (set) return out.add_value(*items, quoting);
      return out.add_value({whole(word, {})}, quoting);
    }
    if (op == '+') {
      if (set) out.add_value({whole(word, {})}, quoting);
      return;
    }
    if (op == '?' && set) return out.add_value(*items, quoting);
    if (items == nullptr && !positional) return out.add_unset(name);
    if (rest == "##*/") {
      std::size_t const slash = text.rfind('/');
      out.add_text(slash == std::string::npos ? text : std::string_view(text).substr(slash + 1));
    } else if (rest == "%/*") {
      out.add_text(std::string_view(text).substr(0, text.rfind('/')));
    } else if (rest == "%/") {
      out.add_text(text.ends_with('/') ? std::string_view(text).substr(0, text.size() - 1) : text);
    } else {
      return out.add_unset(name);
    }
    if (!unset.empty()) out.add_unset(unset);
  }

  Variables const& variables_;
  int depth_ = 0;
  int expressions_ = 0;
};

WordEnd double_quotes(std::string_view s, std::size_t at, Expander& expander, WordBuilder& out) {
  std::size_t i = at + 1;
  while (i < s.size() && s[i] != '"') {
    if (s[i] == '\\' && i + 1 < s.size()) {
      if (s[i + 1] != '\n') {
        if (std::string_view("$`\"\\").find(s[i + 1]) == std::string_view::npos) out.add('\\');
        out.add(s[i + 1]);
      }
      i += 2;
    } else if (s[i] == '$') {
      WordEnd const end = expander.dollar(s, i, Quoting::in_quotes, out);
      if (!end.unclosed.empty()) return end;
      i = end.at;
    } else if (s[i] == '`') {
      std::size_t const close = s.find('`', i + 1);
      if (close == std::string_view::npos) return {s.size(), "`", i};
      out.add_unset("`...`");
      i = close + 1;
    } else {
      out.add(s[i++]);
    }
  }
  if (i >= s.size()) return {s.size(), "quote", at};
  return {i + 1, "", 0};
}

}  // namespace

bool starts_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool continues_name(char c) { return starts_name(c) || (c >= '0' && c <= '9'); }

void WordBuilder::start(Mark mark) { mark_ = mark; }

void WordBuilder::push() {
  if (done_.size() < kMostWords) done_.push_back(std::move(word_));
  word_ = {};
  open_ = false;
}

void WordBuilder::add(char c) {
  if (!open_) word_.mark = mark_;
  open_ = true;
  if (word_.text.size() < kLongestWord) word_.text += c;
}

void WordBuilder::add_text(std::string_view text) {
  if (!open_) word_.mark = mark_;
  open_ = true;
  word_.text += text.substr(0, kLongestWord - std::min(kLongestWord, word_.text.size()));
}

void WordBuilder::add_unset(std::string_view name) {
  if (!open_) word_.mark = mark_;
  open_ = true;
  if (word_.unset.empty()) word_.unset = name;
}

void WordBuilder::add_value(std::vector<Word> const& items, Quoting quoting) {
  for (std::size_t k = 0; k < items.size(); ++k) {
    Word const& item = items[k];
    if (k > 0) {
      if (split_) {
        if (open_) push();
      } else {
        add(' ');
      }
    }
    if (quoting == Quoting::in_quotes || !split_) {
      add_text(item.text);
    } else {
      for (char c : item.text) {
        if (!is_space(c)) {
          add(c);
        } else if (open_) {
          push();
        }
      }
    }
    // An item of an array is shown where it is written.
    if (open_ && split_ && item.mark.line > 0 && items.size() > 1) word_.mark = item.mark;
    if (!item.unset.empty()) add_unset(item.unset);
  }
}

std::vector<Word> WordBuilder::take() {
  if (open_) push();
  return std::move(done_);
}

Word WordBuilder::take_one() {
  if (open_) push();
  if (done_.empty()) return Word{"", mark_, ""};
  return std::move(done_.front());
}

WordEnd read_word(std::string_view s, std::size_t at, Variables const& variables, WordBuilder& out) {
  Expander expander(variables);
  std::size_t i = at;
  while (i < s.size() && !ends_word(s[i])) {
    char const c = s[i];
    if (c == '\\') {
      if (i + 1 < s.size() && s[i + 1] != '\n') out.add(s[i + 1]);
      i = std::min(i + 2, s.size());
    } else if (c == '\'') {
      std::size_t const close = s.find('\'', i + 1);
      if (close == std::string_view::npos) return {s.size(), "quote", i};
      out.add_text(s.substr(i + 1, close - i - 1));
      i = close + 1;
    } else if (c == '"') {
      out.add_text("");
      WordEnd const end = double_quotes(s, i, expander, out);
      if (!end.unclosed.empty()) return end;
      i = end.at;
    } else if (c == '$' && s.substr(i, 2) == "$'") {
      std::size_t const close = s.find('\'', i + 2);
      if (close == std::string_view::npos) return {s.size(), "quote", i + 1};
      out.add_text(s.substr(i + 2, close - i - 2));
      i = close + 1;
    } else if (c == '$') {
      WordEnd const end = expander.dollar(s, i, Quoting::none, out);
      if (!end.unclosed.empty()) return end;
      i = end.at;
    } else if (c == '`') {
      std::size_t const close = s.find('`', i + 1);
      if (close == std::string_view::npos) return {s.size(), "`", i};
      out.add_unset("`...`");
      i = close + 1;
    } else {
      out.add(c);
      ++i;
    }
  }
  return {i, "", 0};
}

Word expand(std::string_view text, Variables const& variables, Mark mark) {
  return Expander(variables).whole(text, mark);
}

}  // namespace rollcast
