// Our own file of measured points. What `rollcast calibrate import` writes and the benchmark programs print:
//
//   # rollcast samples 1
//   # measured_by: Jane Doe
//   # gpu: h100-sxm
//   # driver: 550.54
//   # versions: cuda 12.4, cublas 12.4.5
//   # date: 2026-01-31
//   operation,dtype,shape,seconds,variant,spread,gpu,version,fabric,source
//   gemm,bf16,4096x4096x4096,0.000187,,0.004,,,,
//
// The first line is the mark of the format. Header lines are "# key: value", any keys. The columns operation,
// dtype, shape and seconds are required, in any order; the others may be left out. shape: the dimensions of
// the operation (sample.hpp) in their order, joined by x. spread: (p90 - p10) / median of the repeats. An
// empty gpu or version is that of the header (`gpu`, `versions`), an empty source the file itself, an empty
// fabric of a collective on several nodes that of the hints.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "calibrate/import/imported.hpp"

namespace rollcast {

struct SampleFile {
  std::vector<std::pair<std::string, std::string>> header;  // key, value
  std::vector<Sample> samples;
};

// Seconds are written so that they read back to the same value.
std::string sample_text(SampleFile const& file);

bool is_sample_file(SourceText const& source);
void read_sample_file(SourceText const& source, Imported& out);

// The "# key: value" lines at the top of such a file.
std::vector<std::pair<std::string, std::string>> sample_header(std::string_view text);

}  // namespace rollcast
