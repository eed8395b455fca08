#include "scenarios/text/hf_config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "models/catalog/catalog.hpp"

namespace rollcast {
namespace {

using testing::HasSubstr;

Architecture read(std::string const& text, std::string const& file = "m/config.json") {
  HfConfigResult r = read_hf_config_text(text, file);
  EXPECT_EQ(format(r.problems), "");
  return r.architecture.value_or(Architecture{});
}

std::vector<Problem> problems_of(std::string const& text) {
  HfConfigResult r = read_hf_config_text(text, "m/config.json");
  EXPECT_EQ(r.architecture.has_value(), r.problems.empty());
  return r.problems;
}

// The keys that give shapes, as the makers' files have them, with the usual company of keys that give none.
struct Sample {
  char const* model;  // catalog name with the same shapes
  char const* json;
};

constexpr Sample kSamples[] = {
    {"llama-3.1-8b", R"({
  "architectures": ["LlamaForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
  "bos_token_id": 128000, "eos_token_id": [128001, 128008, 128009], "hidden_act": "silu", "hidden_size": 4096,
  "initializer_range": 0.02, "intermediate_size": 14336, "max_position_embeddings": 131072, "mlp_bias": false,
  "model_type": "llama", "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8,
  "pretraining_tp": 1, "rms_norm_eps": 1e-05,
  "rope_scaling": {"factor": 8.0, "low_freq_factor": 1.0, "rope_type": "llama3"},
  "rope_theta": 500000.0, "tie_word_embeddings": false, "torch_dtype": "bfloat16",
  "transformers_version": "4.43.0.dev0", "use_cache": true, "vocab_size": 128256})"},
    // Without num_key_value_heads and with nulls.
    {"llama-2-7b", R"({"model_type": "llama", "hidden_size": 4096, "intermediate_size": 11008,
  "max_position_embeddings": 4096, "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": null,
  "head_dim": null, "rope_scaling": null, "pretraining_tp": 1, "vocab_size": 32000})"},
    {"llama-3.2-1b",
     R"({"model_type": "llama", "head_dim": 64, "hidden_size": 2048, "intermediate_size": 8192,
  "max_position_embeddings": 131072, "num_attention_heads": 32, "num_hidden_layers": 16, "num_key_value_heads": 8,
  "tie_word_embeddings": true, "vocab_size": 128256})"},
    {"qwen-7b",
     R"({"architectures": ["QWenLMHeadModel"], "auto_map": {"AutoConfig": "configuration_qwen.QWenConfig"},
  "bf16": false, "emb_dropout_prob": 0.0, "hidden_size": 4096, "intermediate_size": 22016, "kv_channels": 128,
  "layer_norm_epsilon": 1e-06, "max_position_embeddings": 32768, "model_type": "qwen", "no_bias": true,
  "num_attention_heads": 32, "num_hidden_layers": 32, "onnx_safe": null, "rotary_pct": 1.0, "seq_length": 8192,
  "tie_word_embeddings": false, "use_flash_attn": "auto", "vocab_size": 151936})"},
    {"qwen2.5-7b", R"({"model_type": "qwen2", "hidden_size": 3584, "intermediate_size": 18944,
  "max_position_embeddings": 131072, "max_window_layers": 28, "num_attention_heads": 28, "num_hidden_layers": 28,
  "num_key_value_heads": 4, "sliding_window": 131072, "tie_word_embeddings": false, "use_sliding_window": false,
  "use_mrope": false, "vocab_size": 152064})"},
    {"qwen2.5-vl-3b", R"({"architectures": ["Qwen2_5_VLForConditionalGeneration"], "hidden_size": 2048,
  "image_token_id": 151655, "intermediate_size": 11008, "max_position_embeddings": 128000, "max_window_layers": 70,
  "model_type": "qwen2_5_vl", "num_attention_heads": 16, "num_hidden_layers": 36, "num_key_value_heads": 2,
  "tie_word_embeddings": true, "vision_config": {"depth": 32, "hidden_size": 1280, "num_heads": 16, "patch_size": 14},
  "rope_scaling": {"type": "mrope", "mrope_section": [16, 24, 24]}, "vocab_size": 151936})"},
    {"qwen3-0.6b", R"({"model_type": "qwen3", "attention_bias": false, "head_dim": 128, "hidden_size": 1024,
  "intermediate_size": 3072, "max_position_embeddings": 40960, "max_window_layers": 28, "num_attention_heads": 16,
  "num_hidden_layers": 28, "num_key_value_heads": 8, "tie_word_embeddings": true, "vocab_size": 151936})"},
    // The vision model's language part; the file as a whole ties the embeddings.
    {"qwen3-vl-4b", R"({"architectures": ["Qwen3VLForConditionalGeneration"], "model_type": "qwen3_vl",
  "text_config": {"attention_bias": false, "head_dim": 128, "hidden_size": 2560, "intermediate_size": 9728,
    "max_position_embeddings": 262144, "model_type": "qwen3_vl_text", "num_attention_heads": 32,
    "num_hidden_layers": 36, "num_key_value_heads": 8, "vocab_size": 151936},
  "tie_word_embeddings": true, "vision_config": {"depth": 24, "hidden_size": 1024, "out_hidden_size": 2560}})"},
    {"qwen3-30b-a3b",
     R"({"model_type": "qwen3_moe", "decoder_sparse_step": 1, "head_dim": 128, "hidden_size": 2048,
  "intermediate_size": 6144, "max_position_embeddings": 40960, "max_window_layers": 48, "mlp_only_layers": [],
  "moe_intermediate_size": 768, "norm_topk_prob": true, "num_attention_heads": 32, "num_experts": 128,
  "num_experts_per_tok": 8, "num_hidden_layers": 48, "num_key_value_heads": 4, "output_router_logits": false,
  "router_aux_loss_coef": 0.001, "tie_word_embeddings": false, "vocab_size": 151936})"},
    {"qwen3.5-35b-a3b",
     R"({"architectures": ["Qwen3_5MoeForConditionalGeneration"], "model_type": "qwen3_5_moe",
  "text_config": {"attention_bias": false, "attn_output_gate": true, "full_attention_interval": 4, "head_dim": 256,
    "hidden_size": 2048, "linear_conv_kernel_dim": 4, "linear_key_head_dim": 128, "linear_num_key_heads": 16,
    "linear_num_value_heads": 32, "linear_value_head_dim": 128, "mamba_ssm_dtype": "float32",
    "max_position_embeddings": 262144, "mlp_only_layers": [], "model_type": "qwen3_5_moe_text",
    "moe_intermediate_size": 512, "mtp_num_hidden_layers": 1, "num_attention_heads": 16, "num_experts": 256,
    "num_experts_per_tok": 8, "num_hidden_layers": 40, "num_key_value_heads": 2,
    "shared_expert_intermediate_size": 512, "tie_word_embeddings": false, "vocab_size": 248320},
  "tie_word_embeddings": false, "vision_config": {"hidden_size": 1152}})"},
    {"deepseek-v3", R"({"architectures": ["DeepseekV3ForCausalLM"], "attention_bias": false, "ep_size": 1,
  "first_k_dense_replace": 3, "hidden_size": 7168, "intermediate_size": 18432, "kv_lora_rank": 512,
  "max_position_embeddings": 163840, "model_type": "deepseek_v3", "moe_intermediate_size": 2048,
  "moe_layer_freq": 1, "n_group": 8, "n_routed_experts": 256, "n_shared_experts": 1, "norm_topk_prob": true,
  "num_attention_heads": 128, "num_experts_per_tok": 8, "num_hidden_layers": 61, "num_key_value_heads": 128,
  "num_nextn_predict_layers": 1, "q_lora_rank": 1536, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
  "quantization_config": {"fmt": "e4m3", "quant_method": "fp8", "weight_block_size": [128, 128]},
  "routed_scaling_factor": 2.5, "scoring_func": "sigmoid", "tie_word_embeddings": false, "topk_group": 4,
  "topk_method": "noaux_tc", "v_head_dim": 128, "vocab_size": 129280})"},
    {"moonlight-16b-a3b", R"({"model_type": "deepseek_v3", "first_k_dense_replace": 1, "hidden_size": 2048,
  "intermediate_size": 11264, "kv_lora_rank": 512, "max_position_embeddings": 8192, "moe_intermediate_size": 1408,
  "moe_layer_freq": 1, "n_routed_experts": 64, "n_shared_experts": 2, "num_attention_heads": 16,
  "num_experts_per_tok": 6, "num_hidden_layers": 27, "num_key_value_heads": 16, "num_nextn_predict_layers": 0,
  "q_lora_rank": null, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "topk_method": "noaux_tc",
  "v_head_dim": 128, "vocab_size": 163840})"},
    {"glm-4.5",
     R"({"model_type": "glm4_moe", "attention_bias": true, "first_k_dense_replace": 3, "head_dim": 128,
  "hidden_size": 5120, "intermediate_size": 12288, "max_position_embeddings": 131072,
  "moe_intermediate_size": 1536, "n_group": 1, "n_routed_experts": 160, "n_shared_experts": 1,
  "num_attention_heads": 96, "num_experts_per_tok": 8, "num_hidden_layers": 92, "num_key_value_heads": 8,
  "num_nextn_predict_layers": 1, "partial_rotary_factor": 0.5, "tie_word_embeddings": false, "use_qk_norm": true,
  "vocab_size": 151552})"},
    // 20 heads do not divide 2048, nor need they.
    {"glm-4.7-flash", R"({"model_type": "glm4_moe_lite", "num_hidden_layers": 47, "hidden_size": 2048,
  "num_attention_heads": 20, "num_key_value_heads": 20, "intermediate_size": 10240, "vocab_size": 154880,
  "max_position_embeddings": 202752, "n_routed_experts": 64, "n_shared_experts": 1, "num_experts_per_tok": 4,
  "moe_intermediate_size": 1536, "first_k_dense_replace": 1, "kv_lora_rank": 512, "q_lora_rank": 768,
  "qk_nope_head_dim": 192, "qk_rope_head_dim": 64, "v_head_dim": 256, "num_nextn_predict_layers": 1,
  "tie_word_embeddings": false})"},
    {"opt-350m",
     R"({"_name_or_path": "opt-350m", "_remove_final_layer_norm": false, "activation_function": "relu",
  "do_layer_norm_before": false, "ffn_dim": 4096, "hidden_size": 1024, "init_std": 0.02,
  "max_position_embeddings": 2048, "model_type": "opt", "num_attention_heads": 16, "num_hidden_layers": 24,
  "vocab_size": 50272, "word_embed_proj_dim": 512})"},
    {"stablelm-base-alpha-3b", R"({"model_type": "gpt_neox", "hidden_act": "gelu", "hidden_size": 4096,
  "intermediate_size": 16384, "max_position_embeddings": 4096, "num_attention_heads": 32, "num_hidden_layers": 16,
  "rotary_emb_base": 10000, "rotary_pct": 0.25, "tie_word_embeddings": false, "use_parallel_residual": true,
  "vocab_size": 50688})"},
    {"stablelm-3b-4e1t", R"({"model_type": "stablelm", "hidden_size": 2560, "intermediate_size": 6912,
  "max_position_embeddings": 4096, "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 32,
  "qk_layernorm": false, "use_parallel_residual": false, "use_qkv_bias": false, "vocab_size": 50304})"},
    {"phi-1.5", R"({"model_type": "phi", "hidden_size": 2048, "intermediate_size": 8192,
  "max_position_embeddings": 2048, "num_attention_heads": 32, "num_hidden_layers": 24, "num_key_value_heads": null,
  "partial_rotary_factor": 0.5, "qk_layernorm": false, "tie_word_embeddings": false, "vocab_size": 51200})"},
};

