// rollcast calibrate bench, with shell scripts in the place of the benchmark programs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "calibrate/bench_plan.hpp"
#include "calibrate/import/folder.hpp"
#include "reports/commands/commands.hpp"
#include "tests/reports/run_command.hpp"

namespace rollcast {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::StartsWith;

class CalibrateBench : public testing::Test {
 protected:
  CalibrateBench()
      : folder_(fs::path(testing::TempDir()) /
                (std::string("calibrate_bench_") +
                 testing::UnitTest::GetInstance()->current_test_info()->name())) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~CalibrateBench() override { fs::remove_all(folder_); }

  void script(std::string const& program, std::string const& body) {
    fs::path const path = folder_ / ("rollcast_bench_" + program);
    std::ofstream(path) << "#!/bin/sh\n" << body;
    fs::permissions(path, fs::perms::owner_all);
  }

  // A program that writes one row, and its arguments into a file.
  void measuring(std::string const& program, std::string const& row, std::string const& after = "") {
    script(program, "echo \"$@\" > " + (folder_ / (program + ".args")).string() +
                        "\ncat <<'END'\n# rollcast samples 1\n# gpu: NVIDIA H200\n# versions: cuda 13.0\n"
                        "operation,variant,dtype,shape,seconds,spread,gpu,version,fabric,source\n" +
                        row + "\nEND\n" + after);
  }
  void measuring_all() {
    for (std::string const& p : bench_programs()) measuring(p, "copy,h2d,,4096,1e-6,,,cuda 13.0,," + p);
  }

  CommandRun bench(std::vector<std::string> more) {
    std::vector<std::string> words = {"calibrate", "bench", "--programs", folder_.string(), "--out", out()};
    words.insert(words.end(), more.begin(), more.end());
    return run_command(add_calibrate_command, words);
  }

  std::string out() const { return (folder_ / "samples.csv").string(); }
  std::string content(fs::path const& path) const {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }

  fs::path folder_;
};

TEST_F(CalibrateBench, CollectsTheRowsOfEveryProgram) {
  measuring_all();
  CommandRun const r = bench({"--model", "llama-3.1-8b", "--tp", "2", "--device", "1"});
  EXPECT_EQ(r.exit_code, 0) << r.err;
  EXPECT_EQ(r.out, "");
  EXPECT_THAT(r.err, HasSubstr("rollcast_bench_gemm: 1 rows\n"));
  ImportResult read;
  import_path(out(), {}, read);
  EXPECT_EQ(format(read.imported.problems), "");
  ASSERT_EQ(read.imported.samples.size(), bench_programs().size());
  for (std::size_t i = 0; i < bench_programs().size(); ++i) {
    EXPECT_EQ(read.imported.samples[i].source, bench_programs()[i]);
    EXPECT_EQ(read.imported.samples[i].gpu, "h200-sxm");
  }
  EXPECT_EQ(content(folder_ / "gemm.args"),
            "--model llama-3.1-8b --tp 2 --ep 1 --gradients --dtype bf16,fp8 --device 1\n");
  EXPECT_EQ(content(folder_ / "nccl.args"), "\n");
}

TEST_F(CalibrateBench, WritesToStandardOutput) {
  measuring("copy", "copy,h2d,,4096,1e-6,,,,,");
  CommandRun const r = run_command(add_calibrate_command, {"calibrate", "bench", "--programs",
                                                           folder_.string(), "--out", "-", "--only", "copy"});
  EXPECT_EQ(r.exit_code, 0) << r.err;
  EXPECT_THAT(r.out, StartsWith("# rollcast samples 1\n# gpu: NVIDIA H200\n"));
  EXPECT_THAT(r.out, HasSubstr("copy,h2d,,4096,1e-6"));
}

TEST_F(CalibrateBench, NamesTheProgramsThatAreMissing) {
  measuring_all();
  fs::remove(folder_ / "rollcast_bench_nccl");
  CommandRun const r = bench({"--model", "llama-3.1-8b"});
  EXPECT_EQ(r.exit_code, 2);
  EXPECT_THAT(r.err, StartsWith("rollcast: '" + folder_.string() + "' holds no rollcast_bench_nccl; "));
  EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1);
  EXPECT_FALSE(fs::exists(folder_ / "gemm.args")) << "measured before it looked";
  EXPECT_EQ(bench({"--only", "copy"}).exit_code, 0);
}

