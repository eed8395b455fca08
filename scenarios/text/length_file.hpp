// Measured lengths from a file: one whole number of tokens per line, an optional header line, blank lines
// skipped.
#pragma once

#include <string>
#include <vector>

namespace rollcast {

struct LengthFile {
  std::vector<int> tokens;
  std::string error;  // names the file and the line; empty on success
};

// At most 16 MiB and one million lengths. A relative path is resolved against `folder`.
LengthFile read_length_file(std::string const& path, std::string const& folder);

}  // namespace rollcast
