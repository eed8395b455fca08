// What an update holds beside states and activations: buffers of its passes and of the optimizer's step.
//
// Passes (those of a forward pass alone hold the first two):
//   a quantized base     NF4: the largest matrix in the trainer's type, and with GPTQ all of a layer (of all
//                        layers without full recomputation), which autograd keeps, and the largest one
//                        unpacked to int32 and int8, 5 B a weight (auto_gptq/nn_modules/qlinear: shift, then
//                        cast); an fp16 result that is cast (nf4_fp16) is counted once
//   ZeRO-3               two layers gathered and the embedding and head; their gradients before and in the
//                        reduce-scatter
//   DeepSpeed, ZeRO 1, 2 two buckets, one filled while one is reduced
//   DeepSpeed, ZeRO-2    the gradients of a micro-batch in a partition of their own before they are added,
//                        where a step has several (stage_1_and_2.py, copy_grads_in_partition,
//                        independent_gradient_partition_epilogue)
//   torch.autocast       fp32 weights of a model in 16 bits cast where they are used: adapters' copies stay
//                        to the end of the forward pass, the head's for the gradient of its input
//                        (aten/src/ATen/autocast_mode.cpp, cached_cast). Only without sharding: FSDP and
//                        DeepSpeed cast by themselves.
// Step, per parameter of the rank's share:
//   DeepSpeed, ZeRO 1-3  the gradients flattened into one tensor, in their type, and that in fp32 where they
//                        are not: 2 + 4 B; under ZeRO-3 of at most a sub-group of 1e9 parameters
//                        (runtime/zero/stage_1_and_2.py step(), stage3.py _prepare_fp32_grad_for_sub_group,
//                        0.9 to 0.14); its Adam is fused
//   foreach optimizer    the square root of Adam's second state, in its type (torch/optim/adamw.py,
//                        _multi_tensor_adamw, since 2.1; before it held two such)
// A fused Adam works in place; an optimizer on the host needs nothing here.
#pragma once

#include <string>
#include <vector>

#include "models/job.hpp"
#include "models/roles.hpp"

namespace rollcast {

struct UpdateBuffer {
  std::string name;
  std::string formula;
  Bytes bytes;
  bool forward = false;         // of a forward pass alone too
  bool gathers_layers = false;  // on the stream of the gathers
};

// Of a role's rank of a stage; a role that is not trained has those of a forward pass.
std::vector<UpdateBuffer> pass_buffers(Job const& job, ModelRole const& r, int stage);
std::vector<UpdateBuffer> step_buffers(Job const& job, ModelRole const& r, int stage);

}  // namespace rollcast