std::vector<std::string> lines_of(std::vector<Tensor> const& tensors) {
  std::vector<std::string> out;
  for (Tensor const& t : tensors) {
    out.push_back(t.name + " " + std::to_string(t.rows) + " " + std::to_string(t.columns) + " " +
                  std::to_string(t.copies));
  }
  return out;
}

// The reader and the catalog are two ways to the same tensors.
TEST(HfConfig, GivesTheTensorsOfTheCatalog) {
  for (Sample const& s : kSamples) {
    Architecture const a = read(s.json);
    Architecture const* expected = find_architecture(builtin_catalog(), s.model);
    ASSERT_NE(expected, nullptr) << s.model;
    ASSERT_EQ(a.layers, expected->layers) << s.model;
    EXPECT_EQ(lines_of(outer_tensors(a)), lines_of(outer_tensors(*expected))) << s.model;
    for (int layer = 0; layer < a.layers; ++layer) {
      EXPECT_EQ(lines_of(layer_tensors(a, layer)), lines_of(layer_tensors(*expected, layer))) << s.model;
      EXPECT_EQ(kv_elements_per_token(a, layer), kv_elements_per_token(*expected, layer)) << s.model;
    }
    EXPECT_EQ(a.max_context, expected->max_context) << s.model;
    EXPECT_EQ(a.mtp_layers, expected->mtp_layers) << s.model;
    EXPECT_EQ(a.family, expected->family) << s.model;
  }
}

