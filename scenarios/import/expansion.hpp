// The words of a shell: quotes taken off, variables put in, cut at white space where nothing is quoted.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/import/shell.hpp"

namespace rollcast {

struct Variable {
  std::vector<Word> items;  // of an array; else one
  bool text = false;        // the items are the words of one text
};
using Variables = std::map<std::string, Variable, std::less<>>;

// What an array that nothing sets adds to its name in Word::unset.
constexpr std::string_view kAll = "[@]";

// A word that grows beyond this is cut: a script that doubles a variable again and again is no configuration.
constexpr std::size_t kLongestWord = 1 << 16;
constexpr std::size_t kMostWords = 10'000;

enum class Quoting { none, in_quotes };

// Words under construction: what is read may be part of a word, one word, several, or none.
class WordBuilder {
 public:
  explicit WordBuilder(bool split) : split_(split) {}

  void start(Mark mark);
  void add(char c);
  void add_text(std::string_view text);  // of quotes: never cut
  void add_value(std::vector<Word> const& items, Quoting quoting);
  void add_unset(std::string_view name);
  std::vector<Word> take();
  // All that was added as one word, items of an array with a space between them.
  Word take_one();

 private:
  void push();

  bool split_ = true;
  bool open_ = false;
  Mark mark_;
  Word word_;
  std::vector<Word> done_;
};

// Where reading a word stopped, or what is not closed ("quote", "${", "$(").
struct WordEnd {
  std::size_t at = 0;
  std::string unclosed;  // empty: well
  std::size_t unclosed_at = 0;
};

// Reads one word of `text` from `at` on, up to white space or one of ;&|()<> outside quotes.
WordEnd read_word(std::string_view text, std::size_t at, Variables const& variables, WordBuilder& out);

// "a ${B:-c} d" with the variables put in, as inside double quotes.
Word expand(std::string_view text, Variables const& variables, Mark mark);

bool starts_name(char c);
bool continues_name(char c);

}  // namespace rollcast
