// Golden files: reports whose every byte is kept under tests/golden/.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

namespace rollcast {

// Compares with tests/golden/<name>. A report that is meant to change: read the new text in the failure, then
// write it into the file.
inline void expect_golden(std::string const& text, std::string const& name) {
  std::ifstream in(std::string(ROLLCAST_SOURCE_DIR) + "/tests/golden/" + name, std::ios::binary);
  ASSERT_TRUE(in) << "tests/golden/" << name << " is missing";
  std::ostringstream golden;
  golden << in.rdbuf();
  EXPECT_EQ(text, golden.str());
}

}  // namespace rollcast
