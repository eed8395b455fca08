// Whole-number arithmetic as in $((...)) of a shell.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

namespace rollcast {

// + - * / % ** ( ) of numbers and of names, which `value_of` knows or not. No value: a syntax error, an
// unknown name, a division by zero, a result beyond 64 bits, nesting over 64.
std::optional<std::int64_t> arithmetic(
    std::string_view text, std::function<std::optional<std::int64_t>(std::string_view name)> const& value_of);

}  // namespace rollcast
