// Checks of option values, with messages that say what to write instead.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>

namespace rollcast {

CLI::Validator whole_number(std::uint64_t least, std::uint64_t most);

// A text that parse_quantity reads as bytes, more than 0.
CLI::Validator memory_size();

// A path to write to: not empty, and no option that was taken for one (as in --log= --quiet).
CLI::Validator output_path();

}  // namespace rollcast
