#include "models/adapter_passes.hpp"

#include <gtest/gtest.h>

#include "price_fixtures.hpp"

namespace rollcast {
namespace {

Matmul matmul(char const* tensor, double n, double k) {
  Matmul m;
  m.tensor = tensor;
  m.n = n;
  m.k = k;
  return m;
}

std::vector<Matmul> attention() {
  return {matmul("self_attn.q_proj.weight", 4096, 4096), matmul("self_attn.k_proj.weight", 1024, 4096),
          matmul("self_attn.v_proj.weight", 1024, 4096), matmul("self_attn.o_proj.weight", 4096, 4096)};
}

Adapter adapter(std::vector<std::string> targets) {
  Adapter a;
  a.targets = std::move(targets);
  return a;
}

TEST(AdapterPasses, ByHand) {
  // The k projection of Llama-3.1-8B: n 1024, k 4096.
  AdapterPair const pair{matmul("self_attn.k_proj.weight", 1024, 4096)};
  AdapterWork const fused = adapter_work(KernelStack::fused, pair, 0);
  EXPECT_DOUBLE_EQ(fused.forward_bytes, 6 * 1024.0);
  EXPECT_DOUBLE_EQ(fused.backward_bytes, 6 * 4096.0);
  EXPECT_EQ(fused.forward_operations, 3);
  EXPECT_EQ(fused.backward_operations, 5);
  AdapterWork const eager = adapter_work(KernelStack::eager, pair, 0);
  EXPECT_DOUBLE_EQ(eager.forward_bytes, 10 * 1024.0);
  EXPECT_DOUBLE_EQ(eager.backward_bytes, 6 * 4096.0 + 4 * 1024);
  EXPECT_EQ(eager.forward_operations, 4);
  EXPECT_EQ(eager.backward_operations, 6);
  EXPECT_DOUBLE_EQ(eager.forward_host.value, 0);
  // Dropout: one operation each way, 2 B read, 2 B and a mask of 1 B written.
  AdapterWork const dropped = adapter_work(KernelStack::eager, pair, 0.05);
  EXPECT_DOUBLE_EQ(dropped.forward_bytes - eager.forward_bytes, 5 * 4096.0);
  EXPECT_DOUBLE_EQ(dropped.backward_bytes - eager.backward_bytes, 5 * 4096.0);
  EXPECT_EQ(dropped.forward_operations, 5);
  EXPECT_EQ(dropped.backward_operations, 7);
}

TEST(AdapterPasses, APaddedPairByHand) {
  // q and v, 5,120 outputs, in 6,144 of q, k and v.
  AdapterPair pair{matmul("self_attn.q_proj.weight", 5120, 4096)};
  pair.padded = 6144;
  AdapterWork const work = adapter_work(KernelStack::eager, pair, 0);
  // Forward: result in order 4 n, zeros written and copied 6 p, put in place 4 n, scale 4 p, sum 6 p.
  EXPECT_DOUBLE_EQ(work.forward_bytes, 8 * 5120.0 + 16 * 6144);
  // Backward: input gradient 6 k, scale 4 p, gathered and in order 8 n.
  EXPECT_DOUBLE_EQ(work.backward_bytes, 6 * 4096.0 + 4 * 6144 + 8 * 5120);
  EXPECT_EQ(work.forward_operations, 4 + 6);
  EXPECT_EQ(work.backward_operations, 6 + 3);
  EXPECT_DOUBLE_EQ(work.forward_host.value, 0.11e-6 * 5120);
}

TEST(AdapterPairs, OnePerTarget) {
  auto const pairs = adapter_pairs(attention(), adapter({"q", "v", "o"}), /*merged_qkv=*/false);
  ASSERT_EQ(pairs.size(), 3u);
  for (AdapterPair const& pair : pairs) EXPECT_EQ(pair.padded, 0);
}

TEST(AdapterPairs, OfAMergedProduct) {
  // All of q, k and v: 4,096 + 1,024 + 1,024 outputs of one A.
  auto const all = adapter_pairs(attention(), adapter({"q", "k", "v", "o"}), /*merged_qkv=*/true);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_DOUBLE_EQ(all.back().product.n, 6144);
  EXPECT_EQ(all.back().blocks, 1);
  EXPECT_EQ(all.back().padded, 0);
  // q and v: two A, and the third part's outputs are zeros.
  auto const some = adapter_pairs(attention(), adapter({"q", "v"}), /*merged_qkv=*/true);
  ASSERT_EQ(some.size(), 1u);
  EXPECT_DOUBLE_EQ(some.front().product.n, 5120);
  EXPECT_EQ(some.front().blocks, 2);
  EXPECT_EQ(some.front().padded, 6144);
}

TEST(Dequantization, BytesOfAWeight) {
  Adapter a;
  a.kind = AdapterKind::qlora;
  // 0.5 + 4/64 read and 2 written, each way.
  DequantizationWork const nf4 = dequantization_work(a, KernelStack::compiled, DType::bf16);
  EXPECT_DOUBLE_EQ(nf4.forward_bytes, 2.5625);
  EXPECT_DOUBLE_EQ(nf4.backward_bytes, 2.5625);
  EXPECT_EQ(nf4.forward_operations, 1);
  // A cast reads 2 and writes 2, where there is something to cast.
  a.quantization = Quantization::nf4_fp16;
  EXPECT_DOUBLE_EQ(dequantization_work(a, KernelStack::eager, DType::bf16).forward_bytes, 6.5625);
  EXPECT_DOUBLE_EQ(dequantization_work(a, KernelStack::eager, DType::fp16).forward_bytes, 2.5625);
  a.quantization = Quantization::gptq;
  DequantizationWork const gptq = dequantization_work(a, KernelStack::eager, DType::fp16);
  EXPECT_DOUBLE_EQ(gptq.forward_bytes, 4.5 + 5 + 2 + 2 + 3);
  EXPECT_DOUBLE_EQ(gptq.backward_bytes, 0);
}

}  // namespace
}  // namespace rollcast
