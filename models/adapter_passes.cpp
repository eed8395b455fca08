#include "models/adapter_passes.hpp"

#include <array>
#include <optional>
#include <string_view>

#include "models/adapter.hpp"

namespace rollcast {
namespace {

constexpr double kElement = 2;
constexpr double kIndex = 0.11e-6;  // s, an integer of a Python list made a tensor's
constexpr double kDropout = 5;
constexpr int kPaddingForward = 6;
constexpr int kPaddingBackward = 3;
constexpr int kCompiled = 1;  // a kernel for each use
constexpr int kNf4 = 5;
constexpr int kDoubleQuantization = 3;
constexpr double kGptqBytes = 4.5 + 5 + 2 + 2 + 3;
constexpr int kGptq = 10;

bool is_part_of_qkv(std::string const& tensor) {
  constexpr std::array<std::string_view, 3> kParts = {".q_proj.", ".k_proj.", ".v_proj."};
  for (std::string_view const part : kParts) {
    if (tensor.find(part) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

std::vector<AdapterPair> adapter_pairs(std::vector<Matmul> const& tensors, Adapter const& adapter,
                                       bool merged_qkv) {
  std::vector<AdapterPair> pairs;
  std::optional<AdapterPair> merged;
  double outputs = 0;
  int reached = 0;
  for (Matmul const& m : tensors) {
    bool const part = merged_qkv && is_part_of_qkv(m.tensor);
    if (part) outputs += m.n;
    if (!is_target(adapter, m.tensor)) continue;
    if (!part) {
      pairs.push_back({m});
      continue;
    }
    ++reached;
    if (merged) {
      merged->product.n += m.n;
    } else {
      merged = AdapterPair{m};
    }
  }
  if (!merged) return pairs;
  if (merged->product.n < outputs) {
    merged->blocks = reached;
    merged->padded = outputs;
  }
  pairs.push_back(*merged);
  return pairs;
}

AdapterWork adapter_work(KernelStack stack, AdapterPair const& pair, double dropout) {
  double const n = pair.product.n;
  double const k = pair.product.k;
  AdapterWork work{6 * n, 6 * k, 3, 5, {}};
  if (dropout > 0) {
    work.forward_bytes += kDropout * k;
    work.backward_bytes += kDropout * k;
    ++work.forward_operations;
    ++work.backward_operations;
  }
  if (stack != KernelStack::eager) return work;
  double const scaled = pair.padded > 0 ? pair.padded : n;
  work.forward_bytes += 4 * scaled;
  work.backward_bytes += 4 * scaled;
  ++work.forward_operations;
  ++work.backward_operations;
  if (pair.padded <= 0) return work;
  work.forward_bytes += 6 * (pair.padded - n) + 8 * n + 6 * pair.padded;
  work.backward_bytes += 8 * n;
  work.forward_operations += kPaddingForward;
  work.backward_operations += kPaddingBackward;
  work.forward_host = Seconds(kIndex * n);
  return work;
}

DequantizationWork dequantization_work(Adapter const& a, KernelStack stack, DType weights) {
  bool const eager = stack == KernelStack::eager;
  if (a.quantization == Quantization::gptq) return {kGptqBytes, 0, kGptq, 0};
  bool const cast = a.quantization == Quantization::nf4_fp16 && weights != DType::fp16;
  double const bytes = quantized_bytes_per_weight(a).value + kElement + (cast ? 2 * kElement : 0);
  int const operations = eager ? kNf4 + (a.double_quantization ? kDoubleQuantization : 0) : kCompiled;
  return {bytes, bytes, operations, operations};
}

}  // namespace rollcast