TEST_F(CalibrateBench, WithoutADeviceTheProgramSpeaks) {
  measuring_all();
  script("gemm", "echo 'rollcast_bench_gemm: no CUDA device here' >&2\nexit 2\n");
  CommandRun const r = bench({"--model", "llama-3.1-8b"});
  EXPECT_EQ(r.exit_code, 2);
  EXPECT_EQ(r.err, "rollcast_bench_gemm: no CUDA device here\n");
  EXPECT_FALSE(fs::exists(out()));
  EXPECT_FALSE(fs::exists(folder_ / "copy.args")) << "went on without a device";
}

TEST_F(CalibrateBench, AProgramThatFailsLeavesItsRows) {
  measuring("copy", "copy,h2d,,4096,1e-6,,,,,", "exit 1\n");
  measuring("launch", "launch,graph,,10,1e-5,,,,,", "kill -SEGV $$\n");
  measuring("nccl", "all_reduce,nccl,bf16,4096x8x1,1e-5,,,,,");
  CommandRun const r = bench({"--only", "copy,launch,nccl"});
  EXPECT_EQ(r.exit_code, 1);
  EXPECT_THAT(r.err, HasSubstr("rollcast_bench_copy failed with exit code 1; its rows until then are kept"));
  EXPECT_THAT(r.err, HasSubstr("rollcast_bench_launch was ended by signal 11; its rows until then are kept"));
  ImportResult read;
  import_path(out(), {}, read);
  EXPECT_EQ(read.imported.samples.size(), 3U);
}

TEST_F(CalibrateBench, AnUnwritableFileShowsAtTheFirstRow) {
  measuring("copy", "copy,h2d,,4096,1e-6,,,,,", "while :; do echo '# more'; done\n");
  CommandRun const r =
      run_command(add_calibrate_command, {"calibrate", "bench", "--programs", folder_.string(), "--out",
                                          (folder_ / "no" / "folder.csv").string(), "--only", "copy"});
  EXPECT_EQ(r.exit_code, 2);
  EXPECT_THAT(r.err, HasSubstr("cannot write"));
}

TEST_F(CalibrateBench, AnUnknownCardIsToldAndKept) {
  script("copy",
         "cat <<'END'\n# rollcast samples 1\n# gpu: Abacus 9\n"
         "operation,variant,dtype,shape,seconds,spread,gpu,version,fabric,source\n"
         "copy,h2d,,4096,1e-6,,,,,\nEND\n");
  CommandRun const r = bench({"--only", "copy"});
  EXPECT_EQ(r.exit_code, 1);
  EXPECT_THAT(r.err, HasSubstr("the catalog has no 'Abacus 9'"));
  EXPECT_THAT(content(out()), HasSubstr("4096"));
}

TEST_F(CalibrateBench, NothingMeasuredIsAFailure) {
  script("nccl", "echo '# rollcast samples 1'; echo operation,seconds\n");
  CommandRun const r = bench({"--only", "nccl"});
  EXPECT_EQ(r.exit_code, 1);
  EXPECT_THAT(r.err, HasSubstr("nothing was measured"));
  EXPECT_FALSE(fs::exists(out()));
}

// The true programs, with every GPU hidden; they stand beside the tests where they were built.
TEST_F(CalibrateBench, TheTruePrograms) {
  fs::path const folder = fs::path(ROLLCAST_PROGRAM).parent_path();
  if (!fs::exists(folder / "rollcast_bench_copy")) GTEST_SKIP() << "built without a CUDA compiler";
  ::setenv("CUDA_VISIBLE_DEVICES", "", 1);
  CommandRun const r =
      run_command(add_calibrate_command,
                  {"calibrate", "bench", "--programs", folder.string(), "--out", out(), "--only", "copy"});
  ::unsetenv("CUDA_VISIBLE_DEVICES");
  EXPECT_EQ(r.exit_code, 2);
  EXPECT_THAT(r.err, StartsWith("rollcast_bench_copy: no CUDA device"));
  EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
  EXPECT_FALSE(fs::exists(out()));
}

}  // namespace
}  // namespace rollcast
