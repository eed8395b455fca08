#include "scenarios/text/fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <span>

namespace rollcast {
namespace {

std::string_view name_of(ValueKind kind) {
  switch (kind) {
    case ValueKind::null:
      return "nothing";
    case ValueKind::scalar:
      return "a single value";
    case ValueKind::list:
      return "a list";
    case ValueKind::map:
      return "a map";
  }
  return "";
}

std::string const* source_of(std::vector<SourceNote> const& notes, std::string_view key) {
  SourceNote const* general = nullptr;
  for (SourceNote const& n : notes) {
    if (n.field == key) return &n.source;
    if (n.field == "*") general = &n;
  }
  return general == nullptr ? nullptr : &general->source;
}

std::string list_text(std::vector<std::string> const& v) { return fmt::format("[{}]", fmt::join(v, ", ")); }

}  // namespace

NumberText parse_number(Value const& scalar) {
  if (scalar.quoted) return {false, 0, fmt::format("the text '{}' in place of a number", shown(scalar.text))};
  std::string const& t = scalar.text;
  double v = 0;
  char const* first = t.data() + (t.size() > 1 && t[0] == '+' && t[1] != '-' ? 1 : 0);
  auto const [end, error] = std::from_chars(first, t.data() + t.size(), v);
  if (error == std::errc::result_out_of_range)
    return {false, 0, fmt::format("{} is too large or too small", shown(t))};
  if (error != std::errc() || end != t.data() + t.size() || !std::isfinite(v)) {
    return {false, 0, fmt::format("'{}' is not a number", shown(t))};
  }
  return {true, v, {}};
}

NumberText parse_whole_number(Value const& scalar) {
  NumberText n = parse_number(scalar);
  if (n.ok && std::fabs(n.value - std::round(n.value)) > 0)
    return {false, 0, fmt::format("{} is not a whole number", shown(scalar.text))};
  return n;
}

std::string words_of(Range range) {
  if (range.high < 1e300)
    return fmt::format(
        "{} {} and {}", range.above_low ? "above" : "between", range.low,
        range.above_low ? fmt::format("at most {}", range.high) : fmt::format("{}", range.high));
  return fmt::format("{} {}", range.above_low ? "above" : "at least", range.low);
}

bool holds(Range range, double v) {
  return (range.above_low ? v > range.low : v >= range.low) && v <= range.high;
}

Fields::Fields(Reading& reading, Value const* map, std::string path, Mark at, std::string from)
    : reading_(&reading),
      map_(map != nullptr && map->kind == ValueKind::map ? map : nullptr),
      path_(std::move(path)),
      at_(at),
      from_(std::move(from)) {}

Fields::Fields(std::vector<SchemaRow>& rows, std::string path) : rows_(&rows), path_(std::move(path)) {}

std::string Fields::path_of(std::string_view key) const {
  return path_.empty() ? std::string(key) : path_ + "." + std::string(key);
}

bool Fields::has(std::string_view key) const { return map_ != nullptr && find(*map_, key) != nullptr; }

void Fields::problem(Mark mark, std::string_view key, std::string what, std::string remedy) {
  if (reading_->problems.size() >= kMostProblems) return;
  reading_->problems.push_back(
      problem_at(reading_->document, mark, path_of(shown(key)), std::move(what), std::move(remedy)));
}

void Fields::problem_here(Mark mark, std::string what, std::string remedy) {
  if (reading_->problems.size() >= kMostProblems) return;
  reading_->problems.push_back(
      problem_at(reading_->document, mark, path_, std::move(what), std::move(remedy)));
}

Mark Fields::mark_of(std::string_view key) const {
  Entry const* e = map_ == nullptr ? nullptr : find(*map_, key);
  return e == nullptr ? at_ : e->value.mark;
}

void Fields::origin(std::string_view key, std::string value) {
  if (listing()) return;
  std::string path = path_of(key);
  auto const mark = reading_->marks.find(path);
  bool const given = mark != reading_->marks.end();
  std::string from = given ? place_of(reading_->document, mark->second) : from_;
  std::string const* source = given || notes_ == nullptr ? nullptr : source_of(*notes_, key);
  if (source != nullptr) from += ": " + *source;
  reading_->origins.push_back({std::move(path), std::move(value), std::move(from)});
}

void Fields::derived(std::string_view key) {
  if (!listing() && !has(key)) reading_->origins.back().from = "derived";
}

Value const* Fields::take(std::string_view key, std::string_view type, std::string fallback,
                          std::string_view meaning) {
  if (listing()) {
    rows_->push_back(
        {path_of(key), std::string(type), std::move(fallback), std::string(meaning), false, true});
    return nullptr;
  }
  known_.emplace_back(key);
  Entry const* e = map_ == nullptr ? nullptr : find(*map_, key);
  if (e == nullptr) return nullptr;
  reading_->marks.insert_or_assign(path_of(key),
                                   e->value.kind == ValueKind::scalar ? e->value.mark : e->mark);
  if (e->value.kind == ValueKind::null) {
    problem(e->mark, key, "has no value", fmt::format("write a value ({}), or remove the key", type));
    return nullptr;
  }
  return &e->value;
}

Value const* Fields::take_scalar(std::string_view key, std::string_view type, std::string_view expected,
                                 std::string fallback, std::string_view meaning) {
  Value const* v = take(key, type, std::move(fallback), meaning);
  if (v == nullptr || v->kind == ValueKind::scalar) return v;
  problem(v->mark, key, fmt::format("{} in place of {}", name_of(v->kind), expected),
          fmt::format("write {}", expected));
  return nullptr;
}

void Fields::integer(std::string_view key, std::int64_t& v, Range range, std::string_view meaning) {
  Value const* s =
      take_scalar(key, "whole number", "a whole number",
                  listing() && holds(range, static_cast<double>(v)) ? fmt::format("{}", v) : "", meaning);
  if (s != nullptr) {
    NumberText const n = parse_whole_number(*s);
    if (!n.ok) {
      problem(s->mark, key, n.error, fmt::format("write a whole number {}", words_of(range)));
    } else if (!holds(range, n.value)) {
      problem(s->mark, key, fmt::format("{} is out of range", shown(s->text)),
              fmt::format("write a whole number {}", words_of(range)));
    } else {
      v = static_cast<std::int64_t>(n.value);
    }
  }
  origin(key, fmt::format("{}", v));
}

void Fields::integer(std::string_view key, int& v, Range range, std::string_view meaning) {
  std::int64_t wide = v;
  range.high = std::min(range.high, 2e9);
  integer(key, wide, range, meaning);
  v = static_cast<int>(wide);
}

void Fields::number(std::string_view key, double& v, Range range, std::string_view meaning) {
  Value const* s = take_scalar(key, "number", "a number",
                               listing() && holds(range, v) ? fmt::format("{}", v) : "", meaning);
  if (s != nullptr) {
    NumberText const n = parse_number(*s);
    if (!n.ok) {
      problem(s->mark, key, n.error, fmt::format("write a number {}", words_of(range)));
    } else if (!holds(range, n.value)) {
      problem(s->mark, key, fmt::format("{} is out of range", shown(s->text)),
              fmt::format("write a number {}", words_of(range)));
    } else {
      v = n.value;
    }
  }
  origin(key, fmt::format("{}", v));
}

void Fields::flag(std::string_view key, bool& v, std::string_view meaning) {
  Value const* s = take_scalar(key, "true or false", "true or false", v ? "true" : "false", meaning);
  if (s != nullptr) {
    if (s->text == "true" || s->text == "false") {
      v = s->text == "true";
    } else {
      problem(s->mark, key, fmt::format("'{}' is neither true nor false", shown(s->text)),
              "write true or false");
    }
  }
  origin(key, v ? "true" : "false");
}

void Fields::text(std::string_view key, std::string& v, std::string_view meaning) {
  Value const* s = take_scalar(key, "text", "a text", v, meaning);
  if (s != nullptr) v = s->text;
  origin(key, v);
}

template <class Q>
void Fields::read_quantity(std::string_view key, Q& v, Range range, std::string_view meaning,
                           std::string_view type) {
  Value const* s = take_scalar(key, type, type, listing() && holds(range, v.value) ? format(v) : "", meaning);
  if (s != nullptr) {
    Parsed<Q> const q = parse_quantity<Q>(s->text);
    if (!q.value) {
      // The reason quotes the text, which may be long.
      bool const readable = s->text.size() <= 60;
      problem(s->mark, key, readable ? q.error : fmt::format("'{}' is no quantity", shown(s->text)),
              fmt::format("write {}", type));
    } else if (!holds(range, q.value->value)) {
      problem(s->mark, key, fmt::format("{} is out of range", shown(s->text)),
              fmt::format("write a value {} and at most {}", range.above_low ? "above 0" : "of at least 0",
                          format(Q(range.high))));
    } else {
      v = *q.value;
    }
  }
  if (!listing()) origin(key, format(v));
}

void Fields::quantity(std::string_view key, Bytes& v, Range range, std::string_view meaning) {
  read_quantity(key, v, range, meaning, "bytes, as in 80 GiB");
}
void Fields::quantity(std::string_view key, Seconds& v, Range range, std::string_view meaning) {
  read_quantity(key, v, range, meaning, "a time, as in 0.5 s");
}
void Fields::quantity(std::string_view key, BytesPerSecond& v, Range range, std::string_view meaning) {
  read_quantity(key, v, range, meaning, "a rate, as in 400 Gb/s");
}
void Fields::quantity(std::string_view key, FlopsPerSecond& v, Range range, std::string_view meaning) {
  read_quantity(key, v, range, meaning, "a rate, as in 989 TFLOP/s");
}

void Fields::choose(std::string_view key, std::size_t& index, std::vector<std::string_view> const& names,
                    std::string_view meaning) {
  Value const* s = take_scalar(key, "one of " + one_of(names), "one of " + one_of(names),
                               std::string(names[index]), meaning);
  if (s != nullptr) {
    auto const it = std::find(names.begin(), names.end(), s->text);
    if (it != names.end()) {
      index = static_cast<std::size_t>(it - names.begin());
    } else {
      std::string_view const near = nearest(s->text, names);
      problem(s->mark, key, fmt::format("there is no '{}'", shown(s->text)),
              near.empty() ? "write " + one_of(names)
                           : fmt::format("did you mean {}? (one of {})", near, one_of(names)));
    }
  }
  origin(key, std::string(names[index]));
}

void Fields::names(std::string_view key, std::vector<std::string>& v,
                   std::vector<std::string_view> const& allowed, std::string_view meaning) {
  std::string const type = "list of " + one_of(allowed);
  Value const* s = take(key, type, listing() && !v.empty() ? list_text(v) : "", meaning);
  if (s != nullptr && s->kind != ValueKind::list) {
    problem(s->mark, key, fmt::format("{} in place of a list", name_of(s->kind)),
            fmt::format("write for example [{}]", allowed.front()));
  } else if (s != nullptr) {
    std::vector<std::string> read;
    bool good = true;
    for (Value const& item : s->items) {
      std::string_view const name = item.text;
      bool const known =
          item.kind == ValueKind::scalar && std::find(allowed.begin(), allowed.end(), name) != allowed.end();
      bool const repeated = known && std::find(read.begin(), read.end(), name) != read.end();
      if (!known || repeated) {
        std::string_view const near = known ? std::string_view() : nearest(name, allowed);
        problem(
            item.mark, key,
            repeated ? fmt::format("{} stands twice", name) : fmt::format("there is no '{}'", shown(name)),
            repeated       ? "keep one"
            : near.empty() ? "write " + one_of(allowed)
                           : fmt::format("did you mean {}?", near));
        good = false;
      } else {
        read.emplace_back(name);
      }
    }
    if (s->items.empty()) problem(s->mark, key, "an empty list", "name at least one of " + one_of(allowed));
    if (good && !read.empty()) v = std::move(read);
  }
  if (!listing()) origin(key, list_text(v));
}

bool Fields::optional_group(std::string_view key, std::string_view meaning,
                            std::function<void(Fields&)> const& describe) {
  Value const* v = take(key, "map", "", meaning);
  if (listing()) {
    Fields inner(*rows_, path_of(key));
    describe(inner);
    return false;
  }
  if (v == nullptr) return false;
  if (v->kind != ValueKind::map) {
    problem(v->mark, key, fmt::format("{} in place of a map", name_of(v->kind)),
            fmt::format("write {}: {{key: value, ...}}", key));
    return false;
  }
  Fields inner(*reading_, v, path_of(key), find(*map_, key)->mark, from_);
  inner.notes_ = notes_;
  describe(inner);
  inner.finish();
  return true;
}

void Fields::group(std::string_view key, std::string_view meaning,
                   std::function<void(Fields&)> const& describe) {
  if (optional_group(key, meaning, describe) || listing() || has(key)) return;
  Fields inner(*reading_, nullptr, path_of(key), at_, from_);
  inner.notes_ = notes_;
  describe(inner);
}

void Fields::custom(std::string_view key, std::string_view type, std::string_view fallback,
                    std::string_view meaning, std::function<void(Value const&)> const& read) {
  Value const* v = take(key, type, std::string(fallback), meaning);
  if (v != nullptr) read(*v);
}

void Fields::later(std::string_view key, std::string_view meaning) {
  if (listing()) {
    rows_->push_back({path_of(key), "", "", std::string(meaning), false, false});
    return;
  }
  known_.emplace_back(key);
  Entry const* e = map_ == nullptr ? nullptr : find(*map_, key);
  if (e != nullptr) problem(e->mark, key, fmt::format("not simulated yet ({})", meaning), "remove the key");
}

bool Fields::by_hand(std::string_view key) const {
  Entry const* const e = map_ == nullptr ? nullptr : find(*map_, key);
  if (e == nullptr) return false;
  return reading_->document.sources[static_cast<std::size_t>(e->mark.source)].kind != SourceKind::preset;
}

void Fields::forbid(std::string_view key, std::string_view why) {
  if (listing()) return;
  known_.emplace_back(key);
  if (Entry const* e = map_ == nullptr ? nullptr : find(*map_, key)) {
    problem(e->mark, key, std::string(why), "remove the key");
  }
}

void Fields::require(std::string_view key, std::string_view remedy) {
  if (listing()) {
    std::string const path = path_of(key);
    for (SchemaRow& row : *rows_) {
      if (row.key == path) row.required = true;
    }
  } else if (!has(key)) {
    missing_.push_back({std::string(key), std::string(remedy)});
  }
}

std::string Fields::known_elsewhere(std::string_view key, std::vector<std::string_view> const& here) const {
  std::string_view best;
  if (reading_->all_keys != nullptr) {
    for (SchemaRow const& row : reading_->all_keys()) {
      std::string_view const full = row.key;
      if (full.substr(full.rfind('.') + 1) != key) continue;
      bool const below = full.size() > path_.size() && full.substr(0, path_.size()) == path_;
      if (best.empty() || below) best = full;
      if (below) break;
    }
  }
  return best.empty() ? "the keys here are " + one_of(here) : fmt::format("did you mean {}?", best);
}

void Fields::finish() {
  if (listing()) return;
  std::vector<std::string_view> known;
  for (std::string const& key : known_) {  // a forbidden key is read, too
    if (std::find(known.begin(), known.end(), key) == known.end()) known.emplace_back(key);
  }
  std::vector<std::string_view> meant;
  std::span<Entry const> const entries =
      map_ == nullptr ? std::span<Entry const>() : std::span(map_->entries);
  for (Entry const& e : entries) {
    if (std::find(known.begin(), known.end(), e.key) != known.end()) continue;
    std::string_view const near = nearest(e.key, known);
    meant.push_back(near);
    // {fixed:1} is one word to YAML.
    std::size_t const colon = e.key.find(':');
    if (colon != std::string::npos && e.value.kind == ValueKind::null) {
      problem(e.mark, e.key, "one word to YAML, not a key and its value",
              fmt::format("write a blank after the colon: '{}: {}'", shown(e.key.substr(0, colon)),
                          shown(e.key.substr(colon + 1))));
      meant.push_back(std::string_view(e.key).substr(0, colon));
      continue;
    }
    problem(e.mark, e.key, "unknown key",
            near.empty() ? known_elsewhere(e.key, known) : fmt::format("did you mean {}?", near));
  }
  // A required key that was misspelt is one mistake, not two.
  for (Missing const& m : missing_) {
    if (std::find(meant.begin(), meant.end(), m.key) == meant.end())
      problem(at_, m.key, "is missing", m.remedy);
  }
}

}  // namespace rollcast
