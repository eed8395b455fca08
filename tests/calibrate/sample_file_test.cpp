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

// No kernel, message or request has such a shape; what follows from a size divides by it or loops over it.
TEST(SampleFile, ImpossibleShapesAreProblemsWithTheirLine) {
  std::string const top = "# rollcast samples 1\n# gpu: h100-sxm\noperation,dtype,shape,seconds\n";
  struct Case {
    char const* row;
    char const* message;
  };
  for (Case const& c :
       {Case{"gemm,bf16,0x4096x4096", "mine.csv:4:1: shape: m is 0, not a whole number from 1 to"},
        Case{"gemm,bf16,1x0x4096", "n is 0"},
        Case{"gemm,bf16,1x4096x1e13", "k is 1"},
        Case{"gemm,bf16,1x4096.5x1", "n is 4096.5, not a whole number"},
        Case{"attention_decode,bf16,0x128x8x8x128", "batch is 0"},
        Case{"attention_decode,bf16,1x128x8x0x128", "kv_heads is 0"},
        Case{"attention_decode,bf16,1x128x8x16x128", "kv_heads is 16, more than heads"},
        Case{"attention_prefill,bf16,1x0x0x8x8x128", "length is 0"},
        Case{"moe,bf16,0x64x64x8x2x1x1", "tokens is 0"},
        Case{"moe,bf16,1x64x64x8x2x1x0", "ep is 0"},
        Case{"moe,bf16,1x64x64x8x9x1x1", "top_k is 9, more than experts"},
        Case{"all_reduce,fp32,1024x1x1", "ranks is 1, not a whole number from 2 to 65536"},
        Case{"all_reduce,fp32,1024x2x4", "nodes is 4, more than ranks"},
        Case{"launch,,0", "kernels is 0"},
        Case{"copy,,0", "bytes is 0"},
        Case{"memory_pass,bf16,0x4096", "tokens is 0"},
        Case{"served_tpot,bf16,1024x1024x8x0x1x1", "tp is 0, not a whole number from 1 to 4096"},
        Case{"served_tpot,bf16,1024x0x8x1x1x1", "response is 0"},
        Case{"served_tpot,bf16,1024x1024x0x1x1x1", "concurrency is 0"},
        Case{"served_tpot,bf16,1024x1024x65537x1x1x1",
             "concurrency is 65537, not a whole number from 1 to 65536"}}) {
    Imported const in = read(top + c.row + ",1e-3\ngemm,bf16,1x2x3,1e-3\n");
    EXPECT_EQ(in.samples.size(), 1U) << c.row;
    ASSERT_EQ(in.problems.size(), 1U) << c.row;
    EXPECT_THAT(format(in.problems), HasSubstr(c.message));
  }
  EXPECT_EQ(read(top + "attention_prefill,bf16,1x128x0x8x8x128,1e-3\n").samples.size(), 1U);
}

TEST(SampleFile, AnUnknownFabricIsAProblemWithTheNearestName) {
  std::string const top = "# rollcast samples 1\n# gpu: h100-sxm\noperation,dtype,shape,seconds,fabric\n";
  Imported const in = read(top + "all_reduce,fp32,8x16x2,1e-4,ib-4OOg\n");
  EXPECT_TRUE(in.samples.empty());
  EXPECT_THAT(
      format(in.problems),
      HasSubstr("mine.csv:4:1: fabric: 'ib-4OOg' is no fabric of the catalog; did you mean 'ib-400g'?"));
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
