// Logs as people paste them. Each algbw of a fixture is size / time, each busbw that times 2(n-1)/n for
// all-reduce or (n-1)/n for all-gather, with two decimals: 8,388,608 B in 95.28 us are 88.04 GB/s, x 1.75 =
// 154.07; 1 GiB in 4,127.3 us 260.16, x 1.75 = 455.27; 1 GiB in 2,400 us 447.39, x 0.875 = 391.47.
#include "calibrate/import/nccl_tests.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "calibrate/import/nccl_log_rows.hpp"
#include "calibrate/import/table.hpp"

namespace rollcast {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Imported read(std::string const& text, ImportHints const& hints = {}) {
  Imported out;
  SourceText const source{"logs/paste.txt", "paste.txt", text, hints};
  EXPECT_TRUE(is_nccl_tests_log(source));
  read_nccl_tests_log(source, out);
  return out;
}

ImportHints on(std::string const& gpu) {
  ImportHints h;
  h.gpu = gpu;
  return h;
}

std::string ranks(int nodes) {
  std::string out = "# Using devices\n";
  for (int r = 0; r < 8 * nodes; ++r) {
    out += "#  Rank " + std::to_string(r) + " Group  0 Pid 4711 on node-" + std::to_string(r / 8) +
           " device " + std::to_string(r % 8) + " [0x1b] NVIDIA H100 80GB HBM3\n";
  }
  return out;
}

std::string const kHead =
    "#\n#                                                              out-of-place                       "
    "in-place\n"
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   "
    "busbw #wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  "
    "(GB/s)\n";
std::string const kRow8M =
    "     8388608       2097152     float     sum      -1    95.28   88.04  154.07      0    95.28   88.04  "
    "154.07      0\n";
std::string const kRow1G =
    "  1073741824     268435456     float     sum      -1   4127.3  260.16  455.27      0   4127.3  260.16  "
    "455.27      0\n";
std::string const kGather =
    "  1073741824      33554432     float    none      -1   2400.0  447.39  391.47      0   2400.0  447.39  "
    "391.47      0\n";

TEST(NcclTests, AWholeLog) {
  Imported const in =
      read("# nThread 1 nGpus 1 minBytes 8388608 maxBytes 1073741824 step: 2(factor)\n#\n" + ranks(1) +
           "NCCL version 2.18.5+cuda12.2\n# Collective test starting: all_reduce_perf\n" + kHead + kRow8M +
           kRow1G +
           "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 304.67\n"
           "# Collective test concluded: all_reduce_perf\n");
  EXPECT_TRUE(in.problems.empty()) << format(in.problems);
  ASSERT_EQ(in.samples.size(), 4U);
  Sample const& s = in.samples[0];
  EXPECT_EQ(s.gpu, "h100-sxm");
  EXPECT_EQ(s.operation, "all_reduce");
  EXPECT_EQ(s.variant, "nccl");
  EXPECT_EQ(s.dtype, "fp32");
  EXPECT_THAT(s.shape, ElementsAre(8388608, 8, 1));
  EXPECT_DOUBLE_EQ(s.seconds.value, 95.28e-6);
  EXPECT_EQ(s.version, "nccl 2.18.5+cuda12.2");
  EXPECT_EQ(s.source, "paste.txt");
  EXPECT_EQ(in.samples[1].variant, "nccl in place");
}

TEST(NcclTests, TwoNodesComeFromTheHosts) {
  // 16 ranks: 512 MiB in 2,200 us are 244.03 GB/s, x 30 / 16 = 457.56.
  ImportHints hints;
  hints.fabric = "ib-400g";
  Imported const in =
      read(ranks(2) + "./build/all_reduce_perf -b 512M -e 512M\n" +
               "536870912 134217728 float sum -1 2200.0 244.03 457.56 0 2200.0 244.03 457.56 0\n",
           hints);
  ASSERT_EQ(in.samples.size(), 2U) << format(in.problems);
  EXPECT_THAT(in.samples[0].shape, ElementsAre(536870912, 16, 2));
  EXPECT_EQ(in.samples[0].fabric, "ib-400g");
}

// Prefixes of mpirun and of pod logs, colours, tabs, reply marks, a table pasted with bars.
TEST(NcclTests, WhateverStandsAroundARow) {
  for (std::string const& row : std::vector<std::string>{
           "[1,0]<stdout>: " + kRow1G, "2026-01-31T10:00:00.123Z worker-0 " + kRow1G, "> > " + kRow1G,
           "0: "
           "\x1b[32m1073741824\x1b[0m\t268435456\tfloat\tsum\t-1\t4127.3\t260.16\t455.27\t0\t4127.3\t260."
           "16\t455.27\t0\r\n",
           std::string("| 1073741824 | 268435456 | float | sum | -1 | 4127.3 | 260.16 | 455.27 | 0 | 4127.3 "
                       "| 260.16 | "
                       "455.27 | 0 |\n"),
           std::string("1073741824\xC2\xA0 268435456 float sum -1 4127.3 260.16 455.27 N/A 4127.3 260.16 "
                       "455.27 N/A")}) {
    Imported const in = read(row, on("h200-sxm"));
    ASSERT_EQ(in.samples.size(), 2U) << row << format(in.problems);
    EXPECT_EQ(in.samples[0].gpu, "h200-sxm");
    // No header at all: sum and busbw / algbw = 1.75 are an all-reduce of 2 / (2 - 1.75) = 8 ranks.
    EXPECT_EQ(in.samples[0].operation, "all_reduce");
    EXPECT_THAT(in.samples[0].shape, ElementsAre(1073741824, 8, 1));
  }
}

TEST(NcclTests, OldLayoutsAndOutOfPlaceOnly) {
  for (char const* row :
       {"1073741824 268435456 float sum 4127.3 260.16 455.27 5e-07 4127.3 260.16 455.27 5e-07",
        "1073741824 268435456 float sum 4127.3 260.16 455.27 0",
        "1073741824 268435456 float sum -1 4127.3 260.16 455.27",
        "1073741824 268435456 float sum 4127.3 260.16 455.27",
        "1073741824 268435456 float sum -1 4127.3 260.16 455.27 0",
        "1073741824 268435456 float 4127.3 260.16 455.27 0 4127.3 260.16 455.27 0"}) {
    NcclRowResult const r = nccl_row(log_words(row));
    ASSERT_TRUE(r.row) << row << ": " << r.error;
    EXPECT_DOUBLE_EQ(r.row->out_of_place.time_us, 4127.3) << row;
    EXPECT_DOUBLE_EQ(r.row->out_of_place.busbw, 455.27) << row;
  }
}

TEST(NcclTests, SeveralCollectivesInOnePaste) {
  Imported const in =
      read("$ ./all_reduce_perf -g 8\n# nThread 1 nGpus 8\n" + ranks(1) + kHead + kRow1G +
               "# Avg bus bandwidth : 455\n$ ./all_gather_perf -g 8\n# nThread 1 nGpus 8\n" + ranks(1) +
               kHead + kGather + "# Avg bus bandwidth : 391\n$ mpirun ./reduce_perf\n# nThread 1 nGpus 8\n" +
               ranks(1) + kHead + kRow8M + "$ ./sendrecv_perf\n# nThread 1 nGpus 2\n" + kHead +
               "16777216 4194304 float none -1 120.5 139.23 139.23 0 120.5 139.23 139.23 N/A\n",
           on("h100-sxm"));
  ASSERT_EQ(in.samples.size(), 6U) << format(in.problems);
  EXPECT_EQ(in.samples[0].operation, "all_reduce");
  EXPECT_EQ(in.samples[2].operation, "all_gather");
  EXPECT_EQ(in.samples[4].operation, "send_recv");
  EXPECT_THAT(in.samples[4].shape, ElementsAre(16777216, 2, 1));
  ASSERT_EQ(in.skipped.size(), 1U);
  EXPECT_EQ(in.skipped[0].why, "no price for the collective reduce");
}

TEST(NcclTests, WhatALogLeavesOpenIsAsked) {
  EXPECT_THAT(format(read(kGather, on("h100-sxm")).problems),
              HasSubstr("paste.txt:1:1: no telling which collective"));
  ImportHints named = on("h100-sxm");
  named.collective = "all_gather";
  EXPECT_EQ(read(kGather, named).samples.size(), 2U);
  EXPECT_THAT(format(read(kRow1G).problems), HasSubstr("no telling which GPU this is; name it with --gpu"));
}

TEST(NcclTests, AnUnknownCardIsNamed) {
  EXPECT_THAT(format(read("#  Rank  0 Pid 1 on a device  0 [0x1b] NVIDIA Foo 9000\n" + kRow1G).problems),
              HasSubstr("'NVIDIA Foo 9000' is no GPU of the catalog; name it with --gpu"));
}

// Sixteen ranks, whose containers share one host name.
TEST(NcclTests, MoreRanksOnAHostThanANodeHolds) {
  std::string list = ranks(2);
  for (std::size_t at = 0; (at = list.find("node-1", at)) != std::string::npos;)
    list.replace(at, 6, "node-0");
  ImportHints hints;
  hints.fabric = "ib-400g";
  Imported const in = read(list + "./all_reduce_perf\n" + kHead + kRow1G, hints);
  EXPECT_TRUE(in.samples.empty());
  EXPECT_THAT(format(in.problems), HasSubstr("16 ranks on one host, but a node has 8 h100-sxm"));
}

TEST(NcclTests, BrokenRowsAreProblemsAndTheOthersStay) {
  struct Case {
    std::string row, message;
  };
  std::string const cut = "  1073741824     268435456     float     sum      -1   4127.3  260.16\n";
  for (Case const& c :
       {Case{cut, "the row is cut off"},
        Case{"1073741824 268435456 float sum -1 41.273 260.16 455.27 0 4127.3 260.16 455.27 0\n",
             "1073741824 bytes in 41.273 us are 2.602e+04 GB/s, not 260.16"},
        Case{"1073741824 268435456 float sum -1 0.00 0.00 0.00 0\n", "a time of 0.00 us"},
        Case{"1073741824 268435456 float sum -1 nan 260.16 455.27 0\n", "is no time"},
        Case{"1073741824 268435456 float sum -1 4127.3 260.16 455.27 77 4127.3 260.16 455.27 0\n",
             "nccl-tests reported 77 wrong results in this row; it is left out"},
        Case{"1073741824 268435456 float sum -1 4127.3 260.16 260.16 0 4127.3 260.16 260.16 0\n",
             "busbw: 260.16 over 260.16 GB/s does not fit all_reduce of 8 ranks"}}) {
    Imported const in = read("./all_reduce_perf\n" + ranks(1) + kHead + kRow8M + c.row + kRow1G);
    EXPECT_EQ(in.samples.size(), 4U) << c.row;
    ASSERT_EQ(in.problems.size(), 1U) << c.row;
    EXPECT_EQ(in.problems[0].line, 16) << c.row;
    EXPECT_THAT(format(in.problems), HasSubstr(c.message));
  }
}

TEST(NcclTests, Versions) {
  EXPECT_EQ(nccl_version(log_words("host:1 [0] NCCL INFO NCCL version 2.27.3+cuda12.9")), "2.27.3+cuda12.9");
  EXPECT_EQ(nccl_version(log_words("# nccl-tests version 2.17.1 nccl-headers=22703 nccl-library=22703")),
            "2.27.3");
  EXPECT_EQ(nccl_version(log_words("nccl-library=2804")), "2.8.4");
}

TEST(NcclTests, ACollectedTable) {
  std::string const text =
      "table_id,collective,gpu,nodes,nranks,nic,nccl,algo,size_B,time_us,algbw_GBps,busbw_GBps\n"
      "X1,all_reduce,H100-80GB SXM,2,16,8xIB NDR400,2.26.2,default,8388608,215.3,38.96,73.05\n"
      "X2,all_reduce,H100-80GB SXM,2,16,8xNDR400 (reported as "
      "under-performing),,default,8388608,215.3,38.96,73.05\n"
      "X3,sendrecv,A100-80GB SXM,1,8,NVLink3/NVSwitch,,Ring forced,1024,x,1,1\n";
  ASSERT_TRUE(is_nccl_tests_table(table_columns(text)));
  Imported out;
  read_nccl_tests_table({"t.csv", "t.csv", text, {}}, out);
  ASSERT_EQ(out.samples.size(), 1U);
  EXPECT_EQ(out.samples[0].fabric, "ib-400g");
  EXPECT_EQ(out.samples[0].version, "nccl 2.26.2");
  EXPECT_EQ(out.samples[0].source, "t.csv X1");
  EXPECT_EQ(out.skipped.at(0).rows, 1);
  EXPECT_THAT(format(out.problems), HasSubstr("t.csv:4:1: time_us: 'x' is not a number above 0"));
}

}  // namespace
}  // namespace rollcast
