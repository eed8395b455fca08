#include "calibrate/bench_shapes.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "models/catalog/catalog.hpp"

namespace rollcast {
namespace {

Architecture const& model(char const* name) { return *find_architecture(builtin_catalog(), name); }

bool has(std::vector<GemmShape> const& list, GemmShape const& shape) {
  return std::any_of(list.begin(), list.end(), [&](GemmShape const& s) {
    return s.m == shape.m && s.n == shape.n && s.k == shape.k && s.pass == shape.pass &&
           s.tensor == shape.tensor;
  });
}

// Llama-3.1-8B: hidden 4096, 32 heads and 8 KV heads of 128, MLP 14336, vocabulary 128256. Under tp 2:
// q 2048 x 4096, k and v 512 x 4096, o 4096 x 2048, gate and up 7168 x 4096, down 4096 x 7168, lm_head
// 64128 x 4096. k and v, gate and up are the same product: 6 distinct ones.
TEST(GemmShapes, ALlamaLayerUnderTensorParallelism) {
  auto const shapes = gemm_shapes(model("llama-3.1-8b-instruct"), {{.tp = 2}, {512}, false});
  EXPECT_EQ(shapes.size(), 6U);
  EXPECT_TRUE(has(shapes, {512, 2048, 4096, GemmPass::forward, "self_attn.q_proj.weight"}));
  EXPECT_TRUE(has(shapes, {512, 512, 4096, GemmPass::forward, "self_attn.k_proj.weight"}));
  EXPECT_TRUE(has(shapes, {512, 4096, 2048, GemmPass::forward, "self_attn.o_proj.weight"}));
  EXPECT_TRUE(has(shapes, {512, 7168, 4096, GemmPass::forward, "mlp.gate_proj.weight"}));
  EXPECT_TRUE(has(shapes, {512, 4096, 7168, GemmPass::forward, "mlp.down_proj.weight"}));
  EXPECT_TRUE(has(shapes, {512, 64128, 4096, GemmPass::forward, "lm_head.weight"}));
}

// down_proj of tp 2: W is 4096 x 7168, so dx[512, 7168] sums over 4096 and dW[4096, 7168] over 512 tokens.
TEST(GemmShapes, GradientsAreTheProductsThatTheyAre) {
  auto const shapes = gemm_shapes(model("llama-3.1-8b-instruct"), {{.tp = 2}, {512}, true});
  EXPECT_EQ(shapes.size(), 18U);
  EXPECT_TRUE(has(shapes, {512, 7168, 4096, GemmPass::dgrad, "mlp.down_proj.weight"}));
  EXPECT_TRUE(has(shapes, {4096, 7168, 512, GemmPass::wgrad, "mlp.down_proj.weight"}));
}

TEST(GemmShapes, FlopsOfThePassesAgree) {
  for (Architecture const& a : builtin_catalog().architectures) {
    auto const shapes = gemm_shapes(a, {{}, {256}, true});
    for (GemmShape const& s : shapes) {
      EXPECT_GT(s.m, 0) << a.name << ' ' << s.tensor;
      EXPECT_GT(s.n, 0) << a.name << ' ' << s.tensor;
      EXPECT_GT(s.k, 0) << a.name << ' ' << s.tensor;
      if (s.pass != GemmPass::forward) continue;
      auto const product = [&](GemmPass pass) {
        auto const it = std::find_if(shapes.begin(), shapes.end(), [&](GemmShape const& o) {
          return o.pass == pass && o.m * o.n * o.k == s.m * s.n * s.k;
        });
        return it != shapes.end();
      };
      EXPECT_TRUE(product(GemmPass::dgrad)) << a.name << ' ' << s.tensor;
      EXPECT_TRUE(product(GemmPass::wgrad)) << a.name << ' ' << s.tensor;
    }
  }
}

// Qwen3-30B-A3B: 128 experts, 8 per token, width 768. 4096 tokens x 8 / 128 experts = 256 rows each; under
// ep 8 the eight ranks bring 4096 tokens each: 8 x 256 = 2048 rows for each of the 16 experts of a rank.
TEST(GemmShapes, AnExpertGetsItsMeanShareOfTheTokens) {
  Architecture const& a = model("qwen3-30b-a3b");
  ASSERT_EQ(a.moe->experts, 128);
  ASSERT_EQ(a.moe->expert_intermediate, 768);
  auto const alone = gemm_shapes(a, {{}, {4096}, false});
  auto const rows = [&](std::vector<GemmShape> const& list) {
    for (GemmShape const& s : list) {
      if (s.n == 768 && s.k == a.hidden) return s.m;
    }
    return std::int64_t{0};
  };
  EXPECT_EQ(rows(alone), 256);
  EXPECT_EQ(rows(gemm_shapes(a, {{.ep = 8}, {4096}, false})), 2048);
  auto const few = gemm_shapes(a, {{}, {1}, false});
  for (GemmShape const& s : few) EXPECT_GE(s.m, 1);
}

TEST(GemmShapes, EachProductOnce) {
  auto const shapes = gemm_shapes(model("llama-3.1-8b-instruct"), {{}, {64, 64, 128}, true});
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    for (std::size_t j = i + 1; j < shapes.size(); ++j) {
      EXPECT_FALSE(shapes[i].m == shapes[j].m && shapes[i].n == shapes[j].n && shapes[i].k == shapes[j].k &&
                   shapes[i].pass == shapes[j].pass);
    }
  }
}

TEST(ShapesFile, ReadsBackWhatItWrites) {
  auto const shapes = gemm_shapes(model("llama-3.1-8b-instruct"), {{.tp = 4}, {1, 4096}, true});
  ShapesRead const read = read_shapes(shapes_text(shapes), "shapes.csv");
  EXPECT_TRUE(read.problems.empty());
  ASSERT_EQ(read.shapes.size(), shapes.size());
  for (GemmShape const& s : shapes) EXPECT_TRUE(has(read.shapes, s));
}

TEST(ShapesFile, ShortLinesCommentsAndBlanks) {
  ShapesRead const read = read_shapes("# mine\n 16 , 32,64\r\n\n8,8,8,wgrad # odd\n", "s.csv");
  EXPECT_TRUE(read.problems.empty());
  ASSERT_EQ(read.shapes.size(), 2U);
  EXPECT_EQ(read.shapes[0].k, 64);
  EXPECT_EQ(read.shapes[0].pass, GemmPass::forward);
  EXPECT_EQ(read.shapes[1].pass, GemmPass::wgrad);
}

TEST(ShapesFile, EveryProblemWithItsLine) {
  ShapesRead const read = read_shapes("1,2\n0,1,1\n1,1,x\n1,1,1,sideways\n4,4,4\n1,1,4294967296\n", "s.csv");
  EXPECT_EQ(read.shapes.size(), 1U);
  ASSERT_EQ(read.problems.size(), 5U);
  EXPECT_EQ(read.problems[0].line, 1);
  EXPECT_EQ(read.problems[1].line, 2);
  EXPECT_EQ(read.problems[3].what, "\"sideways\" is no pass");
  EXPECT_EQ(read.problems[3].remedy, "write forward, dgrad or wgrad");
  EXPECT_EQ(read.problems[4].line, 6);
}

}  // namespace
}  // namespace rollcast
