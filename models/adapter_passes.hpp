// What a LoRA matrix pair adds beside its products, as the trainers' code does it.
#pragma once

#include "models/job.hpp"

namespace rollcast {

// Of one target y[n] = W x[k] with A [rank, k] and B [n, rank], for each token; operations for a micro-batch.
struct AdapterWork {
  double forward_bytes = 0;
  double backward_bytes = 0;
  int forward_operations = 0;
  int backward_operations = 0;
};

// The pair's result is added to the base's, 6 n B, and its input gradient to the base's, 6 k B; in eager mode
// its scale is a pass of its own, 4 n B each way (peft/tuners/lora/layer.py, result + lora_B(lora_A(x)) *
// scaling). Dropout, off by default in peft and torchtune, is not counted. Operations: two products forward,
// four backward, and those passes.
AdapterWork adapter_work(KernelStack stack, double n, double k);

// QLoRA: operations around unpacking one product's weights in a pass over them (bitsandbytes: constants,
// weights, transposed view; autograd's node).
constexpr int kUnpackOperations = 4;

}  // namespace rollcast
