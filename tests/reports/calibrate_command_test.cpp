// rollcast calibrate check, run in this process with its output captured.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "reports/commands/commands.hpp"
#include "tests/reports/run_command.hpp"

namespace rollcast {
namespace {

using testing::HasSubstr;

CommandRun check(std::vector<std::string> words) {
  std::filesystem::path const path = testing::TempDir() + "samples_of_" +
                                     testing::UnitTest::GetInstance()->current_test_info()->name() + ".csv";
  std::ofstream(path) << "# rollcast samples 1\n"
                         "# gpu: h200-sxm\n"
                         "operation,dtype,shape,seconds\n"
                         "gemm,bf16,4096x4096x4096,0.0002\n";
  words.insert(words.begin(), {"calibrate", "check", "--samples", path.string()});
  CommandRun r = run_command(&add_calibrate_command, std::move(words));
  std::filesystem::remove(path);
  return r;
}

TEST(CalibrateCommand, ChecksACardThatWasDerived) {
  CommandRun const built_in = check({});
  EXPECT_EQ(built_in.exit_code, 0) << built_in.err;
  EXPECT_THAT(built_in.out, HasSubstr("h200-sxm        gemm"));
  // The same profile by name; another one gives another price.
  EXPECT_EQ(check({"--profile", "h100-sxm", "--as", "h200-sxm"}).out, built_in.out);
  EXPECT_NE(check({"--profile", "a100-sxm-80gb", "--as", "h200-sxm"}).out, built_in.out);
}

TEST(CalibrateCommand, FindsAProfileByItsName) {
  EXPECT_EQ(check({"--profile", "a100-sxm-80gb_sglang", "--as", "h200-sxm"}).exit_code, 0);
}

TEST(CalibrateCommand, NamesACardThatIsNotInTheCatalog) {
  CommandRun const r = check({"--profile", "h100-sxm", "--as", "h300"});
  EXPECT_EQ(r.exit_code, 2);
  EXPECT_THAT(r.err, HasSubstr("gpu 'h300' is not in the catalog"));
}

// A samples file of its own folder, removed with it.
class OfFile : public testing::Test {
 protected:
  OfFile() { std::filesystem::create_directories(folder_); }
  ~OfFile() override { std::filesystem::remove_all(folder_); }

