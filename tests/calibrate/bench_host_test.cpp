// What the benchmark programs do without a GPU: options, statistics, rotation, lines of the samples file.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "calibrate/bench/collective_sizes.hpp"
#include "calibrate/bench/options.hpp"
#include "calibrate/bench/rotation.hpp"
#include "calibrate/bench/sample_lines.hpp"
#include "calibrate/bench/statistics.hpp"

namespace rollcast {
namespace {

// ---- statistics
TEST(Spread, QuantilesOfElevenNumbers) {
  // 0 to 10: the median is 5, p10 and p90 are 1 and 9, (9 - 1) / 5 = 1.6.
  Spread const s = spread_of({10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0});
  EXPECT_DOUBLE_EQ(s.median.value, 5);
  EXPECT_DOUBLE_EQ(s.p10.value, 1);
  EXPECT_DOUBLE_EQ(s.p90.value, 9);
  EXPECT_DOUBLE_EQ(s.relative(), 1.6);
  EXPECT_EQ(s.repeats, 11);
}

TEST(Spread, BetweenTwoNumbers) {
  // Linear between 1 and 2: 1.5, 1.1, 1.9.
  Spread const s = spread_of({2, 1});
  EXPECT_DOUBLE_EQ(s.median.value, 1.5);
  EXPECT_DOUBLE_EQ(s.p10.value, 1.1);
  EXPECT_DOUBLE_EQ(s.p90.value, 1.9);
}

TEST(Spread, OneNumberHasNoneAndNoNumberIsABug) {
  EXPECT_DOUBLE_EQ(spread_of({3}).relative(), 0);
  EXPECT_THROW(spread_of({}), std::logic_error);
}

// ---- rotation
TEST(Rotation, TheOtherSetsFillTheCacheTwice) {
  // L2 50 MB: twice that is 100 MB. Sets of 30 MB: 4 others (120 MB) and the one itself.
  EXPECT_EQ(rotating_sets(MB(30), MB(50), GB(80)), 5);
  // One set larger than twice the cache: one other is enough.
  EXPECT_EQ(rotating_sets(MB(200), MB(50), GB(80)), 2);
  for (double set = 1; set < 1e5; set *= 1.7) {
    int const sets = rotating_sets(MB(set), MB(50), GB(80000));
    EXPECT_GE((sets - 1) * set, 100) << set;
  }
}

TEST(Rotation, TinySetsStopAt256AndHugeOnesAtTheMemory) {
  EXPECT_EQ(rotating_sets(bytes(100), MB(50), GB(80)), 256);
  EXPECT_EQ(rotating_sets(GB(40), MB(50), GB(80)), 1);  // 80 % of 80 GB holds one
  EXPECT_EQ(rotating_sets(GB(70), MB(50), GB(80)), 0);
}

TEST(Rotation, SamplesAreWholeRoundsOfAboutTheTarget) {
  // 2 ms of 10 us: 200 launches, in rounds of 7: 28 rounds.
  EXPECT_EQ(launches_per_sample(us(10), ms(2), 7), 196);
  // A launch longer than the target: one round, or one launch where there is one set.
  EXPECT_EQ(launches_per_sample(ms(5), ms(2), 3), 3);
  EXPECT_EQ(launches_per_sample(ms(5), ms(2), 1), 1);
  // Short ones: 512, in whole rounds of 256.
  EXPECT_EQ(launches_per_sample(us(0.5), ms(2), 256), 512);
  EXPECT_EQ(launches_per_sample(us(100), ms(2), 256), 256);
}

// ---- samples file
TEST(SampleLines, HeaderAndRows) {
  EXPECT_EQ(header_lines({{"gpu", "NVIDIA H100\n80GB"}, {"date", "2026-01-31"}}),
            "# rollcast samples 1\n"
            "# gpu: NVIDIA H100 80GB\n"
            "# date: 2026-01-31\n"
            "operation,variant,dtype,shape,seconds,spread,gpu,version,fabric,source\n");
  Measured const m{"gemm", "wgrad", "bf16", {4096, 14336, 2147483647}, spread_of({1e-6, 1e-6, 1e-6})};
  EXPECT_EQ(row_line(m), "gemm,wgrad,bf16,4096x14336x2147483647,1e-06,,,,,\n");
  Measured spread{"copy", "h2d", "", {1024}, spread_of({2e-6, 1e-6})};
  // Median 1.5 us, p90 - p10 = 0.8 us: 0.533 of it.
  EXPECT_EQ(row_line(spread), "copy,h2d,,1024,1.5e-06,0.533,,,,\n");
  spread.version = "cuda 13.0, \"x\"";
  spread.source = "rollcast_bench_copy";
  EXPECT_EQ(row_line(spread),
            "copy,h2d,,1024,1.5e-06,0.533,,\"cuda 13.0, \"\"x\"\"\",,rollcast_bench_copy\n");
  EXPECT_EQ(remark_line("a\nb"), "# a b\n");
}

TEST(SampleLines, ARowOfSeveralNodesNamesItsFabric) {
  Measured const m{"all_reduce", "", "bf16", {1048576, 16, 2}, spread_of({1e-3}), "ib-400g"};
  EXPECT_EQ(row_line(m), "all_reduce,,bf16,1048576x16x2,0.001,,,,ib-400g,\n");
}

// ---- messages
TEST(MessageElements, EveryRankHasTheSameWholeNumber) {
  EXPECT_EQ(message_elements("all_reduce", 1001, 2, 8), 500);
  EXPECT_EQ(message_elements("all_gather", 1001, 2, 8), 496);  // 62 for each of 8
  EXPECT_EQ(message_elements("reduce_scatter", 1024, 2, 3), 510);
  EXPECT_EQ(message_elements("all_to_all", 14, 2, 8), 0);
  EXPECT_EQ(message_elements("send_recv", 14, 2, 8), 7);
  EXPECT_EQ(doubled_sizes(1000, 4001), (std::vector<std::int64_t>{1000, 2000, 4000}));
  EXPECT_EQ(doubled_sizes(8, 8), (std::vector<std::int64_t>{8}));
}

// ---- options
TEST(Options, HelpAndMistakes) {
  EXPECT_EQ(launch_options({"--help"}).exit_code, 0);
  EXPECT_NE(launch_options({"--help"}).text.find("--sustained"), std::string::npos);
  EXPECT_EQ(launch_options({}).exit_code, -1);
  EXPECT_EQ(launch_options({"--kernels", "0"}).exit_code, 2);
  EXPECT_EQ(launch_options({"--no-such"}).exit_code, 2);
  EXPECT_EQ(copy_options({"--kind", "sideways"}).exit_code, 2);
  EXPECT_EQ(memory_options({"--hidden", "100"}).exit_code, 2);
  EXPECT_EQ(memory_options({"--head-dim", "24"}).exit_code, 2);
  EXPECT_EQ(attention_options({"--heads", "32", "--kv-heads", "6"}).exit_code, 2);
  EXPECT_EQ(attention_options({"--model", "deepseek-v3"}).exit_code, 2);
  EXPECT_EQ(nccl_options({"--smallest", "2048", "--largest", "1024"}).exit_code, 2);
}

TEST(Options, RunOptionsOfEveryProgram) {
  auto const read = launch_options({"--sustained", "--seconds", "90", "--repeats", "7", "--device", "3",
                                    "--output", "x.csv", "--gpu", "h100-sxm", "--warmup", "2"});
  ASSERT_EQ(read.exit_code, -1) << read.text;
  EXPECT_TRUE(read.options.run.sustained);
  EXPECT_DOUBLE_EQ(read.options.run.duration.value, 90);
  EXPECT_EQ(read.options.run.repeats, 7);
  EXPECT_EQ(read.options.run.device, 3);
  EXPECT_EQ(read.options.run.output, "x.csv");
  EXPECT_EQ(read.options.run.gpu, "h100-sxm");
  EXPECT_EQ(read.options.run.warmup, 2);
}

TEST(Options, ShapesOfAModelOfAListAndOfAFile) {
  auto const model = gemm_options({"--model", "llama-3.1-8b-instruct", "--tp", "2", "--tokens", "8,64",
                                   "--gradients", "--dtype", "bf16,fp8"});
  ASSERT_EQ(model.exit_code, -1) << model.text;
  // 6 distinct products, 3 passes, 2 numbers of tokens (bench_shapes_test).
  EXPECT_EQ(model.options.shapes.size(), 36U);
  EXPECT_EQ(model.options.dtypes, (std::vector<std::string>{"bf16", "fp8"}));

  auto const list = gemm_options({"--model-shapes", "16,32,64", "--model-shapes", "1,2,3,dgrad"});
  ASSERT_EQ(list.exit_code, -1) << list.text;
  ASSERT_EQ(list.options.shapes.size(), 2U);
  EXPECT_EQ(list.options.shapes[1].pass, GemmPass::dgrad);

  auto const file = std::filesystem::temp_directory_path() / "rollcast_bench_shapes_test.csv";
  std::ofstream(file) << shapes_text(list.options.shapes);
  auto const from_file = gemm_options({"--shapes", file.string()});
  std::filesystem::remove(file);
  ASSERT_EQ(from_file.exit_code, -1) << from_file.text;
  EXPECT_EQ(from_file.options.shapes.size(), 2U);
}

TEST(Options, ShapesAreGivenInOneWay) {
  EXPECT_EQ(gemm_options({}).exit_code, 2);
  EXPECT_EQ(gemm_options({"--model", "llama-3.1-8b-instruct", "--model-shapes", "1,1,1"}).exit_code, 2);
  auto const unknown = gemm_options({"--model", "llama-9"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_EQ(
      unknown.text,
      "rollcast_bench_gemm: --model: the catalog has no 'llama-9'; 'rollcast catalog list models' shows "
      "the names\n");
  EXPECT_EQ(gemm_options({"--shapes", "/no/such/file"}).text,
            "rollcast_bench_gemm: --shapes: cannot read '/no/such/file'\n");
}

TEST(Options, HeadsOfAModelAreCut) {
  auto const read = attention_options({"--model", "llama-3.1-8b-instruct", "--tp", "4"});
  ASSERT_EQ(read.exit_code, -1) << read.text;
  EXPECT_EQ(read.options.heads, 8);
  EXPECT_EQ(read.options.kv_heads, 2);
  EXPECT_EQ(read.options.head_dim, 128);
}

}  // namespace
}  // namespace rollcast
