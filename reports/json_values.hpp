// Values in the JSON that commands write: numbers as nine_digits() has them, null where nothing is known.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "models/units.hpp"
#include "reports/json.hpp"

namespace rollcast {

inline nlohmann::ordered_json number(double v) { return nine_digits(v); }
inline nlohmann::ordered_json number(Seconds s) { return nine_digits(s.value); }
inline nlohmann::ordered_json number(std::optional<double> const& v) {
  return v ? number(*v) : nlohmann::ordered_json();
}

// Bytes are whole; below 2^63 they are written as such.
inline nlohmann::ordered_json whole(Bytes b) {
  double const v = nine_digits(b.value);
  return std::fabs(v) < 9e18 ? nlohmann::ordered_json(std::llround(v)) : nlohmann::ordered_json(v);
}

// Null for a text that is empty.
inline nlohmann::ordered_json or_null(std::string const& text) {
  return text.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(text);
}

}  // namespace rollcast
