// rollcast catalog presets [A] [B]
#pragma once

#include <CLI/CLI.hpp>

namespace rollcast {

// Without a name the frameworks; with one what it sets where a scenario does not, with sources; with two
// where they differ. --algorithm, --trainer and --mode choose the case; without them the usual one of A,
// that of both where there is one.
void add_presets_command(CLI::App& catalog, int& exit_code);

}  // namespace rollcast
