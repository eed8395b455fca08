// rollcast calibrate check, run in this process with its output captured.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "reports/commands/commands.hpp"
#include "tests/reports/run_command.hpp"

namespace rollcast {
namespace {

using testing::HasSubstr;

CommandRun check(std::vector<std::string> words) {
  std::filesystem::path const path = testing::TempDir() + "calibrate_command_samples.csv";
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

}  // namespace
}  // namespace rollcast
