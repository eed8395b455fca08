// LoRA adapters and quantized bases.
#pragma once

#include <cstdint>
#include <optional>

#include "models/architecture.hpp"
#include "models/job.hpp"

namespace rollcast {

// Whether the adapter sits on this tensor: its name ends in ".<target>_proj.weight".
bool is_target(Adapter const& a, Tensor const& t);

// Parameters of the pairs A [rank, in], B [out, rank] on one tensor: rank x (in + out) x copies x count (Hu
// et al. 2021). r = 16 on q and v of 80 layers, all [8192, 8192]: 80 x 2 x 16 x 16,384 = 41,943,040.
std::int64_t adapter_count(Adapter const& a, Tensor const& t);
std::int64_t adapter_parameters(Adapter const& a, Architecture const& model);

// A frozen linear layer that QLoRA keeps in 4 bits: the matrix products of the decoder layers. Embeddings,
// norms and lm_head stay in the trainer's weight type.
bool is_quantized(Adapter const& a, Tensor const& layer_tensor);

// Bytes per quantized weight (Dettmers et al. 2023, section 3): NF4 0.5; with one fp32 constant per 64
// weights 0.5 + 4/64 = 0.5625; with those constants in 8 bits and one fp32 constant per 256 of them 0.5 +
// 1/64 + 4/(64 x 256) = 0.515869. GPTQ with an fp16 scale and a zero of four bits per 128 weights: 0.5 +
// 2.5/128 = 0.51953.
Bytes quantized_bytes_per_weight(Adapter const& a);

// The trainer's types as its adapter has them; fp32 adapters need no fp32 copy.
TrainerOptions adapter_types(std::optional<Adapter> const& a, TrainerOptions t);

}  // namespace rollcast
