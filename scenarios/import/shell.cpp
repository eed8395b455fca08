#include "scenarios/import/shell.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "scenarios/import/expansion.hpp"
#include "scenarios/import/shell_branches.hpp"
#include "scenarios/import/shell_condition.hpp"

namespace rollcast {
namespace {

constexpr int kDeepestSource = 4;
constexpr std::size_t kMostCommands = 10'000;

struct Assignment {
  std::string name;
  std::vector<Word> value;
  bool append = false;
};

struct Heredoc {
  std::string delimiter;
  bool strip_tabs = false;
};

class Shell {
 public:
  Shell(Document& d, ScriptOptions const& options, Variables& variables, Script& out, int source, int depth)
      : d_(d), options_(options), variables_(variables), out_(out), source_(source), depth_(depth) {
    for (std::string const& line : d.sources[static_cast<std::size_t>(source)].lines) {
      starts_.push_back(text_.size());
      text_ += line;
      text_ += '\n';
    }
  }

  void run() {
    while (at_ < text_.size() && ok_ && out_.commands.size() < kMostCommands) step();
    end_command("\n");
  }

 private:
  Mark mark_of(std::size_t at) const {
    auto const it = std::upper_bound(starts_.begin(), starts_.end(), at);
    auto const line = static_cast<int>(it - starts_.begin());
    return {source_, line,
            line > 0 ? static_cast<int>(at - starts_[static_cast<std::size_t>(line - 1)]) + 1 : 1};
  }

  void fail(std::size_t at, std::string const& what) {
    ok_ = false;
    d_.problems.push_back(problem_at(d_, mark_of(at), "", what, "close it"));
  }

  void step() {
    char const c = text_[at_];
    if (c == ' ' || c == '\t') {
      ++at_;
    } else if (c == '\\' && text_.compare(at_, 2, "\\\n") == 0) {
      at_ += 2;
    } else if (c == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (c == '\n') {
      ++at_;
      take_heredocs();
      end_command("\n");
    } else if (c == '<' || c == '>') {
      redirection();
    } else if (c == '&' && text_.compare(at_, 2, "&>") == 0) {
      ++at_;
    } else if (std::string_view(";&|()").find(c) != std::string_view::npos) {
      separator(c);
    } else {
      word();
    }
  }

  void separator(char c) {
    if (c == '(' && text_.compare(at_, 2, "((") == 0) {
      std::size_t const end = text_.find("))", at_);
      if (end == std::string::npos) return fail(at_, "'((' is not closed");
      words_.push_back({"((", mark_of(at_), "((...))"});
      at_ = end + 2;
      return;
    }
    bool const twice = at_ + 1 < text_.size() && text_[at_ + 1] == c && (c == '&' || c == '|' || c == ';');
    std::string const op(twice ? 2 : 1, c);
    at_ += op.size();
    end_command(op);
  }

  void redirection() {
    // The 2 of 2>&1 is no argument.
    bool const number = !words_.empty() && !words_.back().text.empty() &&
                        words_.back().text.find_first_not_of("0123456789") == std::string::npos;
    if (number && at_ > 0 && text_[at_ - 1] == words_.back().text.back()) words_.pop_back();
    if (text_.compare(at_, 2, "<<") == 0 && text_.compare(at_, 3, "<<<") != 0) {
      at_ += 2;
      Heredoc h;
      if (at_ < text_.size() && text_[at_] == '-') {
        h.strip_tabs = true;
        ++at_;
      }
      h.delimiter = target().text;
      if (!h.delimiter.empty()) heredocs_.push_back(h);
      return;
    }
    while (at_ < text_.size() && std::string_view("<>&|").find(text_[at_]) != std::string_view::npos) ++at_;
    target();
  }

  Word target() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
    WordBuilder b(false);
    b.start(mark_of(at_));
    if (!read_into(b)) return {};
    return b.take_one();
  }

  bool read_into(WordBuilder& b) {
    std::size_t const before = at_;
    WordEnd const end = read_word(text_, at_, variables_, b);
    if (!end.unclosed.empty()) {
      fail(end.unclosed_at,
           end.unclosed == "quote" ? "a quote that is not closed" : "'" + end.unclosed + "' is not closed");
      return false;
    }
    at_ = end.at;
    return at_ > before;
  }

  static bool declares(std::string_view word) {
    for (std::string_view w : {"export", "declare", "local", "readonly", "typeset", "env"}) {
      if (word == w) return true;
    }
    return false;
  }

