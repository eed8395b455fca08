#include "models/adapter.hpp"

#include <algorithm>

namespace rollcast {

bool is_target(Adapter const& a, Tensor const& t) {
  return std::any_of(a.targets.begin(), a.targets.end(), [&](std::string const& target) {
    return t.name.ends_with("." + target + "_proj.weight");
  });
}

std::int64_t adapter_count(Adapter const& a, Tensor const& t) {
  return is_target(a, t) ? std::int64_t{a.count} * a.rank * (t.rows + t.columns) * t.copies : 0;
}

std::int64_t adapter_parameters(Adapter const& a, Architecture const& model) {
  std::int64_t sum = 0;
  for (int layer = 0; layer < model.layers; ++layer) {
    for (Tensor const& t : layer_tensors(model, layer)) sum += adapter_count(a, t);
  }
  return sum;
}

bool is_quantized(Adapter const& a, Tensor const& layer_tensor) {
  return a.kind == AdapterKind::qlora && layer_tensor.matmul;
}

Bytes quantized_bytes_per_weight(Adapter const& a) {
  double const block = 64;
  double const group = 128;
  double const blocks_per_constant = 256;
  if (a.quantization == Quantization::gptq) return bytes(0.5 + 2.5 / group);
  if (a.double_quantization) return bytes(0.5 + 1 / block + 4 / (block * blocks_per_constant));
  if (a.block_constants) return bytes(0.5 + 4 / block);
  return bytes(0.5);
}

TrainerOptions adapter_types(std::optional<Adapter> const& a, TrainerOptions t) {
  if (!a || !a->weights) return t;
  t.weights = *a->weights;
  t.gradients = *a->weights;
  if (t.weights == DType::fp32) t.master_weights = false;
  return t;
}

}  // namespace rollcast
