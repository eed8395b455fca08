// The tests of a shell, [ a = b ], as far as their words are known.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "scenarios/import/shell.hpp"

namespace rollcast {

// "[", "[[" and "test".
bool is_test(std::string_view command);

// -z, -n, = == != -eq -ne -lt -le -gt -ge, a lone word, and ! before one of them. No value: files, patterns,
// several tests in one, variables that nothing sets (but for -z and -n, where they are empty).
std::optional<bool> test_result(std::vector<Word> const& words);

}  // namespace rollcast
