#include "models/architecture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "models/catalog/catalog.hpp"

namespace rollcast {
namespace {

Architecture model(char const* name) {
  Architecture const* a = find_architecture(builtin_catalog(), name);
  if (a == nullptr) throw std::logic_error(name);
  return *a;
}

Tensor tensor(std::vector<Tensor> const& list, std::string const& name) {
  auto const it = std::find_if(list.begin(), list.end(), [&](Tensor const& t) { return t.name == name; });
  if (it == list.end()) throw std::logic_error(name);
  return *it;
}

bool has(std::vector<Tensor> const& list, std::string const& name) {
  return std::any_of(list.begin(), list.end(), [&](Tensor const& t) { return t.name == name; });
}

// Llama-3.1-8B, one layer: q and o 4096 x 4096, k and v 1024 x 4096, three MLP matrices of 14336 x 4096, two
// norms.
TEST(LayerTensors, OfLlama) {
  auto const list = layer_tensors(model("llama-3.1-8b"), 0);
  EXPECT_EQ(list.size(), 9u);
  Tensor const k = tensor(list, "self_attn.k_proj.weight");
  EXPECT_EQ(k.rows, 1024);
  EXPECT_EQ(k.columns, 4096);
  EXPECT_EQ(k.split, Split::rows);
  EXPECT_TRUE(k.kv);
  EXPECT_TRUE(k.matmul);
  Tensor const down = tensor(list, "mlp.down_proj.weight");
  EXPECT_EQ(down.rows, 4096);
  EXPECT_EQ(down.columns, 14336);
  EXPECT_EQ(down.split, Split::columns);
  EXPECT_FALSE(down.kv);
  Tensor const norm = tensor(list, "input_layernorm.weight");
  EXPECT_EQ(norm.count(), 4096);
  EXPECT_EQ(norm.split, Split::replicated);
  EXPECT_FALSE(norm.matmul);
}

// LoRA of rank 16 on q and v with the GQA shapes of Llama-3-70B: 80 x 16 x ((8192 + 8192) + (8192 + 1024)) =
// 32,768,000.
TEST(LayerTensors, GiveTheLoraSizesOfLlama70b) {
  Architecture const a = model("llama-3-70b");
  std::int64_t lora = 0;
  for (int layer = 0; layer < a.layers; ++layer) {
    for (char const* name : {"self_attn.q_proj.weight", "self_attn.v_proj.weight"}) {
      Tensor const t = tensor(layer_tensors(a, layer), name);
      lora += 16 * (t.rows + t.columns);
    }
  }
  EXPECT_EQ(lora, 32768000);
}

TEST(LayerTensors, BiasesFollowTheSplitOfTheirLayer) {
  auto const list = layer_tensors(model("opt-125m"), 0);
  EXPECT_EQ(tensor(list, "mlp.up_proj.bias").split, Split::rows);
  EXPECT_EQ(tensor(list, "mlp.down_proj.bias").split, Split::replicated);
  EXPECT_EQ(tensor(list, "self_attn.o_proj.bias").split, Split::replicated);
  EXPECT_TRUE(tensor(list, "self_attn.v_proj.bias").kv);
  EXPECT_FALSE(has(list, "mlp.gate_proj.weight"));
  EXPECT_FALSE(has(layer_tensors(model("qwen2.5-7b"), 0), "self_attn.o_proj.bias"));
  EXPECT_TRUE(has(layer_tensors(model("qwen2.5-7b"), 0), "self_attn.q_proj.bias"));
}

// Phi's attention and MLP share one norm.
TEST(LayerTensors, OfAParallelBlockHaveOneNorm) {
  EXPECT_FALSE(has(layer_tensors(model("phi-1.5"), 3), "post_attention_layernorm.weight"));
  EXPECT_TRUE(has(layer_tensors(model("phi-1.5"), 3), "input_layernorm.bias"));
}

// DeepSeek-V3 (config.json): q to 1536 and back to 128 heads x (128 + 64), kv to 512 + 64 and back to 128
// heads x (128 + 128), o from 128 x 128. Layers 0-2 are dense, 3-60 have 256 experts of 2048 and one shared.
TEST(LayerTensors, OfDeepSeek) {
  Architecture const a = model("deepseek-v3");
  EXPECT_FALSE(is_moe_layer(a, 2));
  EXPECT_TRUE(is_moe_layer(a, 3));
  auto const list = layer_tensors(a, 3);
  EXPECT_EQ(tensor(list, "self_attn.q_b_proj.weight").rows, 24576);
  EXPECT_EQ(tensor(list, "self_attn.q_b_proj.weight").columns, 1536);
  EXPECT_EQ(tensor(list, "self_attn.kv_a_proj_with_mqa.weight").rows, 576);
  EXPECT_EQ(tensor(list, "self_attn.kv_a_proj_with_mqa.weight").split, Split::replicated);
  EXPECT_EQ(tensor(list, "self_attn.kv_b_proj.weight").rows, 32768);
  EXPECT_EQ(tensor(list, "self_attn.o_proj.weight").columns, 16384);
  Tensor const up = tensor(list, "mlp.experts.up_proj.weight");
  EXPECT_TRUE(up.expert);
  EXPECT_EQ(up.count(), std::int64_t{256} * 2048 * 7168);
  EXPECT_EQ(tensor(list, "mlp.gate.e_score_correction_bias").count(), 256);
  EXPECT_EQ(tensor(layer_tensors(a, 2), "mlp.up_proj.weight").rows, 18432);
}

// Moonlight has no query rank: 16 heads x (128 + 64) straight from 2048.
TEST(LayerTensors, OfLatentAttentionWithoutQueryRank) {
  auto const list = layer_tensors(model("moonlight-16b-a3b"), 0);
  EXPECT_EQ(tensor(list, "self_attn.q_proj.weight").rows, 3072);
  EXPECT_FALSE(has(list, "self_attn.q_a_proj.weight"));
}

// Qwen3.5-27B: layers 3, 7, ... are full attention with 24 heads of 256 and an output gate as wide as the
// queries; the others have 16 key heads and 48 value heads of 128: in_proj_qkv 2 x 2048 + 6144 rows.
TEST(LayerTensors, OfTheHybrid) {
  Architecture const a = model("qwen3.5-27b");
  EXPECT_TRUE(is_linear_attention_layer(a, 0));
  EXPECT_TRUE(is_linear_attention_layer(a, 2));
  EXPECT_FALSE(is_linear_attention_layer(a, 3));
  EXPECT_FALSE(is_linear_attention_layer(a, 63));
  auto const linear = layer_tensors(a, 0);
  EXPECT_EQ(tensor(linear, "linear_attn.in_proj_qkv.weight").rows, 10240);
  EXPECT_EQ(tensor(linear, "linear_attn.in_proj_z.weight").rows, 6144);
  EXPECT_EQ(tensor(linear, "linear_attn.conv1d.weight").count(), 40960);
  EXPECT_FALSE(has(linear, "self_attn.q_proj.weight"));
  EXPECT_EQ(tensor(layer_tensors(a, 3), "self_attn.q_proj.weight").rows, 2 * 24 * 256);
  EXPECT_EQ(kv_elements_per_token(a, 0), 0);
  EXPECT_EQ(kv_elements_per_token(a, 3), 2 * 4 * 256);
  // 48 x 128 x 128 of state and 4 taps of 10240 channels.
  EXPECT_EQ(state_elements_per_sequence(a, 0), 48 * 128 * 128 + 4 * 10240);
  EXPECT_EQ(state_elements_per_sequence(a, 3), 0);
}

// The embedding of OPT-350M is 512 wide, two matrices of 512 x 1024 lead in and out, and there is no last
// norm.
TEST(OuterTensors, OfANarrowEmbedding) {
  auto const list = outer_tensors(model("opt-350m"));
  EXPECT_EQ(tensor(list, "embed_tokens.weight").columns, 512);
  EXPECT_EQ(tensor(list, "project_in.weight").count(), 512 * 1024);
  EXPECT_EQ(tensor(list, "project_out.weight").rows, 512);
  EXPECT_EQ(tensor(list, "embed_positions.weight").count(), 2050 * 1024);
  EXPECT_FALSE(has(list, "norm.weight"));
  EXPECT_FALSE(has(list, "lm_head.weight"));
}

TEST(OuterTensors, OfTiedEmbeddingsHaveNoHead) {
  EXPECT_FALSE(has(outer_tensors(model("llama-3.2-1b")), "lm_head.weight"));
  Tensor const head = tensor(outer_tensors(model("llama-3.1-8b")), "lm_head.weight");
  EXPECT_EQ(head.rows, 128256);
  EXPECT_EQ(head.split, Split::vocab);
  EXPECT_TRUE(head.matmul);
  EXPECT_FALSE(tensor(outer_tensors(model("llama-3.1-8b")), "embed_tokens.weight").matmul);
}

TEST(Layers, OutsideTheModelAreRefused) {
  EXPECT_THROW(layer_tensors(model("llama-3.1-8b"), 32), std::logic_error);
  EXPECT_THROW(is_moe_layer(model("llama-3.1-8b"), -1), std::logic_error);
}

// Qwen3-30B-A3B: 48 layers x 8 of 128 experts of 3 x 768 x 2048; all but the other 120 are active:
// 30,532,122,624 - 48 x 120 x 4,718,592 = 3,353,032,704.
TEST(CountParameters, ActiveOfExperts) {
  ParameterCounts const c = count_parameters(model("qwen3-30b-a3b"));
  EXPECT_EQ(c.experts, std::int64_t{48} * 128 * 4718592);
  EXPECT_EQ(c.active, 3353032704);
  EXPECT_EQ(c.router, std::int64_t{48} * 128 * 2048);
}

// Llama-3.1-8B: embedding = head = 128256 x 4096; attention 32 x (2 x 4096^2 + 2 x 1024 x 4096); MLP 32 x 3 x
// 14336 x 4096; norms 65 x 4096.
TEST(CountParameters, ByKind) {
  ParameterCounts const c = count_parameters(model("llama-3.1-8b"));
  EXPECT_EQ(c.embedding, 525336576);
  EXPECT_EQ(c.lm_head, 525336576);
  EXPECT_EQ(c.attention, 1342177280);
  EXPECT_EQ(c.mlp, 5637144576);
  EXPECT_EQ(c.norms, 266240);
  EXPECT_EQ(c.total, 8030261248);
  EXPECT_EQ(c.active, c.total);
}

TEST(CountParameters, KindsAddUpInEveryModel) {
  for (Architecture const& a : builtin_catalog().architectures) {
    ParameterCounts const c = count_parameters(a);
    EXPECT_EQ(c.embedding + c.lm_head + c.attention + c.mlp + c.experts + c.norms + c.router, c.total)
        << a.name;
    EXPECT_LE(c.active, c.total) << a.name;
    EXPECT_EQ(c.active < c.total, a.moe.has_value()) << a.name;
  }
}

// Llama-3-70B in bf16: 2 x 80 x 8 x 128 x 2 B = 327,680 B. DeepSeek-V3: 61 x (512 + 64).
TEST(KvElements, OfGroupedAndLatentAttention) {
  auto const all_layers = [](Architecture const& a) {
    std::int64_t sum = 0;
    for (int layer = 0; layer < a.layers; ++layer) sum += kv_elements_per_token(a, layer);
    return sum;
  };
  EXPECT_EQ(2 * all_layers(model("llama-3-70b")), 327680);
  EXPECT_EQ(all_layers(model("deepseek-v3")), 61 * 576);
  EXPECT_EQ(all_layers(model("qwen3.5-9b")), 8 * 2 * 4 * 256);
}

// A layer of Llama-3.1-8B multiplies by 2 x 4096^2 + 2 x 1024 x 4096 + 3 x 14336 x 4096 = 218,103,808
// weights; the head by 128256 x 4096.
TEST(Flops, OfLlama) {
  Architecture const a = model("llama-3.1-8b");
  EXPECT_DOUBLE_EQ(layer_matmul_flops_per_token(a, 0).value, 2.0 * 218103808);
  EXPECT_DOUBLE_EQ(lm_head_flops_per_token(a).value, 2.0 * 525336576);
  // 32 heads, 128 for the score and 128 for the weighted sum.
  EXPECT_DOUBLE_EQ(attention_flops_per_pair(a, 0).value, 2.0 * 32 * 256);
}

// A tied head is multiplied by all the same.
TEST(Flops, OfATiedHead) {
  EXPECT_DOUBLE_EQ(lm_head_flops_per_token(model("llama-3.2-1b")).value, 2.0 * 128256 * 2048);
  // OPT-350M: project_in, project_out and the 512-wide head.
  EXPECT_DOUBLE_EQ(lm_head_flops_per_token(model("opt-350m")).value, 2.0 * (50272.0 * 512 + 2 * 512 * 1024));
}

// Only 8 of 128 experts, the router of 128 x 2048 besides; attention 2 x 4096 x 2048 + 2 x 512 x 2048.
TEST(Flops, OfExpertsCountTheActiveOnes) {
  double const attention = 2.0 * 4096 * 2048 + 2.0 * 512 * 2048;
  double const experts = 8.0 * 3 * 768 * 2048 + 128.0 * 2048;
  EXPECT_DOUBLE_EQ(layer_matmul_flops_per_token(model("qwen3-30b-a3b"), 0).value, 2 * (attention + experts));
}

// DeepSeek-V3: scores over 128 + 64, sums over 128, 128 heads.
TEST(Flops, OfLatentAttentionPairs) {
  EXPECT_DOUBLE_EQ(attention_flops_per_pair(model("deepseek-v3"), 0).value, 2.0 * 128 * (192 + 128));
}

// Qwen3.5-9B, layer 0: in_proj_qkv 8192, in_proj_z 4096, a and b 32 each from 4096; out_proj 4096 x 4096; MLP
// 3 x 12288 x 4096; state 3 x 32 x 128 x 128.
TEST(Flops, OfLinearAttention) {
  Architecture const a = model("qwen3.5-9b");
  double const projections = (8192.0 + 4096 + 64 + 4096) * 4096;
  double const mlp = 3.0 * 12288 * 4096;
  EXPECT_DOUBLE_EQ(layer_matmul_flops_per_token(a, 0).value, 2 * (projections + mlp + 3.0 * 32 * 128 * 128));
  EXPECT_DOUBLE_EQ(attention_flops_per_pair(a, 0).value, 0);
  EXPECT_DOUBLE_EQ(attention_flops_per_pair(a, 3).value, 2.0 * 16 * 512);
}

TEST(Fault, IsEmptyForTheWholeCatalog) {
  for (Architecture const& a : builtin_catalog().architectures) EXPECT_EQ(fault(a), "") << a.name;
}

TEST(Fault, NamesWhatIsImpossible) {
  Architecture const good = model("qwen3-30b-a3b");
  Architecture a = good;
  a.kv_heads = 5;
  EXPECT_EQ(fault(a), "kv_heads 5 does not divide heads 32");
  a = good;
  a.moe->experts_per_token = 129;
  EXPECT_EQ(fault(a), "experts_per_token 129 is not between 1 and the 128 experts");
  a = good;
  a.layers = 0;
  EXPECT_EQ(fault(a), "layers is 0, it must be at least 1");
  a = good;
  a.moe->first_dense_layers = 1;
  a.intermediate = 0;
  EXPECT_EQ(fault(a), "intermediate is 0 in a model with dense layers");
  a = good;
  a.layers = 10001;
  EXPECT_EQ(fault(a), "10001 layers, more than 10000");
  a = good;
  a.moe->experts = 1000000000;
  a.moe->expert_intermediate = 1000000000;
  a.hidden = 1000000000;
  EXPECT_EQ(fault(a), "more than 1e15 parameters");
  a = model("qwen3.5-9b");  // 32 layers; without full attention there is no KV to page
  a.linear_attention->full_attention_interval = 33;
  EXPECT_EQ(fault(a), "full_attention_interval 33 leaves none of the 32 layers with full attention");
}

}  // namespace
}  // namespace rollcast
