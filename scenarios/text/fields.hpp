// One description of each struct drives reading, --explain, defaults and SCHEMA.md:
//
//   void describe(Fields& f, Parallel& p) {
//     f.integer("tp", p.tp, {1, 65536}, "tensor-parallel ranks");
//     ...
//   }
//
// A Fields is either reading (a map of a document into the struct; the value that the struct already holds is
// the default) or listing (rows of the schema; the struct holds the defaults). Reading never stops at the
// first problem: unknown key (with the nearest known one), wrong type, missing unit, out of range, not
// simulated yet. A value with a problem leaves the struct's member as it was.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "models/hardware.hpp"
#include "models/units.hpp"
#include "scenarios/scenario.hpp"
#include "scenarios/text/document.hpp"

namespace rollcast {

// low <= value <= high; above_low: low < value.
struct Range {
  double low = 0;
  double high = 1e300;
  bool above_low = false;
};
constexpr Range kPositive{0, 1e18, true};  // in bytes they fit into 64 bits
constexpr Range kNotNegative{0, 1e18, false};
constexpr Range kCount{1, 2e9, false};

struct SchemaRow {
  std::string key;
  std::string type;      // "whole number", "bytes (80 GiB)", "one of a, b"
  std::string fallback;  // default, "" when there is none
  std::string meaning;
  bool required = false;
  bool simulated = true;
};

// A reading stops noting problems here: nobody reads more.
constexpr std::size_t kMostProblems = 200;

// What one reading collects.
struct Reading {
  Document const& document;
  std::vector<Problem>& problems;
  std::vector<Origin> origins;
  std::map<std::string, Mark, std::less<>> marks;  // key -> where it was given
  // Every key of the language, to say where a misplaced one belongs; may be null.
  std::vector<SchemaRow> const& (*all_keys)() = nullptr;
};

class Fields {
 public:
  // Reads the entries of `map` (nullptr or not a map: none). path: "" or "train.parallel". at: where to say
  // that a required key is missing. from: origin of values that the map does not give.
  Fields(Reading& reading, Value const* map, std::string path, Mark at, std::string from);
  // Lists.
  Fields(std::vector<SchemaRow>& rows, std::string path);

  void integer(std::string_view key, int& v, Range range, std::string_view meaning);
  void integer(std::string_view key, std::int64_t& v, Range range, std::string_view meaning);
  void number(std::string_view key, double& v, Range range, std::string_view meaning);
  void flag(std::string_view key, bool& v, std::string_view meaning);
  void text(std::string_view key, std::string& v, std::string_view meaning);
  void quantity(std::string_view key, Bytes& v, Range range, std::string_view meaning);
  void quantity(std::string_view key, Seconds& v, Range range, std::string_view meaning);
  void quantity(std::string_view key, BytesPerSecond& v, Range range, std::string_view meaning);
  void quantity(std::string_view key, FlopsPerSecond& v, Range range, std::string_view meaning);

  template <class E>
  void choice(std::string_view key, E& v, std::vector<E> const& all, std::string_view meaning) {
    std::vector<std::string_view> names;
    std::size_t index = 0;
    for (E e : all) {
      if (e == v) index = names.size();
      names.push_back(name_of(e));
    }
    choose(key, index, names, meaning);
    v = all[index];
  }
  // A list of different names out of `allowed`.
  void names(std::string_view key, std::vector<std::string>& v, std::vector<std::string_view> const& allowed,
             std::string_view meaning);

  // A map of its own.
  void group(std::string_view key, std::string_view meaning, std::function<void(Fields&)> const& describe);
  // The same, read only when the key is there; present tells which.
  bool optional_group(std::string_view key, std::string_view meaning,
                      std::function<void(Fields&)> const& describe);

  // Anything else: read is called with the value where the key is present; it reports through problem() and
  // origin().
  void custom(std::string_view key, std::string_view type, std::string_view fallback,
              std::string_view meaning, std::function<void(Value const&)> const& read);

  // A key of the language without a model yet: present is an error that says so.
  void later(std::string_view key, std::string_view meaning);
  // A known key that is not read now: in no listing, but no misspelling either.
  void allow(std::string_view key) { known_.emplace_back(key); }
  // A known key that must not stand here: present is an error that says why.
  void forbid(std::string_view key, std::string_view why);
  // A known key that must stand here; remedy: "write for example prompts: 64".
  void require(std::string_view key, std::string_view remedy);

  bool has(std::string_view key) const;
  bool by_hand(std::string_view key) const;  // it stands here, and not by the preset
  bool listing() const { return rows_ != nullptr; }
  std::string path_of(std::string_view key) const;
  Reading& reading() const { return *reading_; }
  // notes: where single values come from, by key or "*"; must outlive the Fields.
  void set_from(std::string from, std::vector<SourceNote> const* notes = nullptr) {
    from_ = std::move(from);
    notes_ = notes;
  }
  std::vector<SchemaRow>& rows() const { return *rows_; }

  void problem(Mark mark, std::string_view key, std::string what, std::string remedy);
  void problem_here(Mark mark, std::string what, std::string remedy);  // of the map itself
  Mark mark_of(std::string_view key) const;  // of its value; where the map stands when the key is not there
  void origin(std::string_view key,
              std::string value);  // from the document where the key is there, else from()

  // The last origin, unless the document gave the value, follows from other values.
  void derived(std::string_view key);

  // Reports the keys of the map that nothing has asked for and the required ones that are not there. Call
  // once, after the last field.
  void finish();

 private:
  std::string known_elsewhere(std::string_view key, std::vector<std::string_view> const& here) const;
  Value const* take(std::string_view key, std::string_view type, std::string fallback,
                    std::string_view meaning);
  // The scalar of `key`, nullptr when it is absent or of another kind (which is reported).
  Value const* take_scalar(std::string_view key, std::string_view type, std::string_view expected,
                           std::string fallback, std::string_view meaning);
  void choose(std::string_view key, std::size_t& index, std::vector<std::string_view> const& names,
              std::string_view meaning);
  template <class Q>
  void read_quantity(std::string_view key, Q& v, Range range, std::string_view meaning,
                     std::string_view type);

  struct Missing {
    std::string key;
    std::string remedy;
  };

  Reading* reading_ = nullptr;
  std::vector<SchemaRow>* rows_ = nullptr;
  Value const* map_ = nullptr;
  std::string path_;
  Mark at_;
  std::string from_;
  std::vector<SourceNote> const* notes_ = nullptr;
  std::vector<std::string> known_;
  std::vector<Missing> missing_;
};

// A number of the text of a scalar; no value and a sentence when it is none. "1e400" is too large, "nan" no
// number.
struct NumberText {
  bool ok = false;
  double value = 0;
  std::string error;
};
NumberText parse_number(Value const& scalar);
NumberText parse_whole_number(Value const& scalar);

// "between 1 and 8", "at least 1", "above 0": how a message names a range.
std::string words_of(Range range);
bool holds(Range range, double v);

}  // namespace rollcast
