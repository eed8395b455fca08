#include "models/engine_defaults.hpp"

#include <gtest/gtest.h>

#include <string>

#include "models/catalog/catalog.hpp"
#include "models/engine_dense.hpp"

namespace rollcast {
namespace {

EngineDefaults of(EngineKind engine, std::string const& gpu, int tp = 1) {
  return engine_defaults(engine, *find_gpu(builtin_catalog(), gpu), tp);
}

TEST(EngineDefaults, VllmTellsLargeCardsButTheA100) {
  for (std::string const gpu : {"h100-sxm", "h200-sxm"}) {
    EXPECT_EQ(of(EngineKind::vllm, gpu).max_num_seqs, 1024) << gpu;
    EXPECT_EQ(of(EngineKind::vllm, gpu).max_num_batched_tokens, 16384) << gpu;
  }
  for (std::string const gpu : {"a100-sxm-80gb", "l40s", "a10g"}) {
    EXPECT_EQ(of(EngineKind::vllm, gpu).max_num_seqs, 256) << gpu;
    EXPECT_EQ(of(EngineKind::vllm, gpu).max_num_batched_tokens, 8192) << gpu;
  }
  EXPECT_EQ(of(EngineKind::vllm, "l40s").block_size, 16);
}

TEST(EngineDefaults, SglangGoesByMemoryAndTp) {
  EXPECT_EQ(of(EngineKind::sglang, "h100-sxm").max_num_batched_tokens, 8192);
  EXPECT_EQ(of(EngineKind::sglang, "h100-sxm").cuda_graph_tokens, 256);
  EXPECT_EQ(of(EngineKind::sglang, "h100-sxm", 4).cuda_graph_tokens, 512);
  EXPECT_EQ(of(EngineKind::sglang, "h100-sxm").block_size, 1);
  EXPECT_EQ(of(EngineKind::sglang, "l40s").max_num_batched_tokens, 4096);
  EXPECT_EQ(of(EngineKind::sglang, "a10g").max_num_batched_tokens, 2048);
  EXPECT_EQ(of(EngineKind::sglang, "b200-sxm").max_num_batched_tokens, 16384);
  // H100: 512 + 1.5 x 8192 + 2 x 256 + 1024 / 8 = 13,440 MiB are left over.
  Gpu const& h100 = *find_gpu(builtin_catalog(), "h100-sxm");
  EXPECT_NEAR(
      (1 - of(EngineKind::sglang, "h100-sxm").gpu_memory_utilization) * (h100.visible_memory / MiB(1)), 13440,
      1e-6);
}

TEST(EngineDefaults, EachHasASource) {
  for (EngineKind const k : {EngineKind::vllm, EngineKind::sglang, EngineKind::trtllm, EngineKind::hf}) {
    EngineDefaults const d = of(k, "h100-sxm");
    EXPECT_FALSE(d.source.empty());
    EXPECT_GT(d.max_num_seqs, 0);
    EXPECT_GT(d.gpu_memory_utilization, 0.5);
    EXPECT_LT(d.gpu_memory_utilization, 1);
  }
}

TEST(EngineDefaults, GraphsHoldStepsUpToALimit) {
  Gpu const& h100 = *find_gpu(builtin_catalog(), "h100-sxm");
  EngineOptions e;
  e.max_num_seqs = 1024;
  EXPECT_EQ(graph_tokens(h100, e), 512);
  e.max_num_seqs = 64;
  EXPECT_EQ(graph_tokens(h100, e), 128);
  e.kind = EngineKind::trtllm;
  EXPECT_EQ(graph_tokens(h100, e), 128);
  e.cuda_graphs = false;
  EXPECT_EQ(graph_tokens(h100, e), 0);
}

// A card of 80 GiB = 81,920 MiB, 512 graph tokens, tp 8: 512 + 1.5 x 16,384 + 2 x 512 + 1,024 = 27,136 MiB;
// with data-parallel attention 4.5 x 512 x 8 = 18,432 more; speculative decoding 2,048 more. Without
// chunks 1.5 x 2,048: 5,632 MiB, and at least 10 GiB.
TEST(EngineDefaults, ReserveOfSglang) {
  Gpu gpu;
  gpu.visible_memory = GiB(80);
  EngineOptions e;
  e.parallel.tp = 8;
  e.max_num_batched_tokens = 16'384;
  EXPECT_DOUBLE_EQ(sglang_static_fraction(gpu, e, 512), (81'920 - 27'136) / 81'920.0);
  e.data_parallel_attention = true;
  EXPECT_DOUBLE_EQ(sglang_static_fraction(gpu, e, 512), (81'920 - 45'568) / 81'920.0);
  e.speculative = Speculation{};
  EXPECT_DOUBLE_EQ(sglang_static_fraction(gpu, e, 512), (81'920 - 47'616) / 81'920.0);
  EngineOptions whole;
  whole.parallel.tp = 8;
  whole.chunked_prefill = false;
  EXPECT_DOUBLE_EQ(sglang_static_fraction(gpu, whole, 512), (81'920 - 10'240) / 81'920.0);
}

// Llama-2's 4,096 tokens in one step; Llama-3.1's 131,072 in pieces of 2,048 from 0.5.4 on; V1 from 0.8.
TEST(EngineDefaults, EarlyVllmTakesShortPromptsWhole) {
  Gpu const& gpu = *find_gpu(builtin_catalog(), "h100-sxm");
  auto const of = [&](char const* version, int context) {
    return engine_defaults(EngineKind::vllm, version, gpu, 1, context);
  };
  EXPECT_FALSE(of("0.6.5", 4096).chunked_prefill);
  EXPECT_EQ(of("0.6.5", 4096).max_num_batched_tokens, 4096);
  EXPECT_EQ(of("0.6.5", 1024).max_num_batched_tokens, 2048);
  EXPECT_EQ(of("0.6.5", 4096).max_num_seqs, 256);
  EXPECT_TRUE(of("0.6.5", 131072).chunked_prefill);
  EXPECT_EQ(of("0.6.5", 131072).max_num_batched_tokens, 2048);
  EXPECT_FALSE(of("0.4.2", 131072).chunked_prefill);
  for (char const* later : {"0.8.0", ""}) {
    EXPECT_TRUE(of(later, 4096).chunked_prefill);
    EXPECT_EQ(of(later, 4096).max_num_seqs, 1024);
  }
  EXPECT_TRUE(engine_defaults(EngineKind::sglang, "0.4.0", gpu, 1, 4096).chunked_prefill);
}

}  // namespace
}  // namespace rollcast
