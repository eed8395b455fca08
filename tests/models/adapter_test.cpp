#include "models/adapter.hpp"

#include <gtest/gtest.h>

#include "models/sharding.hpp"
#include "tests/models/ledger_jobs.hpp"

namespace rollcast {
namespace {

Adapter q_and_v() {
  Adapter a;
  a.rank = 16;
  a.targets = {"q", "v"};
  return a;
}

// Both d x d, d = 8,192: 80 layers x 2 x 16 x (8,192 + 8,192) = 41,943,040.
TEST(Adapter, SquareProjections) {
  Architecture a = test::model("llama-3-70b");
  a.kv_heads = a.heads;
  EXPECT_EQ(adapter_parameters(q_and_v(), a), 41'943'040);
}

// Llama-3-70B's own shapes: q [8192, 8192] 16 x 16,384 = 262,144, v [1024, 8192] 16 x 9,216 = 147,456;
// x 80 layers = 32,768,000.
TEST(Adapter, GroupedQueryShapes) {
  EXPECT_EQ(adapter_parameters(q_and_v(), test::model("llama-3-70b")), 32'768'000);
  // More than an int of ranks: 65,536 x 32,768 = 2^31 of rank 1, 32,768,000 / 16 parameters each.
  Adapter many = q_and_v();
  many.rank = 65'536;
  many.count = 32'768;
  EXPECT_EQ(adapter_parameters(many, test::model("llama-3-70b")), (std::int64_t{1} << 31) * 2'048'000);
}

// All seven of Llama-3.1-8B (h 4096, kv 1024, f 14336), r 16, per layer: q, o 2 x 16 x 8,192; k, v 2 x 16 x
// 5,120; gate, up, down 3 x 16 x 18,432 = 1,310,720; x 32 = 41,943,040.
TEST(Adapter, AllLinearLayers) {
  Adapter a = q_and_v();
  a.targets = {"q", "k", "v", "o", "gate", "up", "down"};
  EXPECT_EQ(adapter_parameters(a, test::model("llama-3.1-8b")), 41'943'040);
}

// Qwen3-30B-A3B's "gate" is the experts' gate_proj (128 x [768, 2048] per layer), not the router mlp.gate:
// 48 layers x 128 x 16 x 2,816 = 276,824,064.
TEST(Adapter, GateMeansTheProjection) {
  Adapter a = q_and_v();
  a.targets = {"gate"};
  EXPECT_EQ(adapter_parameters(a, test::model("qwen3-30b-a3b")), 276'824'064);
}

// q [8192, 8192] at tp 8: A [16, 8192] whole, B [1024, 16] cut: 16 x 9,216; v: B [128, 16]: 16 x 8,320; x 80.
TEST(Adapter, TensorParallelCutsOneFactor) {
  Architecture const a = test::model("llama-3-70b");
  RankParameters const n =
      rank_parameters(a, pipeline_stages(a, 1).front(), Head::vocabulary, {8, 1, 1, 1}, q_and_v());
  EXPECT_DOUBLE_EQ(n.adapter_dense, 80.0 * 16 * (9216 + 8320));
}

// What stays in bf16 of Llama-3-70B: embedding and lm_head 2 x 128,256 x 8,192 and 161 norms of 8,192.
TEST(Adapter, EmbeddingsAndNormsAreNotQuantized) {
  Architecture const a = test::model("llama-3-70b");
  Adapter qlora = q_and_v();
  qlora.kind = AdapterKind::qlora;
  RankParameters const n = rank_parameters(a, pipeline_stages(a, 1).front(), Head::vocabulary, {}, qlora);
  EXPECT_DOUBLE_EQ(n.dense - n.quantized_dense, 2.0 * 128'256 * 8192 + 161.0 * 8192);
  EXPECT_DOUBLE_EQ(n.largest_quantized, 28'672.0 * 8192);
}

}  // namespace
}  // namespace rollcast
