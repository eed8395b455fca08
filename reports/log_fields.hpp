// One record of a saved event log, field by field.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "models/units.hpp"

namespace rollcast {

// Of a record that is none; read_log turns it into a value.
struct BadRecord {
  std::string what;
};

// One record, field by field.
class LogFields {
 public:
  using Json = nlohmann::ordered_json;
  static constexpr std::int64_t kLargestCount = 1'000'000'000'000'000;
  static constexpr std::int64_t kLargestIndex = 1'000'000'000;
  static constexpr double kLatestTime = 1e9;  // seconds; as nanoseconds it still fits into 64 bits
  static constexpr double kLargestNumber = 1e30;

  LogFields(Json const& list, std::string kind) : list_(list), kind_(std::move(kind)) {}

  Json const& next() {
    if (!list_.is_array() || next_ >= list_.size()) throw BadRecord{kind_ + " record is too short"};
    return list_[next_++];
  }
  bool has_next() const { return list_.is_array() && next_ < list_.size(); }
  std::string text() {
    Json const& j = next();
    if (!j.is_string()) fail("a text", j);
    return j.get<std::string>();
  }
  bool flag() {
    Json const& j = next();
    if (!j.is_boolean()) fail("true or false", j);
    return j.get<bool>();
  }
  // A whole number in [least, limit).
  std::int64_t whole(std::int64_t limit, char const* what, std::int64_t least = 0) {
    Json const& j = next();
    if (!j.is_number_integer() || (j.is_number_unsigned() && j.get<std::uint64_t>() > INT64_MAX))
      fail(what, j);
    auto const v = j.get<std::int64_t>();
    if (v < least || v >= limit) fail(what, j);
    return v;
  }
  int index(std::size_t size, char const* what) {
    return static_cast<int>(whole(static_cast<std::int64_t>(size), what));
  }
  int small(char const* what) { return static_cast<int>(whole(kLargestIndex, what)); }
  // Negative: of the warm-up.
  int step() { return static_cast<int>(whole(kLargestIndex, "a step", -kLargestIndex)); }
  std::int64_t count(char const* what) { return whole(kLargestCount, what); }
  double number(double low, double high) {
    Json const& j = next();
    if (!j.is_number()) fail("a number", j);
    auto const v = j.get<double>();
    if (!(v >= low && v <= high)) fail(fmt::format("a number from {} to {}", low, high), j);
    return v;
  }
  double amount() { return number(0, kLargestNumber); }
  Seconds time() { return Seconds(number(0, kLatestTime)); }
  // Steps over a null, if that is what comes next.
  bool skip_null() {
    if (next_ >= list_.size() || !list_[next_].is_null()) return false;
    ++next_;
    return true;
  }
  template <class E>
  E name(E last, char const* what) {
    std::string const t = text();
    for (int i = 0; i <= static_cast<int>(last); ++i) {
      if (name_of(static_cast<E>(i)) == t) return static_cast<E>(i);
    }
    throw BadRecord{fmt::format("{} record: '{}' is no {}", kind_, t, what)};
  }
  void finish() const {
    if (next_ != list_.size()) throw BadRecord{kind_ + " record is too long"};
  }

 private:
  [[noreturn]] void fail(std::string const& wanted, Json const& got) const {
    std::string shown = got.dump(-1, ' ', true, Json::error_handler_t::replace);  // ASCII can be cut
    if (shown.size() > 40) shown.replace(37, std::string::npos, "...");
    throw BadRecord{fmt::format("{} record: field {} is {}, not {}", kind_, next_, shown, wanted)};
  }

  Json const& list_;
  std::string kind_;
  std::size_t next_ = 0;
};

}  // namespace rollcast
