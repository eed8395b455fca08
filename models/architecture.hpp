// A decoder-only transformer as its shapes. Everything else about a model (parameters, bytes, FLOPs, KV size)
// follows from this by pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/hardware.hpp"

namespace rollcast {

// Multi-head latent attention (DeepSeek-V2/V3).
struct Mla {
  int q_lora_rank = 0;  // 0: queries are projected directly
  int kv_lora_rank = 0;
  int qk_nope_head_dim = 0;
  int qk_rope_head_dim = 0;
  int v_head_dim = 0;
};

// Mixture of experts in place of the MLP, from layer first_dense_layers on.
struct Moe {
  int experts = 0;
  int experts_per_token = 0;
  int expert_intermediate = 0;
  int shared_experts = 0;       // always active
  int shared_intermediate = 0;  // of all shared experts together
  int first_dense_layers = 0;
  bool router_bias = false;  // a correction bias per expert (DeepSeek-V3, GLM-4.5)
  bool shared_gate = false;  // a sigmoid gate on the shared expert (Qwen2-MoE, Qwen3.5)
};

// Gated delta net layers (Qwen3-Next, Qwen3.5): every full_attention_interval-th layer is full attention,
// the others hold a state of constant size. Described approximation: docs in catalog/architectures.cpp.
struct LinearAttention {
  int full_attention_interval = 4;
  int key_heads = 0;
  int value_heads = 0;
  int key_head_dim = 0;
  int value_head_dim = 0;
  int conv_kernel = 4;
};

struct Architecture {
  std::string name;    // catalog key: "llama-3.1-8b-instruct"
  std::string family;  // "llama", "qwen2", "qwen3", "qwen3_moe", "deepseek_v3", ...
  int layers = 0;
  int hidden = 0;
  int heads = 0;
  int kv_heads = 0;
  int head_dim = 0;
  int intermediate = 0;  // of the dense MLP
  int vocab = 0;         // rows of the embedding as stored
  int max_context = 0;
  bool gated_mlp = true;         // gate, up, down (SwiGLU); false: up, down
  bool tied_embeddings = false;  // lm_head shares the embedding
  bool qkv_bias = false;
  bool output_bias = false;  // attention output projection
  bool mlp_bias = false;
  bool lm_head_bias = false;
  bool qk_norm = false;          // per-head norms on q and k
  bool gated_attention = false;  // q_proj also yields an output gate (Qwen3.5 full attention)
  bool norm_bias = false;        // LayerNorm (weight and bias) instead of RMSNorm
  bool parallel_block = false;   // attention and MLP share one norm (phi)
  bool final_norm = true;
  int learned_positions = 0;  // rows of a learned position table (OPT)
  int embedding_width = 0;    // word embedding width if it differs from hidden (OPT-350M); 0: hidden
  int mtp_layers = 0;  // multi-token prediction modules stored with the model, not counted in the trunk
  std::optional<Mla> mla;
  std::optional<Moe> moe;
  std::optional<LinearAttention> linear_attention;
  std::int64_t published_parameters = 0;  // 0: not published exactly
  std::vector<SourceNote> sources;
};

// How tensor parallelism cuts a tensor.
enum class Split {
  replicated,  // every rank holds it whole
  rows,        // output features (column-parallel linear)
  columns,     // input features (row-parallel linear)
  vocab,       // rows of embedding and lm_head
};

// One parameter tensor, or `copies` equal ones (experts). rows x columns as stored: [out, in] for a linear
// layer, [n, 1] for a vector. Every family uses the names of the Llama checkpoints
// ("self_attn.q_proj.weight", "mlp.up_proj.weight"), also where its own checkpoint fuses or renames them
// (Qwen v1's c_attn, OPT's fc1), so that an adapter target or a filter works on all of them; the number of
// elements is the same.
struct Tensor {
  std::string name;  // within its layer
  std::int64_t rows = 0;
  std::int64_t columns = 1;
  Split split = Split::replicated;
  std::int64_t copies = 1;
  bool expert = false;  // divided by expert parallelism rather than tp alone
  bool kv = false;      // k or v projection: rank count beyond kv_heads copies instead of cutting
  bool matmul = false;  // used as y = x W^T (embedding look-ups, norms and biases are not)

  std::int64_t count() const { return rows * columns * copies; }
};

// Tensors of decoder layer `layer` (0-based), and those outside the layers (embeddings, final norm, lm_head:
// absent from the list when tied).
std::vector<Tensor> layer_tensors(Architecture const& a, int layer);
std::vector<Tensor> outer_tensors(Architecture const& a);

bool is_moe_layer(Architecture const& a, int layer);
bool is_linear_attention_layer(Architecture const& a, int layer);

// What makes an architecture impossible, one sentence ("kv_heads 3 does not divide heads 32"); empty when
// nothing does. The functions of this file ask for one without a fault: their integers cannot overflow then
// (at most 1e15 parameters) and their loops end soon (at most 10000 layers).
std::string fault(Architecture const& a);

// Exact parameter counts, the sum of Tensor::count().
struct ParameterCounts {
  std::int64_t total = 0;
  std::int64_t active = 0;     // per token: routed experts counted experts_per_token times
  std::int64_t embedding = 0;  // input table, position table, projections of a narrower table
  std::int64_t lm_head = 0;    // 0 when tied
  std::int64_t attention = 0;
  std::int64_t mlp = 0;      // dense MLP and shared experts
  std::int64_t experts = 0;  // routed experts
  std::int64_t norms = 0;
  std::int64_t router = 0;
};
ParameterCounts count_parameters(Architecture const& a);

// Elements of KV cache that one token adds in one layer, both K and V, before tp: 2 x kv_heads x head_dim for
// GQA; kv_lora_rank + qk_rope_head_dim for MLA; 0 in a linear-attention layer (its state does not grow).
std::int64_t kv_elements_per_token(Architecture const& a, int layer);
// Elements that one sequence holds in a linear-attention layer, whatever its length: the recurrent state
// (value_heads x key_head_dim x value_head_dim) and the window of the convolution; 0 in any other layer.
std::int64_t state_elements_per_sequence(Architecture const& a, int layer);

// FLOPs of one token's forward pass through the matrix products of layer `layer` (2 per multiply-add, active
// experts only, attention scores excluded) and of lm_head (with OPT-350M's projections). A linear-attention
// layer adds its recurrence: decay, read and update of the state, 3 x value_heads x key_head_dim x
// value_head_dim multiply-adds (the token-by-token form; chunked kernels trade more of them for fewer bytes).
Flops layer_matmul_flops_per_token(Architecture const& a, int layer);
Flops lm_head_flops_per_token(Architecture const& a);
// FLOPs of the scores and the weighted sum for one (query, key) pair in one layer: 2 x heads x (qk dim + v
// dim).
Flops attention_flops_per_pair(Architecture const& a, int layer);

}  // namespace rollcast
