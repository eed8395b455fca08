// What an adapter and a base of 4 bits add beside their products, as the trainers' code does it.
#pragma once

#include <vector>

#include "models/job.hpp"
#include "models/layer_prices.hpp"

namespace rollcast {

// A pair of low-rank matrices as it runs: y[n] += W x[k] with A [rank x blocks, k] and B [n, rank].
struct AdapterPair {
  Matmul product;
  int blocks = 1;
  // Outputs of the product that it is added to, where the pair reaches only some of them: its result is set
  // into as many zeros. 0: it reaches all.
  double padded = 0;
};

// One pair for each target. With merged_qkv q, k and v have one pair together: of one A if all three are
// targets (peft's, on the one module there is), else of an A for each of them, padded with zeros (loralib's
// MergedLinear, LitGPT's LoRAQKVLinear).
std::vector<AdapterPair> adapter_pairs(std::vector<Matmul> const& tensors, Adapter const& adapter,
                                       bool merged_qkv);

// Of one pair, for each token; operations for a micro-batch, and what its forward keeps the host busy with
// beside them.
struct AdapterWork {
  double forward_bytes = 0;
  double backward_bytes = 0;
  int forward_operations = 0;
  int backward_operations = 0;
  Seconds forward_host;
};

// The pair's result is added to the base's, 6 n B, and its input gradient to the base's, 6 k B; in eager mode
// its scale is a pass of its own, 4 n B each way (peft/tuners/lora/layer.py, result + lora_B(lora_A(x)) *
// scaling). Dropout reads the input and writes it and a mask, 5 k B, backward as much (torch's
// native_dropout). Operations: two products forward, four backward, and those passes.
// Padded, in eager mode (lit_gpt/lora.py, zero_pad around a grouped convolution): the result is transposed
// into place, 4 n B, zeros written and copied, 6 B for each of the padded outputs, and the result put among
// them by a list of indices, 4 n B; scale and sum run over the padded outputs; backward gathers and
// transposes the gradient, 8 n B. Six more operations forward (zeros, their copy, input and result in order,
// the list of indices, the result put there) and three backward; views are not counted. The list of n indices
// is made a tensor anew every time: 0.11 us an index (huggingface/transformers pull 24772: 1,024,000 integers
// of a Python list in 0.11 s).
AdapterWork adapter_work(KernelStack stack, AdapterPair const& pair, double dropout);

// Making one product's weights the trainer's type again: bytes of memory traffic per weight in forward, and
// in backward for the input gradient, and operations.
//   nf4       one kernel: the constants and half a byte read, two written (bitsandbytes since 0.43,
//             autograd/_functions.py, MatMul4Bit; torchao the same where compiled). Operations in eager mode:
//             5 (autograd's node in Python counted twice, output, kernel, cast), with double quantization 3
//             more
//   nf4_fp16  bitsandbytes to 0.42 quantizes what was made fp16 before (nn/modules.py, Params4bit.cuda), so
//             the kernel's result is fp16, and cast: 4 B more unless the trainer's type is that
//   gptq      auto-gptq's kernel of PyTorch operations (qlinear_cuda_old.py, used above 128 tokens): shift of
//             the packed words to int32 4.5 B, to int8 5, masked in place 2, less the zero 2, times the scale
//             3: 16.5 B; with the zeros' and the bias 10 operations. Autograd keeps the result for the input
//             gradient, so that backward does without
struct DequantizationWork {
  double forward_bytes = 0;
  double backward_bytes = 0;
  int forward_operations = 0;
  int backward_operations = 0;
};
DequantizationWork dequantization_work(Adapter const& adapter, KernelStack stack, DType weights);

}  // namespace rollcast