  // Only before the words of a command, after words that declare, and after if, then and the like.
  bool may_assign() const {
    return std::all_of(words_.begin(), words_.end(), [](Word const& w) {
      return declares(w.text) || is_keyword(w.text) || (!w.text.empty() && w.text.front() == '-');
    });
  }

  void word() {
    if (may_assign() && assignment()) return;
    WordBuilder b(true);
    b.start(mark_of(at_));
    if (!read_into(b)) {
      if (ok_) ++at_;
      return;
    }
    for (Word& w : b.take()) {
      if (words_.size() < kMostWords) words_.push_back(std::move(w));
    }
  }

  bool assignment() {
    std::size_t i = at_;
    if (!starts_name(text_[i])) return false;
    while (i < text_.size() && continues_name(text_[i])) ++i;
    Assignment a;
    a.name = text_.substr(at_, i - at_);
    if (i < text_.size() && text_[i] == '+') {
      a.append = true;
      ++i;
    }
    if (i >= text_.size() || text_[i] != '=') return false;
    std::size_t const start = at_;
    at_ = i + 1;
    if (at_ < text_.size() && text_[at_] == '(') {
      if (!array(a.value, start)) return true;
    } else {
      WordBuilder b(false);
      b.start(mark_of(at_));
      read_into(b);
      a.value = {b.take_one()};
    }
    assignments_.push_back(std::move(a));
    return true;
  }

  bool array(std::vector<Word>& items, std::size_t start) {
    ++at_;
    while (at_ < text_.size()) {
      char const c = text_[at_];
      if (c == ')') {
        ++at_;
        return true;
      }
      if (c == ' ' || c == '\t' || c == '\n') {
        ++at_;
      } else if (c == '\\' && text_.compare(at_, 2, "\\\n") == 0) {
        at_ += 2;
      } else if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else {
        WordBuilder b(true);
        b.start(mark_of(at_));
        if (!read_into(b)) {
          if (!ok_) return false;
          ++at_;
          continue;
        }
        for (Word& w : b.take()) {
          if (items.size() < kMostWords) items.push_back(std::move(w));
        }
      }
    }
    fail(start, "'(' is not closed");
    return false;
  }

  // The lines up to each delimiter; their words are kept for 'read NAME'.
  void take_heredocs() {
    heredoc_words_.clear();
    for (Heredoc const& h : heredocs_) {
      while (at_ < text_.size()) {
        std::size_t const end = text_.find('\n', at_);
        std::string_view line = std::string_view(text_).substr(at_, end - at_);
        std::size_t const start = at_;
        at_ = end + 1;
        std::string_view bare = line;
        while (h.strip_tabs && bare.starts_with('\t')) bare.remove_prefix(1);
        if (bare == h.delimiter) break;
        for (std::size_t i = 0; i < line.size();) {
          std::size_t const from = line.find_first_not_of(" \t", i);
          if (from == std::string_view::npos) break;
          i = std::min(line.find_first_of(" \t", from), line.size());
          std::string_view const piece = line.substr(from, i - from);
          if (piece != "\\" && heredoc_words_.size() < kMostWords)
            heredoc_words_.push_back(expand(piece, variables_, mark_of(start + from)));
        }
      }
    }
    heredocs_.clear();
  }

  static bool is_keyword(std::string_view w) {
    for (std::string_view k : {"if", "then", "elif", "else", "fi", "do", "done", "while", "until", "!", "{",
                               "}", "time", "nohup", "exec"}) {
      if (w == k) return true;
    }
    return false;
  }

  // if, then, else and their kin at the front of a command.
  void control() {
    while (!words_.empty()) {
      Word const& w = words_.front();
      if (!branches_.keyword(w.text) && !is_keyword(w.text)) return;
      if (w.text == "!") negated_ = !negated_;
      if (branches_.guessed()) {
        out_.remarks.push_back(fmt::format(
            "line {}: a condition that cannot be known; its first branch is read", std::max(1, w.mark.line)));
      }
      words_.erase(words_.begin());
    }
  }

  void end_command(std::string const& op) {
    control();
    bool const skipped = (previous_op_ == "&&" && previous_ == std::optional(false)) ||
                         (previous_op_ == "||" && previous_ == std::optional(true));
    bool const something = !words_.empty() || !assignments_.empty();
    std::optional<bool> result = previous_;
    if (something && !skipped) result = execute();
    if (negated_ && !skipped && result) result = !*result;
    negated_ = false;
    if (something) branches_.result(result, previous_, previous_op_, skipped);
    if (something || op != "\n") {
      previous_ = result;
      previous_op_ = op;
    }
    words_.clear();
    assignments_.clear();
    heredoc_words_.clear();
  }

