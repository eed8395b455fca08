// What the command line offers, as a manual page and as completion scripts: read off the parser, so that
// they cannot differ from it. Pure.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace rollcast {

// troff source of rollcast(1).
std::string manual_page(CLI::App const& app);

enum class Shell { bash, zsh, fish };

// A script that completes commands, options and file names.
std::string completion_script(CLI::App const& app, Shell shell);

}  // namespace rollcast
