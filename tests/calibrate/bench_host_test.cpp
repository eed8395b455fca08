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
#include "calibrate/import/folder.hpp"
#include "calibrate/import/gpu_names.hpp"

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

// What the programs write, as one file.
std::string written(std::vector<Measured> const& rows) {
  std::string text = header_lines({{"gpu", "NVIDIA H100 80GB HBM3"},
                                   {"device", "NVIDIA H100 80GB HBM3, compute 9.0"},
                                   {"versions", "cuda 13.0, cublasLt 130000"}});
  for (Measured const& m : rows) {
    text += remark_line("SM 1980 MHz, memory 2619 MHz");
    text += row_line(m);
  }
  return text;
}

// One row of every operation that a program measures, with the dimensions that sample.hpp names.
TEST(SampleLines, TheReaderTakesARowOfEveryProgram) {
  Spread const time = spread_of({1e-6, 1.1e-6, 1.2e-6});
  std::string const version = "cuda 13.0, cublasLt 130000";
  std::vector<Measured> rows = {
      {"gemm", "", "bf16", {64, 4096, 2048}, time},
      {"gemm", "wgrad", "fp8", {4096, 2048, 64}, time},
      {"gemm", "sustained", "bf16", {64, 4096, 2048}, time},
      {"attention_prefill", "", "bf16", {8, 1024, 0, 32, 8, 128}, time},
      {"attention_decode", "", "bf16", {8, 1024, 32, 8, 128}, time},
      {"attention_backward", "backward", "bf16", {8, 1024, 32, 8, 128}, time},
      {"copy", "h2d", "", {4096}, time},
      {"copy", "peer staged", "", {4096}, time},
      {"launch", "enqueue", "", {100}, time},
      {"launch", "graph", "", {100}, time},
      {"all_reduce", "nccl", "bf16", {1048576, 16, 2}, time, "ib-400g"},
  };
  for (char const* kernel : {"norm", "activation", "rope", "add", "log_softmax", "adam"}) {
    rows.push_back({"memory_pass", kernel, "bf16", {64, 4096}, time});
  }
  for (char const* operation :
       {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all", "send_recv"}) {
    rows.push_back({operation, "nccl", "bf16", {1048576, 8, 1}, time});
  }
  for (Measured& m : rows) {
    m.version = version;
    m.source = "rollcast_bench_x";
  }

  std::string const text = written(rows);
  Imported read;
  ImportedFile const file = import_text({"s.csv", "s.csv", text, {}}, read);
  EXPECT_EQ(file.kind, "rollcast samples");
  EXPECT_EQ(format(read.problems), "");
  ASSERT_EQ(read.samples.size(), rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Sample const& s = read.samples[i];
    EXPECT_EQ(s.gpu, "h100-sxm");
    EXPECT_EQ(s.operation, rows[i].operation);
    EXPECT_EQ(s.variant, rows[i].variant);
    EXPECT_EQ(s.dtype, rows[i].dtype);
    EXPECT_EQ(s.shape, rows[i].shape);
    EXPECT_DOUBLE_EQ(s.seconds.value, 1.1e-6);
    // p10 and p90 lie 0.2 steps inside: (1.18 - 1.02) / 1.1 = 0.1454..., written with three digits.
    EXPECT_NEAR(s.spread, 0.16 / 1.1, 0.0005);
    EXPECT_EQ(s.version, version);
    EXPECT_EQ(s.source, "rollcast_bench_x");
    EXPECT_EQ(s.fabric, rows[i].fabric);
  }
}

// Names as the driver tells them, and the catalog's of the card.
TEST(SampleLines, TheDriversNameIsEnough) {
  EXPECT_EQ(gpu_named_in("NVIDIA A100-SXM4-80GB"), "a100-sxm-80gb");
  EXPECT_EQ(gpu_named_in("NVIDIA A100 80GB PCIe"), "a100-pcie-80gb");
  EXPECT_EQ(gpu_named_in("NVIDIA H100 80GB HBM3"), "h100-sxm");
  EXPECT_EQ(gpu_named_in("NVIDIA H100 PCIe"), "h100-pcie");
  EXPECT_EQ(gpu_named_in("NVIDIA H200"), "h200-sxm");
  EXPECT_EQ(gpu_named_in("NVIDIA B200"), "b200-sxm");
  EXPECT_EQ(gpu_named_in("NVIDIA GB200"), "gb200");
  EXPECT_EQ(gpu_named_in("NVIDIA L40S"), "l40s");
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

TEST(TeamSizes, PowersOfTwoAndAllOfThem) {
  EXPECT_EQ(team_sizes(8), (std::vector<std::int64_t>{2, 4, 8}));
  EXPECT_EQ(team_sizes(6), (std::vector<std::int64_t>{2, 4, 6}));
  EXPECT_EQ(team_sizes(2), (std::vector<std::int64_t>{2}));
  EXPECT_EQ(team_sizes(1), (std::vector<std::int64_t>{1}));
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
  EXPECT_EQ(nccl_options({"--device", "1"}).exit_code, 2);
  EXPECT_EQ(nccl_options({"--gpus", "2,4"}).options.gpus, (std::vector<std::int64_t>{2, 4}));
  EXPECT_EQ(
      nccl_options({"--fabric", "string-and-cups"}).text,
      "rollcast_bench_nccl: --fabric: the catalog has no 'string-and-cups'; 'rollcast catalog list fabrics' "
      "shows the names\n");
  EXPECT_EQ(copy_options({"--gpu", "abacus"}).exit_code, 2);
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

// tp 4: MLP 14336 / 4, vocabulary 128256 / 4, heads 32 / 4 and 8 / 4; hidden is whole. tp 3: 42752 is a
// multiple of 8, 14336 / 3 = 4778.7 goes up to 4784.
TEST(Options, WidthsOfAModelAreCut) {
  MemoryOptions const four = memory_options({"--model", "llama-3.1-8b", "--tp", "4"}).options;
  EXPECT_EQ(four.hidden, 4096);
  EXPECT_EQ(four.intermediate, 3584);
  EXPECT_EQ(four.vocab, 32064);
  EXPECT_EQ(four.heads, 8);
  EXPECT_EQ(four.kv_heads, 2);
  MemoryOptions const three = memory_options({"--model", "llama-3.1-8b", "--tp", "3"}).options;
  EXPECT_EQ(three.intermediate, 4784);
  EXPECT_EQ(three.vocab, 42752);
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
