// The benchmark programs as a user starts them on a machine without a GPU. Devices are hidden from them, so
// that the answer is the same where there is one.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

namespace {

// Paths of the programs that were built, joined by ':'; empty without a CUDA compiler.
std::vector<std::string> programs() {
  std::vector<std::string> list;
  std::stringstream in(ROLLCAST_BENCH_PROGRAMS);
  for (std::string path; std::getline(in, path, ':');) list.push_back(path);
  return list;
}

struct Outcome {
  int exit_code = -1;
  std::string output;
};

Outcome start(std::string const& command) {
  Outcome outcome;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return outcome;
  std::array<char, 4096> buffer{};
  for (std::size_t n = 0; (n = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
    outcome.output.append(buffer.data(), n);
  }
  int const status = pclose(pipe);
  if (WIFEXITED(status)) outcome.exit_code = WEXITSTATUS(status);
  return outcome;
}

std::string required_options(std::string const& program) {
  return program.ends_with("_gemm") ? " --model-shapes 128,128,128" : "";
}

TEST(BenchPrograms, HelpNeedsNoDevice) {
  if (programs().empty()) GTEST_SKIP() << "built without a CUDA compiler";
  for (std::string const& program : programs()) {
    Outcome const o = start(program + " --help 2>/dev/null");
    EXPECT_EQ(o.exit_code, 0) << program;
    EXPECT_NE(o.output.find("--sustained"), std::string::npos) << program << ": " << o.output;
  }
}

TEST(BenchPrograms, WithoutADeviceTheySayOneSentence) {
  if (programs().empty()) GTEST_SKIP() << "built without a CUDA compiler";
  for (std::string const& program : programs()) {
    std::string const command = "CUDA_VISIBLE_DEVICES= " + program + required_options(program);
    Outcome const error = start(command + " 2>&1 >/dev/null");
    EXPECT_EQ(error.exit_code, 2) << program << ": " << error.output;
    std::string const name = program.substr(program.rfind('/') + 1);
    EXPECT_EQ(error.output.find(name + ": no CUDA device"), 0U) << error.output;
    EXPECT_EQ(error.output.find('\n'), error.output.size() - 1) << "more than one line: " << error.output;
    EXPECT_EQ(start(command + " 2>/dev/null").output, "") << program;
  }
}

TEST(BenchPrograms, ABadOptionIsBadInput) {
  if (programs().empty()) GTEST_SKIP() << "built without a CUDA compiler";
  for (std::string const& program : programs()) {
    Outcome const o = start(program + " --no-such-option 2>&1");
    EXPECT_EQ(o.exit_code, 2) << program << ": " << o.output;
    EXPECT_NE(o.output.find("--help shows the options"), std::string::npos) << o.output;
  }
}

}  // namespace
