#include "calibrate/import/dtypes.hpp"

namespace rollcast {

std::string dtype_named(std::string_view text) {
  if (text == "bfloat16") return "bf16";
  if (text == "half" || text == "float16") return "fp16";
  if (text == "float" || text == "float32") return "fp32";
  if (text == "double" || text == "float64") return "fp64";
  if (text.starts_with("fp8_e") || text.starts_with("f8e") || text.starts_with("float8")) return "fp8";
  return std::string(text);
}

double bytes_of_dtype(std::string_view dtype) {
  if (dtype == "fp8" || dtype == "fp8_block" || dtype == "int8" || dtype == "uint8") return 1;
  if (dtype == "bf16" || dtype == "fp16") return 2;
  if (dtype == "fp32" || dtype == "int32" || dtype == "uint32") return 4;
  if (dtype == "fp64" || dtype == "int64" || dtype == "uint64") return 8;
  return 0;
}

}  // namespace rollcast
