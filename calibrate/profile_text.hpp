// A profile as text: calibrate/profiles/*.yaml, written by `rollcast calibrate fit`.
//
//   name: "h100-sxm, vllm 0.24.0"
//   gpu: "h100-sxm"
//   stack: "vllm 0.24.0, nccl 2.29.2"
//   date: "2026-01-31"
//   operations:
//     - operation: "gemm"
//       dtype: "bf16"
//       basis: measured
//       software: "vllm 0.24.0"
//       source: "h100_sxm/gemm/vllm/0.24.0/gemm_perf.csv"
//       rows: 23621
//       heldout_rows: 5905
//       heldout_median: 0.0281
//       heldout_p90: 0.0934
//   numbers:
//     - number: "sustained_clock"
//       value: 0.88
//       source: "..."
//   tables:
//     - table: "gemm bf16"
//       text: |
//         ...
//       lines: 1234
//
// This is YAML, of which the reader knows only what the writer uses: the keys above, two blanks of
// indentation, texts in double quotes with \" and \\, numbers plain. That makes a text of 2 MB a matter of
// milliseconds. heldout_* are left out where no row was held out. The tables' texts are opaque here
// (measured_profile.hpp), but for their first line. `lines` counts those of the text and tells that it was
// not cut. A key, a number or a table that is there twice, an entry without a key (but heldout_*, and texts),
// and numbers out of range (shares more than 0 and at most 1, times less than 1 s) are problems.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/profile.hpp"
#include "scenarios/problem.hpp"

namespace rollcast {

enum class Basis { measured, fitted, bytes_over_bandwidth, derived };
std::string_view name_of(Basis b);

struct OperationNote {
  std::string operation;
  std::string dtype;
  Basis basis = Basis::measured;
  std::string software;  // Sample::version of the rows; "" where they are of several
  std::string source;
  int rows = 0;  // that the fit saw
  int heldout_rows = 0;
  double heldout_median = 0;  // of |price / measured - 1|
  double heldout_p90 = 0;
};

struct ProfileTable {
  std::string name;  // "gemm bf16"
  std::string text;  // whole lines
};

struct ProfileText {
  std::string name;
  std::string gpu;  // catalog name
  std::string stack;
  std::string date;
  std::vector<OperationNote> operations;
  std::vector<std::pair<std::string, Cited>> numbers;  // members of Profile by name (cited_numbers)
  std::vector<ProfileTable> tables;
};

std::string to_text(ProfileText const& p);

struct ProfileTextResult {
  std::optional<ProfileText> profile;  // set if and only if problems is empty
  std::vector<Problem> problems;       // the first one: after it lines have lost their meaning
};
ProfileTextResult profile_from_text(std::string_view text, std::string const& file);

// The gpu line alone, without reading the rest; "" where there is none.
std::string gpu_of_profile(std::string_view text);

}  // namespace rollcast
