// Shapes of the models, one row each. They are the fields of the config.json that the maker publishes on
// Hugging Face (the repository is the row's source), and the source says what a row was checked by: most
// often the exact number of elements of the checkpoint, which the tensors that follow from the shapes must
// reproduce. vocab is the number of stored embedding rows, padding included.
//
// Qwen3.5 is a described approximation. Three of four layers are gated delta nets: in_proj_qkv and in_proj_z
// (queries and keys of key_heads, values and output gate of value_heads), in_proj_a and in_proj_b (decay and
// write strength per value head), a short depthwise convolution, and a state of value_heads x key_head_dim x
// value_head_dim that does not grow with the context. Parameters are exact, the cost of the recurrence is the
// token-by-token form (architecture.hpp), the vision tower and the multi-token-prediction layer are left out.
#include <string>

#include "models/catalog/tables.hpp"

namespace rollcast {
namespace {

constexpr int kLlama3Vocab = 128256;
constexpr int kQwenVocab = 151936;
constexpr int kQwenVocabLarge = 152064;

struct Dense {
  char const* name;
  char const* repository;
  int layers, hidden, heads, kv_heads, head_dim, intermediate, vocab, max_context;
  bool tied;
  std::int64_t published;
};

// checked_by: besides the exact number of elements.
Architecture dense(Dense const& d, char const* family, std::string const& checked_by = "") {
  Architecture a;
  a.name = d.name;
  a.family = family;
  a.layers = d.layers;
  a.hidden = d.hidden;
  a.heads = d.heads;
  a.kv_heads = d.kv_heads;
  a.head_dim = d.head_dim;
  a.intermediate = d.intermediate;
  a.vocab = d.vocab;
  a.max_context = d.max_context;
  a.tied_embeddings = d.tied;
  a.published_parameters = d.published;
  std::string const checked = d.published > 0      ? "checked by the checkpoint's exact number of elements"
                              : checked_by.empty() ? "not checked by an exact number of elements"
                                                   : "checked by " + checked_by;
  a.sources = {{"*", std::string("config.json of ") + d.repository + ", " + checked}};
  if (d.published > 0) {
    a.sources.push_back({"published_parameters", std::string("elements of the checkpoint ") + d.repository});
  }
  return a;
}

void add_llama(std::vector<Architecture>& out) {
  constexpr int v2 = 32000;
  constexpr int v3 = kLlama3Vocab;
  Dense const rows[] = {
      // layers, hidden, heads, kv heads, head dim, intermediate, vocab, context, tied, published
      {"llama-2-7b", "meta-llama/Llama-2-7b-hf", 32, 4096, 32, 32, 128, 11008, v2, 4096, false, 6738415616},
      {"llama-2-13b", "meta-llama/Llama-2-13b-hf", 40, 5120, 40, 40, 128, 13824, v2, 4096, false,
       13015864320},
      {"llama-2-70b", "meta-llama/Llama-2-70b-hf", 80, 8192, 64, 8, 128, 28672, v2, 4096, false, 68976648192},
      {"llama-3-8b", "meta-llama/Meta-Llama-3-8B", 32, 4096, 32, 8, 128, 14336, v3, 8192, false, 8030261248},
      {"llama-3-70b", "meta-llama/Meta-Llama-3-70B", 80, 8192, 64, 8, 128, 28672, v3, 8192, false,
       70553706496},
      {"llama-3.1-8b", "meta-llama/Llama-3.1-8B", 32, 4096, 32, 8, 128, 14336, v3, 131072, false, 8030261248},
      {"llama-3.1-70b", "meta-llama/Llama-3.1-70B", 80, 8192, 64, 8, 128, 28672, v3, 131072, false,
       70553706496},
      {"llama-3.1-405b", "meta-llama/Llama-3.1-405B", 126, 16384, 128, 8, 128, 53248, v3, 131072, false,
       405853388800},
      {"llama-3.2-1b", "meta-llama/Llama-3.2-1B", 16, 2048, 32, 8, 64, 8192, v3, 131072, true, 1235814400},
      {"llama-3.2-3b", "meta-llama/Llama-3.2-3B", 28, 3072, 24, 8, 128, 8192, v3, 131072, true, 3212749824},
      {"llama-3.3-70b", "meta-llama/Llama-3.3-70B-Instruct", 80, 8192, 64, 8, 128, 28672, v3, 131072, false,
       70553706496},
  };
  for (Dense const& d : rows) out.push_back(dense(d, "llama"));
}

// intermediate is half of the configuration's: the two halves are w1 and w2.
void add_qwen1(std::vector<Architecture>& out) {
  Dense const rows[] = {
      {"qwen-1.8b", "Qwen/Qwen-1_8B", 24, 2048, 16, 16, 128, 5504, kQwenVocab, 32768, false, 0},
      {"qwen-7b", "Qwen/Qwen-7B", 32, 4096, 32, 32, 128, 11008, kQwenVocab, 32768, false, 7721324544},
      {"qwen-14b", "Qwen/Qwen-14B", 40, 5120, 40, 40, 128, 13696, kQwenVocabLarge, 8192, false, 14167290880},
      {"qwen-72b", "Qwen/Qwen-72B", 80, 8192, 64, 64, 128, 24576, kQwenVocabLarge, 32768, false, 0},
  };
  for (Dense const& d : rows) {
    Architecture a = dense(d, "qwen");
    a.qkv_bias = true;
    a.sources.push_back({"max_context", "table of lengths in the README of QwenLM/Qwen"});
    out.push_back(a);
  }
}

void add_qwen2(std::vector<Architecture>& out) {
  constexpr int v = kQwenVocab;
  constexpr int large = kQwenVocabLarge;
  Dense const rows[] = {
      {"qwen2.5-0.5b", "Qwen/Qwen2.5-0.5B", 24, 896, 14, 2, 64, 4864, v, 32768, true, 494032768},
      {"qwen2.5-1.5b", "Qwen/Qwen2.5-1.5B", 28, 1536, 12, 2, 128, 8960, v, 131072, true, 1543714304},
      {"qwen2.5-3b", "Qwen/Qwen2.5-3B", 36, 2048, 16, 2, 128, 11008, v, 32768, true, 3085938688},
      {"qwen2.5-7b", "Qwen/Qwen2.5-7B", 28, 3584, 28, 4, 128, 18944, large, 131072, false, 7615616512},
      {"qwen2.5-14b", "Qwen/Qwen2.5-14B", 48, 5120, 40, 8, 128, 13824, large, 131072, false, 14770033664},
      {"qwen2.5-32b", "Qwen/Qwen2.5-32B", 64, 5120, 40, 8, 128, 27648, large, 131072, false, 32763876352},
      {"qwen2.5-72b", "Qwen/Qwen2.5-72B", 80, 8192, 64, 8, 128, 29568, large, 131072, false, 72706203648},
      {"qwen2.5-math-1.5b", "Qwen/Qwen2.5-Math-1.5B", 28, 1536, 12, 2, 128, 8960, v, 4096, true, 1543714304},
      {"qwen2.5-math-7b", "Qwen/Qwen2.5-Math-7B", 28, 3584, 28, 4, 128, 18944, large, 4096, false,
       7615616512},
      {"deepseek-r1-distill-qwen-1.5b", "deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B", 28, 1536, 12, 2, 128,
       8960, v, 131072, false, 1777088000},
      {"deepseek-r1-distill-qwen-7b", "deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", 28, 3584, 28, 4, 128, 18944,
       large, 131072, false, 7615616512},
      {"deepseek-r1-distill-qwen-14b", "deepseek-ai/DeepSeek-R1-Distill-Qwen-14B", 48, 5120, 40, 8, 128,
       13824, large, 131072, false, 14770033664},
      {"deepseek-r1-distill-qwen-32b", "deepseek-ai/DeepSeek-R1-Distill-Qwen-32B", 64, 5120, 40, 8, 128,
       27648, large, 131072, false, 32763876352},
      // Language parts: the checkpoints hold a vision tower besides, so there is no published count of these
      // alone.
      {"qwen2-vl-2b", "Qwen/Qwen2-VL-2B-Instruct", 28, 1536, 12, 2, 128, 8960, v, 32768, true, 0},
      {"qwen2-vl-7b", "Qwen/Qwen2-VL-7B-Instruct", 28, 3584, 28, 4, 128, 18944, large, 32768, false, 0},
      {"qwen2-vl-72b", "Qwen/Qwen2-VL-72B-Instruct", 80, 8192, 64, 8, 128, 29568, large, 32768, false, 0},
      {"qwen2.5-vl-3b", "Qwen/Qwen2.5-VL-3B-Instruct", 36, 2048, 16, 2, 128, 11008, v, 128000, true, 0},
      {"qwen2.5-vl-7b", "Qwen/Qwen2.5-VL-7B-Instruct", 28, 3584, 28, 4, 128, 18944, large, 128000, false, 0},
      {"qwen2.5-vl-72b", "Qwen/Qwen2.5-VL-72B-Instruct", 80, 8192, 64, 8, 128, 29568, large, 128000, false,
       0},
  };
  for (Dense const& d : rows) {
    Architecture a = dense(d, "qwen2");
    a.qkv_bias = true;
    out.push_back(a);
  }
}

void add_qwen3(std::vector<Architecture>& out) {
  constexpr int v = kQwenVocab;
  Dense const rows[] = {
      {"qwen3-0.6b", "Qwen/Qwen3-0.6B", 28, 1024, 16, 8, 128, 3072, v, 40960, true, 596049920},
      {"qwen3-1.7b", "Qwen/Qwen3-1.7B", 28, 2048, 16, 8, 128, 6144, v, 40960, true, 1720574976},
      {"qwen3-4b", "Qwen/Qwen3-4B", 36, 2560, 32, 8, 128, 9728, v, 40960, true, 4022468096},
      {"qwen3-8b", "Qwen/Qwen3-8B", 36, 4096, 32, 8, 128, 12288, v, 40960, false, 8190735360},
      {"qwen3-14b", "Qwen/Qwen3-14B", 40, 5120, 40, 8, 128, 17408, v, 40960, false, 14768307200},
      {"qwen3-32b", "Qwen/Qwen3-32B", 64, 5120, 64, 8, 128, 25600, v, 40960, false, 32762123264},
      {"qwen3-4b-2507", "Qwen/Qwen3-4B-Instruct-2507", 36, 2560, 32, 8, 128, 9728, v, 262144, true,
       4022468096},
      // Language parts, as above.
      {"qwen3-vl-4b", "Qwen/Qwen3-VL-4B-Instruct", 36, 2560, 32, 8, 128, 9728, v, 262144, true, 0},
      {"qwen3-vl-8b", "Qwen/Qwen3-VL-8B-Instruct", 36, 4096, 32, 8, 128, 12288, v, 262144, false, 0},
  };
  for (Dense const& d : rows) {
    Architecture a = dense(d, "qwen3");
    a.qk_norm = true;
    out.push_back(a);
  }
}

void add_qwen3_moe(std::vector<Architecture>& out) {
  constexpr int v = kQwenVocab;
  Dense const rows[] = {
      {"qwen3-30b-a3b", "Qwen/Qwen3-30B-A3B", 48, 2048, 32, 4, 128, 6144, v, 40960, false, 30532122624},
      {"qwen3-30b-a3b-2507", "Qwen/Qwen3-30B-A3B-Instruct-2507", 48, 2048, 32, 4, 128, 6144, v, 262144, false,
       30532122624},
      {"qwen3-235b-a22b", "Qwen/Qwen3-235B-A22B", 94, 4096, 64, 4, 128, 12288, v, 40960, false, 235093634560},
      {"qwen3-235b-a22b-2507", "Qwen/Qwen3-235B-A22B-Instruct-2507", 94, 4096, 64, 4, 128, 12288, v, 262144,
       false, 235093634560},
  };
  for (Dense const& d : rows) {
    Architecture a = dense(d, "qwen3_moe");
    a.qk_norm = true;
    Moe m;
    m.experts = 128;
    m.experts_per_token = 8;
    m.expert_intermediate = d.hidden == 2048 ? 768 : 1536;
    a.moe = m;
    out.push_back(a);
  }
}

Architecture latent(Dense const& d, char const* family, Mla const& mla, Moe const& moe,
                    std::string const& checked_by) {
  Architecture a = dense(d, family, checked_by);
  a.mla = mla;
  a.moe = moe;
  return a;
}

void add_deepseek(std::vector<Architecture>& out) {
  Moe v3{256, 8, 2048, 1, 2048, 3, true, false};
  Architecture a = latent(
      {"deepseek-v3", "deepseek-ai/DeepSeek-V3", 61, 7168, 128, 128, 192, 18432, 129280, 163840, false, 0},
      "deepseek_v3", {1536, 512, 128, 64, 128}, v3, "the 671 billion of its README");
  a.mtp_layers = 1;
  out.push_back(a);
  Moe moonlight{64, 6, 1408, 2, 2816, 1, true, false};
  Architecture b = latent({"moonlight-16b-a3b", "moonshotai/Moonlight-16B-A3B", 27, 2048, 16, 16, 192, 11264,
                           163840, 8192, false, 0},
                          "deepseek_v3", {0, 512, 128, 64, 128}, moonlight,
                          "scripts/models/moonlight.sh of vllm-project/vime");
  out.push_back(b);
}

void add_glm(std::vector<Architecture>& out) {
  constexpr char const* kGlmCheck =
      "the checkpoint's exact number of elements, its multi-token-prediction layer included";
  Architecture a =
      dense({"glm-4.5", "zai-org/GLM-4.5", 92, 5120, 96, 8, 128, 12288, 151552, 131072, false, 0}, "glm4_moe",
            kGlmCheck);
  a.qkv_bias = true;
  a.qk_norm = true;
  a.moe = Moe{160, 8, 1536, 1, 1536, 3, true, false};
  a.mtp_layers = 1;
  out.push_back(a);
  Architecture b =
      dense({"glm-4.5-air", "zai-org/GLM-4.5-Air", 46, 4096, 96, 8, 128, 10944, 151552, 131072, false, 0},
            "glm4_moe", kGlmCheck);
  b.qkv_bias = true;
  b.moe = Moe{128, 8, 1408, 1, 1408, 1, true, false};
  b.mtp_layers = 1;
  out.push_back(b);
  Architecture c = latent(
      {"glm-4.7-flash", "zai-org/GLM-4.7-Flash", 47, 2048, 20, 20, 256, 10240, 154880, 202752, false, 0},
      "glm4_moe_lite", {768, 512, 192, 64, 256}, Moe{64, 4, 1536, 1, 1536, 1, true, false},
      "the copy of it in ai-dynamo/aiconfigurator");
  c.mtp_layers = 1;
  out.push_back(c);
}

void add_qwen35(std::vector<Architecture>& out) {
  constexpr int v = 248320;
  struct Hybrid {
    Dense dense;
    int value_heads;
    char const* check;
  };
  Hybrid const rows[] = {
      {{"qwen3.5-9b", "Qwen/Qwen3.5-9B", 32, 4096, 16, 4, 256, 12288, v, 262144, false, 0},
       32,
       "scripts/models/qwen3.5-9B.sh"},
      {{"qwen3.5-27b", "Qwen/Qwen3.5-27B", 64, 5120, 24, 4, 256, 17408, v, 262144, false, 0},
       48,
       "scripts/models/qwen3.5-27B.sh"},
      {{"qwen3.5-35b-a3b", "Qwen/Qwen3.5-35B-A3B", 40, 2048, 16, 2, 256, 0, v, 262144, false, 0},
       32,
       "scripts/models/qwen3.5-35B-A3B.sh"},
  };
  for (Hybrid const& h : rows) {
    bool const sparse = h.dense.intermediate == 0;
    Architecture a =
        dense(h.dense, sparse ? "qwen3_5_moe" : "qwen3_5", std::string(h.check) + " of slime and miles");
    a.qk_norm = true;
    a.gated_attention = true;
    a.mtp_layers = 1;
    a.linear_attention = LinearAttention{4, 16, h.value_heads, 128, 128, 4};
    if (sparse) a.moe = Moe{256, 8, 512, 1, 512, 0, false, true};
    a.sources.push_back({"linear_attention", "config.json of " + std::string(h.dense.repository) +
                                                 "; described approximation of the gated delta net"});
    out.push_back(a);
  }
}

void add_opt(std::vector<Architecture>& out) {
  struct Row {
    char const* name;
    char const* repository;
    int layers, hidden, heads;
    std::int64_t published;
  };
  Row const rows[] = {
      {"opt-125m", "facebook/opt-125m", 12, 768, 12, 125239296},
      {"opt-350m", "facebook/opt-350m", 24, 1024, 16, 331196416},
      {"opt-1.3b", "facebook/opt-1.3b", 24, 2048, 32, 1315758080},
      {"opt-2.7b", "facebook/opt-2.7b", 32, 2560, 32, 2651596800},
      {"opt-6.7b", "facebook/opt-6.7b", 32, 4096, 32, 0},
      {"opt-13b", "facebook/opt-13b", 40, 5120, 40, 0},
      {"opt-30b", "facebook/opt-30b", 48, 7168, 56, 0},
      {"opt-66b", "facebook/opt-66b", 64, 9216, 72, 0},
      {"opt-175b", "OPT paper (arXiv 2205.01068), table 1", 96, 12288, 96, 0},
  };
  for (Row const& r : rows) {
    Architecture a = dense({r.name, r.repository, r.layers, r.hidden, r.heads, r.heads, r.hidden / r.heads,
                            4 * r.hidden, 50272, 2048, true, r.published},
                           "opt");
    a.gated_mlp = false;
    a.qkv_bias = true;
    a.output_bias = true;
    a.mlp_bias = true;
    a.norm_bias = true;
    a.learned_positions = 2050;  // the two rows before position 0 are stored too
    if (std::string(r.name) == "opt-350m") {
      a.embedding_width = 512;
      a.final_norm = false;
    }
    out.push_back(a);
  }
}

void add_small(std::vector<Architecture>& out) {
  // Its attention and MLP run in parallel too, but each has a norm of its own.
  Architecture alpha = dense({"stablelm-base-alpha-3b", "stabilityai/stablelm-base-alpha-3b", 16, 4096, 32,
                              32, 128, 16384, 50688, 4096, false, 3637321728},
                             "gpt_neox");
  alpha.gated_mlp = false;
  alpha.qkv_bias = true;
  alpha.output_bias = true;
  alpha.mlp_bias = true;
  alpha.norm_bias = true;
  out.push_back(alpha);
  Architecture stable = dense({"stablelm-3b-4e1t", "stabilityai/stablelm-3b-4e1t", 32, 2560, 32, 32, 80, 6912,
                               50304, 4096, false, 2795443200},
                              "stablelm");
  stable.norm_bias = true;
  out.push_back(stable);
  Architecture phi = dense(
      {"phi-1.5", "microsoft/phi-1_5", 24, 2048, 32, 32, 64, 8192, 51200, 2048, false, 1418270720}, "phi");
  phi.gated_mlp = false;
  phi.qkv_bias = true;
  phi.output_bias = true;
  phi.mlp_bias = true;
  phi.norm_bias = true;
  phi.lm_head_bias = true;
  phi.parallel_block = true;
  out.push_back(phi);
}

}  // namespace

std::vector<Architecture> architecture_table() {
  std::vector<Architecture> out;
  add_llama(out);
  add_qwen1(out);
  add_qwen2(out);
  add_qwen3(out);
  add_qwen3_moe(out);
  add_qwen35(out);
  add_deepseek(out);
  add_glm(out);
  add_opt(out);
  add_small(out);
  return out;
}

}  // namespace rollcast