constexpr char const* kSmall = R"({"model_type": "llama", "hidden_size": 64, "intermediate_size": 128,
  "num_attention_heads": 4, "num_hidden_layers": 2, "vocab_size": 100)";

std::string small(std::string const& more) { return kSmall + (more.empty() ? "" : ", " + more) + "}"; }

TEST(HfConfig, NamesTheModelAfterItsPathOrFolder) {
  EXPECT_EQ(read(small(R"("_name_or_path": "meta-llama/Tiny")")).name, "Tiny");
  EXPECT_EQ(read(small(""), "models/tiny-llama/config.json").name, "tiny-llama");
  EXPECT_EQ(read(small(""), "config.json").name, "config");
}

TEST(HfConfig, FillsAbsentHeads) {
  Architecture const a = read(small(""));
  EXPECT_EQ(a.kv_heads, 4);
  EXPECT_EQ(a.head_dim, 16);
  EXPECT_EQ(read(small(R"("multi_query": true)")).kv_heads, 1);
  EXPECT_EQ(read(small(R"("multi_query": true, "num_key_value_heads": 2)")).kv_heads, 2);
}

TEST(HfConfig, NamesTheUnderstoodTypesForAnUnknownOne) {
  auto const problems = problems_of(R"({"model_type": "mamba2", "hidden_size": 64})");
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].key, "model_type");
  EXPECT_EQ(problems[0].line, 1);
  EXPECT_THAT(problems[0].what, HasSubstr("'mamba2' is not understood"));
  EXPECT_THAT(problems[0].remedy, HasSubstr("llama, qwen, qwen2"));
  EXPECT_THAT(problems[0].remedy, HasSubstr("phi"));
}

