// A model from the config.json that its maker publishes on Hugging Face.
//
// Understood by model_type: llama; qwen (v1); qwen2, qwen2_vl, qwen2_5_vl; qwen3, qwen3_vl; qwen3_moe,
// qwen3_vl_moe; qwen3_next, qwen3_5, qwen3_5_moe; deepseek_v3; glm4_moe, glm4_moe_lite; opt; gpt_neox;
// stablelm; phi. Of a vision model the language part is taken (text_config, or the keys beside
// vision_config). Keys that are absent or null have the default of that model type: num_key_value_heads is
// num_attention_heads (1 with multi_query), head_dim is hidden_size / num_attention_heads.
//
// Problems, each at its place in the file: text that is not JSON, a model type that is not understood (the
// message lists those above), a missing or impossible shape, and a key that gives a shape which the model
// type does not have (cross-attention layers, an indexer, per-layer widths): better no forecast than one of
// another model.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/architecture.hpp"
#include "scenarios/problem.hpp"

namespace rollcast {

// An architecture, or every problem of the file.
struct HfConfigResult {
  std::optional<Architecture> architecture;  // set if and only if problems is empty
  std::vector<Problem> problems;
};

// The architecture's name is the last part of _name_or_path, else the folder of the file.
HfConfigResult read_hf_config(std::string const& path);
// text as if it stood in file `name`.
HfConfigResult read_hf_config_text(std::string_view text, std::string const& name);

}  // namespace rollcast
