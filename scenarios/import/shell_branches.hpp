// Where a script stands among its ifs: which commands are read.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rollcast {

class Branches {
 public:
  // Takes if, then, elif, else and fi; false for every other word.
  bool keyword(std::string_view word);
  // Whether a command here is read: every if around it has its condition read now, or this branch taken.
  bool active() const;
  // The result of a command, which may be part of a condition. op: what stands between it and the one before
  // ("&&", "||", or anything else); skipped: it was not read for that.
  void result(std::optional<bool> r, std::optional<bool> before, std::string_view op, bool skipped);
  // Whether the last `then` followed a condition that nobody can know and whose first branch is read.
  bool guessed() const { return guessed_; }

 private:
  struct Branch {
    bool condition = false;  // it is being read
    bool taken = false;
    bool done = false;  // a branch of this if was taken
    std::optional<bool> value;
    bool first = true;  // no command of the condition was read
  };
  static bool is_read(Branch const& b) { return b.condition ? !b.done : b.taken; }

  std::vector<Branch> open_;
  bool guessed_ = false;
};

}  // namespace rollcast
