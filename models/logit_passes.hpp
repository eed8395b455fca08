// What a loss reads and writes of the logits, as the trainers' code does it.
#pragma once

#include "models/job.hpp"
#include "models/packing.hpp"

namespace rollcast {

// Bytes of memory traffic per logit (token x vocabulary entry of one rank).
struct LogitBytes {
  double forward = 0;
  double backward = 0;
};

// fused (in one kernel), chunked with compiled kernels (torchtune compiles the loss of a chunk): the bf16
// logits are read twice (maximum; sum of exponentials), the
//   gradient reads and writes them: 4 and 4. Linear with fused kernels (Liger) the same.
// linear otherwise, over chunks of the vocabulary with a running maximum and sums for log-probability and
// entropy
//   (prime-rl, trainer/models/layers/lm_head.py): cast 6, temperature 8, maximum 4, difference 8, exponential
//   8, sum 4, product 12, sum 4 = 54; backward, on logits computed again, cast 6, temperature 8, difference
//   8, exponential 8, by the gradient 8, temperature 8, two casts 12 = 58.
// fused kernels (Megatron core, tensor_parallel/cross_entropy.py; models/gpt: logits to batch first; Float16
//   Module: outputs to fp32): transposed copy 4, cast 6, maximum 4, difference 8, exponential 8, sum 4,
//   quotient 8 = 42; backward softmax scaled in place 8, cast back 6, transposed back 4 = 18.
// eager and compiled kernels (torch cross_entropy of fp32 logits): cast 6, shifted copy 8, log-softmax 16
// (three readings
//   and the result) = 30; backward zeros of the target's gradient 4, log-softmax's 16, unshifted 12, cast
//   back 6 = 38. With shifted labels no copy, 22, and nothing to put back, 26.
// ppo and grpo divide the logits by the temperature before: 8 and 8 (fp32, in place).
// NeMo-RL takes the sequences of a pack one by one out of the logits; each leaves a gradient as large as all
// of them, zeros 4 and sum 12, so backward grows by 16 per sequence of the micro-batch (SequencePackingLoss
// Wrapper in nemo_rl/algorithms/loss_functions.py; torch's slice_backward). Its log-probabilities
// (distributed/model_utils.py, DistributedLogprob) cost what Megatron's cross entropy does.
LogitBytes logit_bytes(Job const& job, MicroBatch const& m);

// The backward pass computes the product over the vocabulary again.
bool recomputes_logits(TrainerOptions const& t);

// Small kernels of the loss on log-probabilities, advantages and masks, launched one by one with the GPU
// waiting: its metrics are read by the host (.item()), so nothing is queued behind them. ppo, grpo and dpo
// about 80 forward and 60 backward (NeMo-RL's ClippedPGLossFn counted: masks, ratio, clipping, KL, eight
// metrics), sft 15 and 10; once per micro-batch, by NeMo-RL once per sequence of a pack.
struct LossKernels {
  double forward = 0;
  double backward = 0;
};
LossKernels loss_kernels(Job const& job, MicroBatch const& m);

}  // namespace rollcast
