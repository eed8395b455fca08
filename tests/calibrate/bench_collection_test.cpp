// Outputs of several benchmark programs in one samples file.
#include "calibrate/bench_collection.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "calibrate/bench/sample_lines.hpp"
#include "calibrate/import/folder.hpp"

namespace rollcast {
namespace {

std::size_t add_text(BenchCollection& c, std::string const& text) {
  c.begin_program();
  std::size_t rows = 0;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) rows += c.add(line) ? 1U : 0U;
  return rows;
}

std::string header(char const* versions) {
  return header_lines({{"gpu", "NVIDIA H200"}, {"driver", "570.86"}, {"versions", versions}});
}

TEST(BenchCollection, HeadersAreMergedAndRowsKept) {
  BenchCollection c;
  Measured gemm{"gemm", "", "bf16", {1, 2, 3}, spread_of({1e-6}), "", "cuda 13.0, cublasLt 1", "a"};
  Measured copy{"copy", "h2d", "", {4096}, spread_of({2e-6}), "", "cuda 13.0", "b"};
  std::string const first = header("cuda 13.0, cublasLt 1") + row_line(gemm);
  EXPECT_EQ(add_text(c, first), 1U);
  // A program alone: its file as it is.
  EXPECT_EQ(c.text(), first);
  EXPECT_EQ(add_text(c, header("cuda 13.0") + remark_line("SM 1980 MHz: fine") + row_line(copy)), 1U);
  EXPECT_EQ(c.rows(), 2U);
  EXPECT_EQ(c.value("gpu"), "NVIDIA H200");
  EXPECT_EQ(c.value("versions"), "cuda 13.0, cublasLt 1; cuda 13.0");
  EXPECT_EQ(c.value("no such"), "");
  EXPECT_EQ(c.text(), header("cuda 13.0, cublasLt 1; cuda 13.0") + row_line(gemm) +
                          remark_line("SM 1980 MHz: fine") + row_line(copy));

  Imported read;
  std::string const text = c.text();
  import_text({"s.csv", "s.csv", text, {}}, read);
  EXPECT_EQ(format(read.problems), "");
  ASSERT_EQ(read.samples.size(), 2U);
  EXPECT_EQ(read.samples[0].version, "cuda 13.0, cublasLt 1");
  EXPECT_EQ(read.samples[1].version, "cuda 13.0");
  EXPECT_EQ(read.samples[1].gpu, "h200-sxm");
}

TEST(BenchCollection, AValueIsListedOnce) {
  BenchCollection c;
  add_text(c, header("cuda 13.0"));
  add_text(c, header("cuda 13.0, cudnn 9"));
  add_text(c, header("cuda 13.0"));
  EXPECT_EQ(c.value("versions"), "cuda 13.0; cuda 13.0, cudnn 9");
  EXPECT_EQ(c.rows(), 0U);
}

}  // namespace
}  // namespace rollcast
