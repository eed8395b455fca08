// The command line as a whole: all verbs, help, and what a wrong one is told.
#pragma once

namespace rollcast {

// Runs the verb that the arguments name; returns the exit code of the program. Help and version go to
// standard output (0); a command line that is not understood is answered in one sentence on standard error
// (2).
int run_command_line(int argc, char const* const* argv);

}  // namespace rollcast
