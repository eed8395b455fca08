// Names of GPUs as logs and folders write them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rollcast {

// Catalog name of the GPU that a text names: "NVIDIA H100 80GB HBM3", "a100_sxm", "A100-40GB SXM4",
// "h100-sxm". An "H100" or "A100" without form is the SXM one, an A100 without size the 80 GB one. Empty when
// the text names none.
std::string gpu_named_in(std::string_view text);

// The same of the folders and the name of a file, the last that names one: ".../h100_sxm/gemm/x.csv".
std::string gpu_of_path(std::string_view path);

// Parts of a path, the file's name last.
std::vector<std::string> parts_of_path(std::string_view path);

}  // namespace rollcast
