#include "models/layer_passes.hpp"

#include <gtest/gtest.h>

#include "price_fixtures.hpp"

namespace rollcast {
namespace {

// Llama-3.1-8B: hidden 4096, 32 heads and 8 key-value heads of 128, MLP 14336.
LayerPasses llama(KernelStack stack, TrainerKind trainer, Cut cut = {}) {
  return layer_passes(catalog_model("llama-3.1-8b"), 0, cut, stack, trainer, /*frozen_base=*/false);
}

TEST(LayerPasses, FusedByHand) {
  LayerPasses const p = llama(KernelStack::fused, TrainerKind::fsdp2);
  EXPECT_DOUBLE_EQ(p.forward.stream_bytes, (2 * 4 + 2 * 6) * 4096.0);
  // Norms 6, adds 6, three joins of input gradients (q, k, v; gate, up) 6 each.
  EXPECT_DOUBLE_EQ(p.backward.stream_bytes, (2 * 6 + 2 * 6 + 3 * 6) * 4096.0);
  EXPECT_DOUBLE_EQ(p.forward.inner_bytes, 4 * 40 * 128 + 6 * 14336.0);
  EXPECT_DOUBLE_EQ(p.backward.inner_bytes, 4 * 40 * 128 + 10 * 14336.0);
  // Two norms, two adds, two rotations, activation, seven products, two around attention.
  EXPECT_EQ(p.forward.operations, 2 + 2 + 2 + 1 + 7 + 2);
}

TEST(LayerPasses, MegatronCutsQueriesKeysAndValuesApart) {
  LayerPasses const p = llama(KernelStack::fused, TrainerKind::megatron);
  LayerPasses const other = llama(KernelStack::fused, TrainerKind::fsdp2);
  EXPECT_DOUBLE_EQ(p.forward.inner_bytes - other.forward.inner_bytes, 4 * 4096.0);
  EXPECT_DOUBLE_EQ(p.backward.inner_bytes - other.backward.inner_bytes, 4 * 4096.0 + 4 * 48 * 128);
  EXPECT_LT(p.backward.stream_bytes, other.backward.stream_bytes);  // no gradients to join
}

TEST(LayerPasses, EagerCastsUpAndRunsEveryOperation) {
  LayerPasses const p = llama(KernelStack::eager, TrainerKind::fsdp2);
  EXPECT_DOUBLE_EQ(p.forward.stream_bytes, (2 * 36 + 2 * 6) * 4096.0);
  EXPECT_DOUBLE_EQ(p.backward.stream_bytes, (2 * 84 + 2 * 6 + 3 * 6) * 4096.0);
  EXPECT_DOUBLE_EQ(p.forward.inner_bytes, 20 * 40 * 128 + 10 * 14336.0);
  EXPECT_DOUBLE_EQ(p.backward.inner_bytes, 30 * 40 * 128 + 18 * 14336.0);
}

TEST(LayerPasses, MoreFusionMovesLessAndLaunchesLess) {
  for (char const* name : {"llama-3.1-8b", "qwen3-4b", "qwen3-30b-a3b", "phi-1.5", "deepseek-v3"}) {
    Architecture const a = catalog_model(name);
    int const layer = a.layers - 1;
    LayerPasses const c = layer_passes(a, layer, {}, KernelStack::compiled, TrainerKind::fsdp2, false);
    LayerPasses const f = layer_passes(a, layer, {}, KernelStack::fused, TrainerKind::fsdp2, false);
    LayerPasses const e = layer_passes(a, layer, {}, KernelStack::eager, TrainerKind::fsdp2, false);
    EXPECT_LE(c.forward.stream_bytes + c.forward.inner_bytes, f.forward.stream_bytes + f.forward.inner_bytes);
    EXPECT_LE(f.forward.stream_bytes + f.forward.inner_bytes, e.forward.stream_bytes + e.forward.inner_bytes);
    EXPECT_LE(f.backward.stream_bytes + f.backward.inner_bytes,
              e.backward.stream_bytes + e.backward.inner_bytes);
    EXPECT_LT(c.forward.operations, e.forward.operations) << name;
    EXPECT_LT(c.backward.operations, e.backward.operations) << name;
  }
}

TEST(LayerPasses, TensorParallelismCutsTheInnerPart) {
  LayerPasses const one = llama(KernelStack::fused, TrainerKind::megatron);
  LayerPasses const four = llama(KernelStack::fused, TrainerKind::megatron, {4, 1, false});
  EXPECT_DOUBLE_EQ(four.forward.inner_bytes, one.forward.inner_bytes / 4);
  EXPECT_DOUBLE_EQ(four.backward.inner_bytes, one.backward.inner_bytes / 4);
  EXPECT_DOUBLE_EQ(four.forward.stream_bytes, one.forward.stream_bytes);
}

TEST(LayerPasses, AFrozenBaseRunsOneGradientOfEachProduct) {
  Architecture const a = catalog_model("llama-3.1-8b");
  LayerPasses const full = layer_passes(a, 0, {}, KernelStack::eager, TrainerKind::fsdp2, false);
  LayerPasses const frozen = layer_passes(a, 0, {}, KernelStack::eager, TrainerKind::fsdp2, true);
  EXPECT_EQ(full.backward.operations - frozen.backward.operations, 7);
}

TEST(LayerPasses, AMergedProductOfQueriesKeysAndValues) {
  Architecture const a = catalog_model("llama-3.1-8b");
  auto const passes = [&](bool merged) {
    return layer_passes(a, 0, {}, KernelStack::eager, TrainerKind::fsdp2, /*frozen_base=*/false, merged);
  };
  LayerPasses const apart = passes(false);
  LayerPasses const merged = passes(true);
  // Two products fewer, each with two gradients; backward joins two input gradients less, and puts 48 heads
  // of 128 together in one operation.
  EXPECT_EQ(merged.forward.operations - apart.forward.operations, -2);
  EXPECT_EQ(merged.backward.operations - apart.backward.operations, -4 - 2 + 1);
  EXPECT_DOUBLE_EQ(merged.forward.inner_bytes, apart.forward.inner_bytes);
  EXPECT_DOUBLE_EQ(merged.backward.inner_bytes - apart.backward.inner_bytes, 4.0 * 48 * 128);
  EXPECT_DOUBLE_EQ(merged.backward.stream_bytes - apart.backward.stream_bytes, -2 * 6 * 4096.0);
}

TEST(LayerPasses, AMixtureMovesTheRoutedCopies) {
  // Qwen3-30B-A3B: hidden 2048, 8 of 128 experts of 768, 32 + 4 heads of 128 with head norms.
  Architecture const a = catalog_model("qwen3-30b-a3b");
  LayerPasses const p = layer_passes(a, 0, {}, KernelStack::fused, TrainerKind::fsdp2, false);
  EXPECT_DOUBLE_EQ(p.forward.inner_bytes, (4 + 4) * 36 * 128 + 8 * (6 * 768 + 8 * 2048.0));
}

// Llama-3.1-8B: keys and values of 1024 read, 4096 written, 2 B each; nothing where every head has its own.
TEST(LayerPasses, KeysAndValuesCopiedToEveryHead) {
  Architecture a = catalog_model("llama-3.1-8b");
  LayerPasses p;
  add_kv_copies(p, a, 0, {});
  EXPECT_DOUBLE_EQ(p.forward.inner_bytes, 2 * 2 * (1024 + 4096));
  EXPECT_DOUBLE_EQ(p.backward.inner_bytes, 2 * 2 * (1024 + 4096));
  EXPECT_EQ(p.forward.operations, 2);
  a.kv_heads = a.heads;
  LayerPasses none;
  add_kv_copies(none, a, 0, {});
  EXPECT_DOUBLE_EQ(none.forward.inner_bytes, 0);
}

}  // namespace
}  // namespace rollcast
