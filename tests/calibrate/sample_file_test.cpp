#include "calibrate/sample_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "calibrate/import/gpu_names.hpp"

namespace rollcast {
namespace {

using testing::HasSubstr;

Imported read(std::string const& text) {
  Imported out;
  SourceText const source{"dir/mine.csv", "mine.csv", text, {}};
  EXPECT_TRUE(is_sample_file(source));
  read_sample_file(source, out);
  return out;
}

TEST(SampleFile, ReadsBackWhatItWrote) {
  Sample a;
  a.gpu = "h100-sxm";
  a.operation = "gemm";
  a.variant = "kernel, \"quoted\"";
  a.dtype = "bf16";
  a.shape = {1, 4096, 14336};
  a.seconds = Seconds(1.0 / 3e5);
  a.source = "a/b.csv";
  a.version = "torch 2.5";
  a.spread = 0.01;
  Sample b = a;
  b.operation = "all_reduce";
  b.variant = "";
  b.shape = {8589934592.0, 16, 2};
  b.fabric = "ib-400g";
  b.spread = 0;
  std::string const text = sample_text({{{"measured_by", "Jane"}, {"gpu", "h100-sxm"}}, {a, b}});

  Imported const back = read(text);
  EXPECT_TRUE(back.problems.empty()) << format(back.problems);
  ASSERT_EQ(back.samples.size(), 2U);
  EXPECT_EQ(back.samples[0].variant, a.variant);
  EXPECT_EQ(back.samples[0].shape, a.shape);
  EXPECT_EQ(back.samples[0].seconds.value, a.seconds.value);
  EXPECT_EQ(back.samples[0].spread, 0.01);
  EXPECT_EQ(back.samples[1].shape, b.shape);
  EXPECT_EQ(back.samples[1].fabric, "ib-400g");
  EXPECT_EQ(sample_header(text).at(0), (std::pair<std::string, std::string>{"measured_by", "Jane"}));
}

TEST(SampleFile, TakesGpuVersionAndSourceFromTheHeader) {
  Imported const in = read(
      "# rollcast samples 1\r\n# gpu: NVIDIA H200\r\n# versions: cuda 12.4\r\n"
      "shape,operation,dtype,seconds\r\n256,copy,,1e-5\r\n");
  ASSERT_EQ(in.samples.size(), 1U) << format(in.problems);
  EXPECT_EQ(in.samples[0].gpu, "h200-sxm");
  EXPECT_EQ(in.samples[0].version, "cuda 12.4");
  EXPECT_EQ(in.samples[0].source, "mine.csv");
}

TEST(SampleFile, BadRowsAreProblemsWithTheirLine) {
  std::string const top = "# rollcast samples 1\n# gpu: h100-sxm\noperation,dtype,shape,seconds\n";
  struct Case {
    char const* row;
    char const* message;
  };
  for (Case const& c :
       {Case{"gemm,bf16,1x2,1e-3", "mine.csv:4:1: shape: '1x2' is no shape of gemm; write mxnxk"},
        Case{"gemm,bf16,1x2x,1e-3", "is no shape"}, Case{"gemm,bf16,1x2x-3,1e-3", "is no shape"},
        Case{"gemm,bf16,1x2x3x4,1e-3", "is no shape"}, Case{"gemm,bf16,,1e-3", "is no shape"},
        Case{"gemm,bf16,1x2xnan,1e-3", "is no shape"},
        Case{"gem,bf16,1x2x3,1e-3", "operation: 'gem' is no operation"},
        Case{"gemm,bf16,1x2x3,0", "seconds: '0' is not a number above 0"},
        Case{"gemm,bf16,1x2x3,inf", "seconds: 'inf' is not a number above 0"},
        Case{"gemm,bf16,1x2x3,1e-3x", "seconds: "},
        Case{"gemm,bf16,1x2x3", "3 cells where the header has 4"}}) {
    Imported const in = read(top + c.row + "\ngemm,bf16,1x2x3,1e-3\n");
    EXPECT_EQ(in.samples.size(), 1U) << c.row;
    ASSERT_EQ(in.problems.size(), 1U) << c.row;
    EXPECT_THAT(format(in.problems), HasSubstr(c.message));
  }
}

TEST(SampleFile, AMissingColumnOrGpuIsToldOnce) {
  EXPECT_THAT(format(read("# rollcast samples 1\noperation,shape,seconds\ncopy,1,1\n").problems),
              HasSubstr("dtype"));
  EXPECT_THAT(format(read("# rollcast samples 1\noperation,dtype,shape,seconds\ncopy,,1,1\n").problems),
              HasSubstr("no GPU of the catalog"));
}

// 20 are told, the rest is counted.
TEST(SampleFile, ProblemsOfAFileAreCounted) {
  std::string text = "# rollcast samples 1\n# gpu: h100-sxm\noperation,dtype,shape,seconds\n";
  for (int i = 0; i < 30; ++i) text += "copy,,1,-1\n";
  Imported const in = read(text);
  ASSERT_EQ(in.problems.size(), 21U);
  EXPECT_EQ(in.problems.back().what, "10 more rows like these");
}

TEST(GpuNames, LogsAndFolders) {
  EXPECT_EQ(gpu_named_in("NVIDIA H100 80GB HBM3"), "h100-sxm");
  EXPECT_EQ(gpu_named_in("NVIDIA H100 PCIe"), "h100-pcie");
  EXPECT_EQ(gpu_named_in("NVIDIA A100-SXM4-80GB"), "a100-sxm-80gb");
  EXPECT_EQ(gpu_named_in("A100-40GB SXM4"), "a100-sxm-40gb");
  EXPECT_EQ(gpu_named_in("NVIDIA A100 80GB PCIe"), "a100-pcie-80gb");
  EXPECT_EQ(gpu_named_in("a100_dgx"), "a100-sxm-80gb");
  EXPECT_EQ(gpu_named_in("NVIDIA GB200"), "gb200");
  EXPECT_EQ(gpu_named_in("rtx-4090"), "rtx-4090");
  EXPECT_EQ(gpu_named_in("NVIDIA A100-PCIE-40GB"), "");
  EXPECT_EQ(gpu_named_in("GH200 480GB"), "");
  EXPECT_EQ(gpu_named_in(""), "");
}

}  // namespace
}  // namespace rollcast
