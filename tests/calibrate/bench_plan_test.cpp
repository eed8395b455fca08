// Which benchmark programs a request starts, and that each of them takes what it is started with.
#include "calibrate/bench_plan.hpp"

#include <gtest/gtest.h>

#include <map>

#include "calibrate/bench/options.hpp"
#include "models/catalog/catalog.hpp"

namespace rollcast {
namespace {

std::vector<std::string> names_of(BenchPlan const& plan) {
  std::vector<std::string> names;
  for (BenchProgram const& p : plan.programs)
    names.push_back(p.name.substr(std::string("rollcast_bench_").size()));
  return names;
}

// What the program itself says to its arguments: "" when it would measure.
std::string refusal(BenchProgram const& p) {
  auto const said = [](auto const& read) { return read.exit_code == -1 ? std::string() : read.text; };
  if (p.name == "rollcast_bench_gemm") return said(gemm_options(p.arguments));
  if (p.name == "rollcast_bench_attention") return said(attention_options(p.arguments));
  if (p.name == "rollcast_bench_memory") return said(memory_options(p.arguments));
  if (p.name == "rollcast_bench_copy") return said(copy_options(p.arguments));
  if (p.name == "rollcast_bench_launch") return said(launch_options(p.arguments));
  if (p.name == "rollcast_bench_nccl") return said(nccl_options(p.arguments));
  return "no program " + p.name;
}

TEST(BenchPlan, AllProgramsUnlessSomeAreNamed) {
  BenchRequest r;
  r.model = "llama-3.1-8b";
  EXPECT_EQ(names_of(bench_plan(r)), bench_programs());
  r.only = {"nccl", "copy"};
  EXPECT_EQ(names_of(bench_plan(r)), (std::vector<std::string>{"copy", "nccl"}));
}

TEST(BenchPlan, EveryModelGivesOptionsThatTheProgramsTake) {
  for (Architecture const& a : builtin_catalog().architectures) {
    for (bool const sustained : {false, true}) {
      BenchRequest r;
      r.model = a.name;
      r.gpu = "h100-sxm";
      r.device = 1;
      r.sustained = sustained;
      r.whole_experts = true;
      BenchPlan const plan = bench_plan(r);
      EXPECT_EQ(plan.error, "") << a.name;
      EXPECT_GE(plan.programs.size(), 4U) << a.name;
      for (BenchProgram const& p : plan.programs) EXPECT_EQ(refusal(p), "") << a.name << ' ' << p.name;
    }
  }
}

TEST(BenchPlan, TheLayoutReachesThePrograms) {
  BenchRequest r;
  r.model = "qwen3-30b-a3b";
  r.tp = 2;
  r.ep = 4;
  r.dtypes = {"bf16"};
  BenchPlan const plan = bench_plan(r);
  ASSERT_EQ(plan.programs.size(), 6U);
  auto const gemm = gemm_options(plan.programs[0].arguments);
  EXPECT_EQ(gemm.options.dtypes, (std::vector<std::string>{"bf16"}));
  GemmWork work{{}, {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384}, true};
  work.cut.tp = 2;
  work.cut.ep = 4;
  Architecture const& a = *find_architecture(builtin_catalog(), r.model);
  EXPECT_EQ(shapes_text(gemm.options.shapes), shapes_text(gemm_shapes(a, work)));
  EXPECT_EQ(attention_options(plan.programs[1].arguments).options.heads, a.heads / 2);
  EXPECT_EQ(memory_options(plan.programs[2].arguments).options.heads, a.heads / 2);
}

TEST(BenchPlan, SustainedRunsTakeOneLargeSize) {
  BenchRequest r;
  r.model = "llama-3.1-8b";
  r.sustained = true;
  r.duration = seconds(90);
  BenchPlan const plan = bench_plan(r);
  EXPECT_EQ(names_of(plan), (std::vector<std::string>{"gemm", "attention", "memory", "copy", "nccl"}));
  ASSERT_EQ(plan.left_out.size(), 1U);
  auto const gemm = gemm_options(plan.programs[0].arguments).options;
  EXPECT_TRUE(gemm.run.sustained);
  EXPECT_DOUBLE_EQ(gemm.run.duration.value, 90);
  for (GemmShape const& s : gemm.shapes) EXPECT_TRUE(s.m == 8192 || s.k == 8192) << s.m << ' ' << s.k;
  EXPECT_EQ(copy_options(plan.programs[3].arguments).options.bytes.size(), 1U);
}

TEST(BenchPlan, LatentAttentionIsLeftOutAloud) {
  BenchRequest r;
  r.model = "deepseek-v3";
  BenchPlan const plan = bench_plan(r);
  EXPECT_EQ(names_of(plan), (std::vector<std::string>{"gemm", "memory", "copy", "launch", "nccl"}));
  ASSERT_EQ(plan.left_out.size(), 1U);
  EXPECT_NE(plan.left_out[0].find("latent attention"), std::string::npos);
}

TEST(BenchPlan, MistakesAreOneSentence) {
  BenchRequest r;
  EXPECT_EQ(bench_plan(r).error, "--model is needed for the sizes of gemm, attention and memory");
  r.only = {"copy", "launch"};
  EXPECT_EQ(bench_plan(r).error, "");
  r.only = {};
  r.model = "llama-9";
  EXPECT_NE(bench_plan(r).error.find("--model: the catalog has no 'llama-9'"), std::string::npos);
  r.model = "llama-3.1-8b";
  r.tp = 5;
  EXPECT_NE(bench_plan(r).error.find("--tp 5 does not divide the 32 heads"), std::string::npos);
  r.tp = 1;
  r.gpu = "abacus";
  EXPECT_NE(bench_plan(r).error.find("--gpu: the catalog has no 'abacus'"), std::string::npos);
}

}  // namespace
}  // namespace rollcast
