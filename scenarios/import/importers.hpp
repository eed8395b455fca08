// One importer per framework: fills the draft from the settings. Where c.entry is empty there is only a
// configuration.
#pragma once

#include <string_view>

#include "scenarios/import/configuration.hpp"

namespace rollcast {

void import_verl(Configuration& c);
void import_openrlhf(Configuration& c);
void import_trl(Configuration& c);
void import_slime(Configuration& c);
void import_nemo_rl(Configuration& c);

// Whether a word of a command is the framework's program (a module, a script, a verb).
bool is_verl_program(std::string_view word);
bool is_openrlhf_program(std::string_view word);
bool is_trl_program(std::string_view word);
bool is_slime_program(std::string_view word);
bool is_nemo_rl_program(std::string_view word);

}  // namespace rollcast
