#include "scenarios/import/shell_branches.hpp"

#include <algorithm>

namespace rollcast {

bool Branches::keyword(std::string_view word) {
  guessed_ = false;
  if (word == "if") {
    open_.push_back({true, false, false, std::nullopt, true});
    return true;
  }
  if (word != "then" && word != "elif" && word != "else" && word != "fi") return false;
  if (open_.empty()) return true;
  Branch& b = open_.back();
  if (word == "fi") {
    open_.pop_back();
  } else if (word == "then" && b.condition) {
    bool const read = active();
    b.condition = false;
    b.taken = !b.done && b.value.value_or(true);
    guessed_ = read && !b.value;
  } else if (word == "elif") {
    b = {true, false, b.done || b.taken, std::nullopt, true};
  } else if (word == "else") {
    b.taken = !b.done && !b.taken;
    b.done = true;
  }
  return true;
}

bool Branches::active() const { return std::all_of(open_.begin(), open_.end(), is_read); }

void Branches::result(std::optional<bool> r, std::optional<bool> before, std::string_view op, bool skipped) {
  if (open_.empty() || !open_.back().condition) return;
  Branch& b = open_.back();
  // One side alone decides when it is false before &&, or true before ||.
  bool const needs_both =
      (op == "&&" && r != std::optional(false)) || (op == "||" && r != std::optional(true));
  b.value = !b.first && !skipped && needs_both && !before ? std::nullopt : r;
  b.first = false;
}

}  // namespace rollcast