TEST(HfConfig, NeedsAModelType) {
  auto const problems = problems_of(R"({"hidden_size": 64})");
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_THAT(problems[0].what, HasSubstr("is missing"));
}

TEST(HfConfig, RefusesShapesThatTheTypeDoesNotHave) {
  for (char const* more :
       {R"("num_experts": 8)", R"("cross_attention_layers": [3, 8])", R"("kv_lora_rank": 512)",
        R"("num_local_experts": 16)", R"("index_head_dim": 128)"}) {
    auto const problems = problems_of(small(more));
    ASSERT_EQ(problems.size(), 1u) << more;
    EXPECT_THAT(problems[0].what, HasSubstr("gives a shape")) << more;
    EXPECT_GT(problems[0].line, 0) << more;
  }
}

TEST(HfConfig, LetsKeysOfNoShapePass) {
  for (char const* more : {R"("num_experts": 0)", R"("max_window_layers": 28)", R"("new_flag": true)",
                           R"("cross_attention_layers": [])", R"("kv_lora_rank": null)"}) {
    EXPECT_TRUE(problems_of(small(more)).empty()) << more;
  }
}

TEST(HfConfig, ReportsEveryMissingShape) {
  auto const problems = problems_of(R"({"model_type": "llama"})");
  std::vector<std::string> keys;
  for (Problem const& p : problems) keys.push_back(p.key);
  EXPECT_THAT(keys, testing::ElementsAre("num_hidden_layers", "hidden_size", "num_attention_heads",
                                         "vocab_size", "intermediate_size"));
}

