// What the benchmark programs share: from arguments to exit code, and the samples file they write.
#pragma once

#include <cstdio>
#include <exception>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "calibrate/bench/device/check.hpp"
#include "calibrate/bench/options.hpp"
#include "calibrate/bench/sample_lines.hpp"

namespace rollcast {

// Appends to the file, or to standard output, and flushes each line: a long run shows what it has.
// std::runtime_error when the file cannot be written.
class SampleWriter {
 public:
  SampleWriter(std::string const& file, std::vector<std::pair<std::string, std::string>> const& header);
  void row(Measured m);                  // version and source are the header's "versions" and "program"
  void note(std::string const& text);    // a comment line, about the rows after it
  void remark(std::string const& text);  // the same, also on standard error

 private:
  void write(std::string const& text);

  std::string name_;
  std::string version_;
  std::string source_;
  std::ofstream file_;
};

// Exit code 0: measured (or --help); 1: a CUDA call failed or the file cannot be written; 2: bad options, or
// no CUDA device. Of several processes that come to the same answer one `speaks`.
template <class Options>
int run_program(int argc, char** argv, ReadOptions<Options> (*read)(std::vector<std::string> const&),
                void (*body)(Options const&), bool speaks = true) {
  std::string const name = std::string(argv[0]).substr(std::string(argv[0]).rfind('/') + 1);
  try {
    auto const options = read(std::vector<std::string>(argv + 1, argv + argc));
    if (options.exit_code >= 0) {
      if (speaks) std::fputs(options.text.c_str(), options.exit_code == 0 ? stdout : stderr);
      return options.exit_code;
    }
    body(options.options);
    return 0;
  } catch (NoDevice const& e) {
    if (speaks) std::fprintf(stderr, "%s: %s\n", name.c_str(), e.what());
    return 2;
  } catch (std::exception const& e) {
    std::fprintf(stderr, "%s: %s\n", name.c_str(), e.what());
    return 1;
  }
}

}  // namespace rollcast
