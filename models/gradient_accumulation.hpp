// What adding a micro-batch's weight gradient to the buffer of gradients costs beside the product itself.
#pragma once

#include "models/job.hpp"

namespace rollcast {

// Whether the product adds to the buffer in its own epilogue: Megatron core with APEX's extension, which
// gradient_accumulation_fusion asks for. Its training scripts and slime, which takes their arguments, have it
// on by default; NeMo-RL looks for the extension, which it does not install
// (megatron/bridge/utils/fusions.py, can_enable_gradient_accumulation_fusion); verl leaves
// TransformerConfig's default, off.
bool fuses_accumulation(Job const& job);

// Bytes per weight and micro-batch, g: bytes of the buffer's type, 2: of the product's bf16 result. Fused:
// the buffer read and written instead of the result: 2 g - 2. Else result and buffer read, buffer written: 2
// + 2 g. None under DeepSpeed's ZeRO-3, whose product's result is the parameter's gradient and is added to
// the shard later (models/partition_work.hpp).
double accumulation_bytes(Job const& job);

}  // namespace rollcast
