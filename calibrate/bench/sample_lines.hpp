// The lines of a samples file as the benchmark programs write them, one by one: a run that is stopped leaves
// what it has measured. `rollcast calibrate fit` and `check` read them.
//
//   # rollcast samples 1
//   # gpu: NVIDIA H100 80GB HBM3
//   operation,variant,dtype,shape,seconds,spread,gpu,version,fabric,source
//   gemm,,bf16,4096x4096x4096,0.000187,0.004,,"cuda 13.0, cublasLt 130000",,rollcast_bench_gemm
//
// gpu of a row is empty: the header's holds. version stands in every row, so that rows of several programs
// can stand in one file.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "calibrate/bench/statistics.hpp"

namespace rollcast {

struct Measured {
  std::string operation;      // with its dimensions: calibrate/sample.hpp
  std::string variant;        // "" where there is one only
  std::string dtype;          // bf16, fp8, fp32
  std::vector<double> shape;  // whole numbers
  Spread time;                // of one execution
  std::string fabric = "";    // catalog name, of a collective on several nodes
  std::string version = "";   // software, the header's "versions"
  std::string source = "";    // program that measured
};

// Mark, "# key: value" lines (line breaks of a value become blanks) and the names of the columns.
std::string header_lines(std::vector<std::pair<std::string, std::string>> const& header);

// seconds: the median, nine significant digits; spread: (p90 - p10) / median, empty where it is 0. Texts
// with a comma or a quote are quoted.
std::string row_line(Measured const& m);

// "# text": readers skip it.
std::string remark_line(std::string const& text);

}  // namespace rollcast