  std::optional<bool> execute() {
    if (!branches_.active()) return std::nullopt;
    bool const declared = !words_.empty() && declares(words_.front().text);
    if (words_.empty() || (declared && words_.front().text != "env")) {
      for (Assignment& a : assignments_) assign(a);
      return words_.empty() ? std::nullopt : std::optional(true);
    }
    std::string const& name = words_.front().text;
    if (is_test(name)) return test_result(words_);
    if (name == "read") return read_heredoc();
    if (name == "for") return loop();
    if (name == "source" || name == ".") return source();
    Command c;
    for (Assignment const& a : assignments_) {
      Word w = a.value.empty() ? Word{} : a.value.front();
      w.text = a.name + "=" + w.text;
      c.environment.push_back(std::move(w));
    }
    c.words = words_;
    out_.commands.push_back(std::move(c));
    return std::nullopt;
  }

  void assign(Assignment& a) {
    auto const it = variables_.find(a.name);
    if (!a.append || it == variables_.end()) {
      variables_.insert_or_assign(a.name, Variable{std::move(a.value), false});
      return;
    }
    for (Word& w : a.value) {
      if (it->second.items.size() < kMostWords) it->second.items.push_back(std::move(w));
    }
  }

  std::optional<bool> read_heredoc() {
    std::string const& name = words_.back().text;
    if (!heredoc_words_.empty() && !name.empty() && starts_name(name.front()))
      variables_.insert_or_assign(name, Variable{heredoc_words_, true});
    return std::nullopt;
  }

  // for NAME in A B: the body is read once, with A.
  std::optional<bool> loop() {
    if (words_.size() < 2) return std::nullopt;
    std::size_t const in = words_.size() > 2 && words_[2].text == "in" ? 3 : 2;
    std::vector<Word> value;
    if (words_.size() > in) value.push_back(words_[in]);
    variables_.insert_or_assign(words_[1].text, Variable{std::move(value), false});
    if (words_.size() > in + 1) {
      out_.remarks.push_back(
          fmt::format("line {}: a loop, read once with its first value", std::max(1, words_[0].mark.line)));
    }
    return std::nullopt;
  }

  std::optional<bool> source() {
    if (words_.size() < 2 || depth_ >= kDeepestSource) return std::nullopt;
    std::string name = words_[1].text;
    // "$SCRIPT_DIR/models/x.sh": the folder of the script is what a command tells.
    if (!words_[1].unset.empty()) name.erase(0, name.find_first_not_of('/'));
    std::filesystem::path const path = std::filesystem::path(options_.folder) / name;
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error)) {
      out_.remarks.push_back(fmt::format("line {}: '{}' is not beside the script; what it sets is not known",
                                         std::max(1, words_[0].mark.line), shown(name)));
      return std::nullopt;
    }
    Document other = read_lines(path.string());
    auto const index = static_cast<int>(d_.sources.size());
    d_.problems.insert(d_.problems.end(), other.problems.begin(), other.problems.end());
    d_.sources.push_back(std::move(other.sources.front()));
    if (other.problems.empty()) Shell(d_, options_, variables_, out_, index, depth_ + 1).run();
    return true;
  }

  Document& d_;
  ScriptOptions const& options_;
  Variables& variables_;
  Script& out_;
  int source_ = 0;
  int depth_ = 0;
  std::string text_;
  std::vector<std::size_t> starts_;
  std::size_t at_ = 0;
  bool ok_ = true;
  std::vector<Word> words_;
  std::vector<Assignment> assignments_;
  std::vector<Heredoc> heredocs_;
  std::vector<Word> heredoc_words_;
  Branches branches_;
  bool negated_ = false;  // '!' before a command
  std::optional<bool> previous_;
  std::string previous_op_;
};

}  // namespace

Script read_script(Document& d, ScriptOptions const& options) {
  Script out;
  if (!d.problems.empty()) return out;
  Variables variables;
  for (auto const& [name, value] : options.defines) variables[name] = {{Word{value, {}, ""}}, false};
  Shell(d, options, variables, out, 0, 0).run();
  return out;
}

}  // namespace rollcast
