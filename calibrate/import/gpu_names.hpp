// Names of GPUs as logs and folders write them.
#pragma once

#include <string>
#include <string_view>

namespace rollcast {

// Catalog name of the GPU that a text names: "NVIDIA H100 80GB HBM3", "a100_sxm", "A100-40GB SXM4",
// "h100-sxm". An "H100" or "A100" without form is the SXM one, an A100 without size the 80 GB one. Empty when
// the text names none.
std::string gpu_named_in(std::string_view text);

}  // namespace rollcast
