// Output files that survive a kill: written beside the target, then renamed over it.
#pragma once

#include <string>

namespace rollcast {

// Returns an empty string, or one sentence that names the path and the cause ("cannot write out.json: No
// space left on device"); the target is then untouched and no partial file remains. path "-" writes to
// standard output.
std::string write_file(std::string const& path, std::string const& content);

}  // namespace rollcast
