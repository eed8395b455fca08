// Names of element types as frameworks write them.
#pragma once

#include <string>
#include <string_view>

namespace rollcast {

// "bfloat16" -> "bf16", "half" -> "fp16", "float" -> "fp32", "fp8_e4m3" -> "fp8"; others as they are.
std::string dtype_named(std::string_view text);

// Bytes of one element of a Sample::dtype; 0 for one that is not known.
double bytes_of_dtype(std::string_view dtype);

}  // namespace rollcast
