// The version that `rollcast --version` prints; a test compares it with CMakeLists.txt.
#pragma once

namespace rollcast {

inline constexpr char const* kVersion = "0.1.0";

}  // namespace rollcast
