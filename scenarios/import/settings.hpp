// What a configuration sets, in whichever way it is written: one name, one value, one place.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/import/shell.hpp"
#include "scenarios/text/document.hpp"

namespace rollcast {

struct Setting {
  std::string key;                  // "actor_rollout_ref.rollout.n"; "micro_train_batch_size"; empty: erased
  std::string written;              // as in the file: "--micro-train-batch-size"
  std::vector<std::string> values;  // none: a flag alone
  bool null = false;
  Mark mark;          // of the value
  std::string unset;  // a variable in it that nothing sets
  bool used = false;
};

// Later settings of a key replace earlier ones, as in every one of the frameworks.
class Settings {
 public:
  void add(Setting s);
  void add_all(Settings const& later);
  void erase(std::string_view key);  // and all keys below it
  Setting* find(std::string_view key);
  Setting const* find(std::string_view key) const;
  // Whether any key is `prefix` or lies below it.
  bool has_below(std::string_view prefix) const;
  std::vector<Setting> const& all() const { return settings_; }  // in order of the file
  std::vector<Setting>& all() { return settings_; }

 private:
  std::vector<Setting> settings_;
  std::map<std::string, std::size_t, std::less<>> index_;
};

// --flag, --flag value ..., --flag=value: dashes of a name become underscores. Words before the first flag
// are left out. `from`: index of the first word.
void add_flags(std::vector<Word> const& all, std::size_t from, Settings& out);

// key=value, +key=value, ++key=value; ~key removes it. A value is YAML as far as [a, b], quotes and null go.
void add_overrides(std::vector<Word> const& words, std::size_t from, Settings& out);

// The leaves of a YAML tree, as "a.b.c"; lists of scalars are one setting. A null drops what lies below its
// key.
void add_tree(Value const& v, std::string const& prefix, Settings& out);

// The first value of a setting with ${a.b}, ${.x}, ${oc.select:a.b,default} and ${mul:a, b} put in. Where
// that fails `unset` names the piece.
struct Resolved {
  std::string text;
  std::string unset;
};
Resolved resolve(Settings const& settings, Setting const& s);

}  // namespace rollcast
