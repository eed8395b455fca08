// What an inference engine's loader costs beside the bytes.
//
// vLLM's and SGLang's load_weights begins every call by listing the model's parameters by name
// (dict(self.named_parameters()), a walk over all modules) and, of a mixture of experts, by making a table
// with an entry for each expert's gate, up and down (vLLM v0.10.2 model_executor/models/qwen3_moe.py,
// deepseek_v2.py; MoonshotAI's account of Kimi K2's updates and slime's of its own both found the walk and
// cached it). So a call for every tensor costs tensors x layers, one for a bucket next to nothing:
//   walk    of one call = kMember x (modules and parameters) + kMapping x 3 x experts
//   members of a layer:  19 dense, 22 with experts (the modules of vLLM's Qwen2 and Qwen3-MoE layers)
// The ratio of the two numbers was measured on plain Python that does the same (an idle AMD EPYC, Python
// 3.11: 0.327 us a member, 0.127 us an entry); on a host that serves both take longer, by the factor 2.09
// that fits W01's Qwen3-235B-A22B: 58.57 s for 36,945 tensors of one call each, less their loading. W01's
// other rows were not used.
#pragma once

#include "models/architecture.hpp"
#include "models/units.hpp"

namespace rollcast {

Seconds load_walk(Architecture const& a);

}  // namespace rollcast
