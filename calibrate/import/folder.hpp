// Every measured file of a folder, by what its header says it is.
#pragma once

#include <string>
#include <vector>

#include "calibrate/import/imported.hpp"

namespace rollcast {

// What was read as what.
struct ImportedFile {
  std::string path;
  std::string kind;  // "aiconfigurator gemm"; "" for a file that is none of the known kinds
  std::size_t samples = 0;
};

struct ImportResult {
  Imported imported;
  std::vector<ImportedFile> files;  // in the order of their paths; those below a folder only where known
};

// Names of the kinds, for messages.
std::vector<std::string> import_kinds();

// A text as if it stood in `source.path`. kind "" where it is not known. Points whose shape there cannot be
// (shape_problem) are skipped.
ImportedFile import_text(SourceText const& source, Imported& out);

// A file or a folder with all its sub-folders, names that start with a dot left out. A path that is not
// there, a single file of no known kind, a file over 512 MiB is a problem. Files of no known kind below a
// folder are passed over. Same files, same result, whatever the order of the folder.
void import_path(std::string const& path, ImportHints const& hints, ImportResult& result);

}  // namespace rollcast
