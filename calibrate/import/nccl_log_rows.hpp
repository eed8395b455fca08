// The parts of an nccl-tests log, line by line, before anything is concluded from them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rollcast {

// Words of a line: colour codes, tabs, quotes of a reply ("> ") and the bars of a pasted table are blanks.
std::vector<std::string> log_words(std::string_view line);

struct NcclTiming {
  double time_us = 0;
  double algbw = 0;  // GB/s
  double busbw = 0;
  double wrong = 0;  // elements found wrong; 0 where the row does not tell
};

struct NcclRow {
  double size = 0;  // bytes
  std::string dtype;
  std::string redop;  // "" where the row has none
  std::optional<double> root;
  NcclTiming out_of_place;
  std::optional<NcclTiming> in_place;
};

struct NcclRowResult {
  bool found = false;  // the line holds the start of a row: two whole numbers and an element type
  std::optional<NcclRow> row;
  std::string error;   // why a row that was found cannot be read
  bool wrong = false;  // it can, but nccl-tests found wrong results
};
NcclRowResult nccl_row(std::vector<std::string> const& words);

// "#  Rank  3 Group  0 Pid  77 on  node-1 device  3 [0x1b] NVIDIA H100 80GB HBM3"
struct NcclRank {
  int rank = 0;
  std::string host;
  std::string device;
};
std::optional<NcclRank> nccl_rank(std::vector<std::string> const& words);

// "2.18.5+cuda12.2" of "NCCL version 2.18.5+cuda12.2", "2.27.3" of "nccl-library=22703"; else empty.
std::string nccl_version(std::vector<std::string> const& words);

// "all_reduce" of a word such as "./build/all_reduce_perf"; empty where no word names a test.
std::string nccl_test_name(std::vector<std::string> const& words);

}  // namespace rollcast
