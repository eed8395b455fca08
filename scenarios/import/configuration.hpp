// What an importer works on: the settings of a configuration, asked one by one, and the scenario that comes
// of them. Each setting asked for counts as used; a value of the wrong kind, or with a variable that nothing
// sets, is a problem and reads as absent.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/import/draft.hpp"
#include "scenarios/import/import.hpp"
#include "scenarios/import/settings.hpp"
#include "scenarios/text/fields.hpp"

namespace rollcast {

constexpr Range kWholeCount{1, 1e9, false};
constexpr Range kFromZero{0, 1e12, false};
constexpr Range kAnyWhole{-1e12, 1e12, false};
constexpr Range kShare{0, 1, true};

// a x b x ... of positive numbers, at most 1e15: what is larger is refused when the scenario is read.
std::int64_t product(std::initializer_list<std::int64_t> factors);

class Configuration {
 public:
  Configuration(Document& its_document, FrameworkKind its_framework, ImportOptions const& its_options,
                std::string its_folder)
      : document(its_document),
        framework(its_framework),
        options(its_options),
        folder(std::move(its_folder)) {}

  std::optional<std::int64_t> whole(std::string_view key, Range range = kWholeCount);
  std::optional<double> number(std::string_view key, Range range = kFromZero);
  std::optional<bool> flag(std::string_view key);
  std::optional<std::string> text(std::string_view key);
  std::vector<std::string> list(std::string_view key);
  // A name or path, of which the last part is enough.
  std::optional<std::string> path(std::string_view key);

  // The same with the framework's default, which is listed as assumed.
  std::int64_t whole_or(std::string_view key, std::int64_t fallback, Range range = kWholeCount);
  double number_or(std::string_view key, double fallback, Range range = kFromZero);
  bool flag_or(std::string_view key, bool fallback);
  std::string text_or(std::string_view key, std::string_view fallback);
  // Absent reads as false, without a word: a switch that is not thrown.
  bool on(std::string_view key) { return flag(key).value_or(false); }

  bool has(std::string_view key) const;
  void use(std::vector<std::string> const& keys);  // known, of no effect on a forecast
  void use_below(std::string_view key);            // a part that is switched off

  void assume(std::string_view what, std::string_view why);
  // At a setting; at the file as a whole where it is absent.
  void problem(std::string_view key, std::string what, std::string remedy);

  Document& document;
  FrameworkKind framework;
  ImportOptions const& options;
  std::string folder;
  std::string entry;  // the program that is launched: "verl.trainer.main_ppo"; empty: a configuration alone
  std::string model;  // as the draft has it
  Settings settings;
  Settings launcher;              // flags of torchrun, accelerate or deepspeed before the program
  std::vector<Command> commands;  // all of the script
  std::vector<Word> environment;  // of the launch command
  Draft draft;
  std::vector<std::string> assumed;
  std::vector<Problem> problems;

 private:
  // The resolved text of a setting, marked as used; nothing where it is absent, null or not known.
  std::optional<std::string> value(std::string_view key, Setting*& s);
  void wrong(Setting const& s, std::string const& found, std::string remedy);
};

}  // namespace rollcast