TEST(HfConfig, RefusesWrongAndImpossibleValues) {
  struct Case {
    char const* more;
    char const* words;
  };
  for (Case const& c : {Case{R"("num_key_value_heads": 3)", "kv_heads 3 does not divide heads 4"},
                        Case{R"("num_key_value_heads": "many")", "'many'"},
                        Case{R"("num_key_value_heads": -1)", "out of range"},
                        Case{R"("head_dim": [1, 2])", "not a single number"},
                        Case{R"("tie_word_embeddings": "yes")", "neither true nor false"}}) {
    auto const problems = problems_of(small(c.more));
    ASSERT_FALSE(problems.empty()) << c.more;
    EXPECT_THAT(format(problems), HasSubstr(c.words)) << c.more;
  }
  auto const huge =
      problems_of(R"({"model_type": "llama", "hidden_size": 1000000000, "intermediate_size": 128,
    "num_attention_heads": 4, "num_hidden_layers": 2, "vocab_size": 1000000000})");
  EXPECT_THAT(format(huge), HasSubstr("more than 1e15 parameters"));
  auto const shared = problems_of(R"({"model_type": "glm4_moe", "hidden_size": 64, "intermediate_size": 128,
    "num_attention_heads": 4, "num_hidden_layers": 2, "vocab_size": 100, "n_routed_experts": 4,
    "num_experts_per_tok": 2, "moe_intermediate_size": 1000000000, "n_shared_experts": 1000000000})");
  EXPECT_THAT(format(shared), HasSubstr("n_shared_experts"));
  auto const uneven = problems_of(R"({"model_type": "llama", "hidden_size": 65, "intermediate_size": 128,
    "num_attention_heads": 4, "num_hidden_layers": 2, "vocab_size": 100})");
  ASSERT_EQ(uneven.size(), 1u);
  EXPECT_EQ(uneven[0].key, "head_dim");
}

TEST(HfConfig, RefusesIrregularHybrids) {
  std::string const head = R"({"model_type": "qwen3_5_text", "hidden_size": 64, "intermediate_size": 128,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "num_hidden_layers": 4, "vocab_size": 100,
    "linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 8, "linear_value_head_dim": 8,
    "layer_types": )";
  std::string const l = R"("linear_attention")";
  std::string const f = R"("full_attention")";
  EXPECT_EQ(
      read(head + "[" + l + "," + f + "," + l + "," + f + "]}").linear_attention->full_attention_interval, 2);
  auto const problems = problems_of(head + "[" + l + "," + f + "," + f + "," + l + "]}");
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].key, "layer_types");
}

TEST(HfConfig, RefusesWhatIsNoJson) {
  EXPECT_FALSE(problems_of("").empty());
  EXPECT_FALSE(problems_of("{").empty());
  EXPECT_FALSE(problems_of("[1, 2]").empty());
  EXPECT_FALSE(problems_of(std::string("\0\1\2", 3)).empty());
  EXPECT_FALSE(read_hf_config("no/such/folder/config.json").problems.empty());
}

// Pretty-printed JSON with tabs is JSON all the same.
TEST(HfConfig, AcceptsTabs) {
  EXPECT_TRUE(
      problems_of("{\n\t\"model_type\": \"llama\",\n\t\"hidden_size\": 64,\n\t\"intermediate_size\": 128,\n"
                  "\t\"num_attention_heads\": 4,\n\t\"num_hidden_layers\": 2,\n\t\"vocab_size\": 100\n}\n")
          .empty());
}

TEST(HfConfig, AnEmptyFileIsToldWhatItShouldBe) {
  for (std::string const text : {"", "[1, 2]"}) {
    HfConfigResult const r = read_hf_config_text(text, "config.json");
    ASSERT_EQ(r.problems.size(), 1U);
    EXPECT_NE(r.problems[0].remedy.find("config.json of a model"), std::string::npos) << r.problems[0].remedy;
  }
}

}  // namespace
}  // namespace rollcast