  std::string samples(std::string const& rows, std::string const& name = "s.csv") const {
    std::ofstream(folder_ / name) << "# rollcast samples 1\n# gpu: h100-sxm\n"
                                     "operation,dtype,shape,seconds,version,fabric,variant\n"
                                  << rows;
    return (folder_ / name).string();
  }
  std::string path(char const* name) const { return (folder_ / name).string(); }
  static std::string content(std::string const& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static CommandRun calibrate(std::vector<std::string> words) {
    words.insert(words.begin(), "calibrate");
    return run_command(&add_calibrate_command, std::move(words));
  }

  // Of its own: tests run at the same time.
  std::filesystem::path folder_ = testing::TempDir() + "calibrate_command_" +
                                  testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(OfFile, IsNeverOverwritten) {
  std::string const file = samples("gemm,bf16,4096x4096x4096,0.0002,mine,,\n");
  std::string const before = content(file);
  for (std::vector<std::string> const& words :
       {std::vector<std::string>{"check", "--samples", file, "--json", file},
        {"check", "--samples", folder_.string(), "--json", file},
        {"check", "--samples", file, "--profile", path("p.yaml"), "--json", path("p.yaml")},
        {"fit", "--samples", file, "--out", path("./s.csv")},
        {"import", file, "--out", file}}) {
    CommandRun const r = calibrate(words);
    EXPECT_EQ(r.exit_code, 2) << words.front();
    EXPECT_THAT(r.err, HasSubstr("is read, and an output would replace it")) << words.front();
    EXPECT_EQ(content(file), before) << words.front();
  }
}

TEST_F(OfFile, WithoutAUsableRowGivesNoProfile) {
  std::string const file = samples(
      "gemm,bf17,4096x4096x4096,0.0003,mine,,\ngemm,fp16,4096x4096x4096,0.0003,mine,,\n"
      "all_reduce,fp32,1024x16x2,0.0001,mine,,nccl\nall_reduce,fp32,1024x8x1,0.0001,mine,,nccl\n"
      "all_reduce,fp32,2048x8x1,0.0001,mine,,nccl\nall_reduce,fp32,4096x8x1,0.0001,mine,,nccl\n");
  CommandRun const r = calibrate({"fit", "--samples", file, "--split", "all", "--out", path("p.yaml")});
  EXPECT_EQ(r.exit_code, 2);
  EXPECT_FALSE(std::filesystem::exists(path("p.yaml")));
  for (char const* line :
       {"not used: 1 row of gemm: there is no table of type 'bf17'", "gemm: there is no table of type 'fp16'",
        "1 row of all_reduce on 2 nodes: their fabric is not known; name it with --fabric NAME",
        "3 rows of all_reduce of 8 ranks on 1 node: 3 message sizes to fit, of 3; a series needs 4",
        "none of the rows of h100-sxm can be fitted"})
    EXPECT_THAT(r.err, HasSubstr(line));
}

TEST_F(OfFile, TimesThatCannotBeTrueAreLeftOut) {
  std::string const file = samples(
      "gemm,bf16,4096x4096x4096,1e-300,mine,,\ngemm,bf16,4096x4096x4096,1e6,mine,,\n"
      "gemm,bf16,4096x4096x4096,0.0002,mine,,\n");
  CommandRun const r = calibrate({"fit", "--samples", file, "--split", "all", "--out", path("p.yaml")});
  EXPECT_EQ(r.exit_code, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("      1 rows"));
  EXPECT_THAT(r.out, HasSubstr("not used: 1 row of gemm: less than a third of the time"));
  EXPECT_THAT(r.out, HasSubstr("not used: 1 row of gemm: more than 10,000 times as long"));
  EXPECT_THAT(r.out, testing::Not(HasSubstr("sampling")));
  EXPECT_THAT(calibrate({"import", file, "--out", path("i.csv")}).err,
              HasSubstr("warning: a fit leaves out 1 row of gemm: less than a third"));
}

TEST_F(OfFile, AStackThatNobodyMeasuredIsAnError) {
  std::string const file = samples("gemm,bf16,4096x4096x4096,0.0002,mine 1,,\n");
  CommandRun const r = calibrate({"fit", "--samples", file, "--stack", "bar", "--out", path("p.yaml")});
  EXPECT_EQ(r.exit_code, 2);
  EXPECT_THAT(r.err, HasSubstr("--stack 'bar' was not measured on h100-sxm; take mine 1"));
}

TEST_F(OfFile, OfSeveralCampaignsTheTakenOneIsNamed) {
  std::string rows;
  for (char const* version : {"a", "b"}) {
    for (int bytes = 1024; bytes <= 16384; bytes *= 2)
      rows += "all_reduce,fp32," + std::to_string(bytes) + "x8x1,0.0001," + version + ",,nccl\n";
  }
  CommandRun const r =
      calibrate({"fit", "--samples", samples(rows), "--split", "all", "--out", path("p.yaml")});
  EXPECT_EQ(r.exit_code, 0) << r.err;
  EXPECT_THAT(r.out,
              HasSubstr("5 rows of all_reduce of 8 ranks on 1 node: s.csv; b was taken, not s.csv; a"));
}

TEST_F(OfFile, WithoutAPriceIsNotPassed) {
  std::string const file = samples("all_reduce,fp32,1024x16x2,0.0001,mine,,nccl\n");
  CommandRun const r = calibrate({"check", "--samples", file, "--json", "-"});
  EXPECT_EQ(r.exit_code, 2);
  EXPECT_THAT(r.err, HasSubstr("no row has a price"));
  EXPECT_THAT(r.out, HasSubstr("\"passed\": false"));
  // With its fabric it has one.
  CommandRun const named = calibrate({"check", "--samples", file, "--fabric", "ib-400g", "--json", "-"});
  EXPECT_EQ(named.exit_code, 0) << named.err;
  EXPECT_THAT(named.out, HasSubstr("\"passed\": true"));
}

}  // namespace
}  // namespace rollcast
