// The benchmark programs as a user starts them on a machine without a GPU. Devices are hidden from them, so
// that the answer is the same where there is one.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
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

// mpirun adds lines of its own; the program's stands there once. The variables let Open MPI start three
// processes as any user on any number of cores.
TEST(BenchPrograms, OfSeveralProcessesOneSpeaks) {
  std::string const mpiexec = ROLLCAST_MPIEXEC;
  auto const all = programs();
  auto const nccl =
      std::find_if(all.begin(), all.end(), [](std::string const& p) { return p.ends_with("_nccl"); });
  if (nccl == all.end() || !mpiexec.starts_with('/')) GTEST_SKIP() << "built without NCCL or MPI";
  std::string const command =
      "CUDA_VISIBLE_DEVICES= OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
      "OMPI_MCA_rmaps_base_oversubscribe=1 " +
      mpiexec + " -n 3 " + *nccl;
  for (std::string const options : {"", " --no-such-option"}) {
    Outcome const o = start(command + options + " 2>&1");
    EXPECT_EQ(o.exit_code, 2) << o.output;
    std::string const name = "rollcast_bench_nccl: ";
    auto const first = o.output.find(name);
    ASSERT_NE(first, std::string::npos) << o.output;
    EXPECT_EQ(o.output.find(name, first + 1), std::string::npos) << o.output;
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
