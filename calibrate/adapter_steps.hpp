// Optimizer steps of published trainings of adapters: what they say of the host's time per operation in eager
// mode, and of the bandwidth at which a base of 4 bits is made the trainer's type again.
//
//   S04  LitGPT's resource tables: Llama-2-7B, StableLM-3B and phi-1.5, 128 micro-batches of one example;
//        LoRA, and QLoRA by bitsandbytes 0.41 with and without double quantization
//   S11  Qwen's README: Qwen v1 1.8B and 7B, LoRA and QLoRA (GPTQ) on one A100, 8 sequences of 256 to 8,192
//   S01  torchtune's README: Llama-3.1-8B and 405B QLoRA, compiled, two packs of 2,048
//   S02  torchtune's README: Llama-3.2-3B QLoRA, compiled, two packs of 4,096
// A step is counted as its micro-batches of the mean length; the optimizer of an adapter is left aside.
#pragma once

#include <string>
#include <vector>

#include "models/job.hpp"
#include "models/packing.hpp"
#include "models/profile.hpp"

namespace rollcast {

struct AdapterStep {
  std::string source;
  Job job;
  int micro_batches = 1;
  MicroBatch micro_batch;
  Seconds measured;
};

std::vector<AdapterStep> const& adapter_steps();

// A step with these prices, p of the step's GPU.
Seconds forecast(AdapterStep const& s, Profile const& p);

// Profile::eager_launches (in eighths) and Profile::dequantization (in twentieths).
struct AdapterFit {
  double eager_launches = 0;
  double dequantization = 0;
};

// What makes the mean square of log(forecast / measured) over the steps least, without those of the source
// named `left_out` ("": over all).
AdapterFit fit_adapter_steps(std::string const& left_out);

}  // namespace rollcast
