// What the folders of a table say about its rows: <gpu>/.../<framework>/<version>/<file>.
#pragma once

#include <map>
#include <string>

#include "calibrate/import/imported.hpp"
#include "calibrate/import/table.hpp"

namespace rollcast {

// "vllm 0.24.0" from the columns framework and version where there are, else from the two folders.
std::string stack_of(SourceText const& source, TableReader const& row);

// From the column device, the hints, or the path. A row without a GPU becomes a problem.
std::string gpu_of(SourceText const& source, TableReader& row);

// KERNELS.csv: number -> name. Empty where no folder above the file has one.
std::map<std::string, std::string> kernel_names(SourceText const& source);

}  // namespace rollcast
