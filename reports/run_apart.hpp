// A piece of work in a child process: SimGrid allows one simulation per process, and what ends a child does
// not end this program.
#pragma once

#include <functional>
#include <string>

namespace rollcast {

struct ApartResult {
  std::string text;   // what `body` returned
  std::string error;  // why there is no text: an exception's message, or how the process ended
};

// Runs `body` in a fork of this process and waits for it. No thread but the caller's may be alive, and this
// process must not have simulated itself.
ApartResult run_apart(std::function<std::string()> const& body);

}  // namespace rollcast
