#include "models/engine_versions.hpp"

#include <charconv>
#include <optional>
#include <utility>

namespace rollcast {
namespace {

// "0.3.1" is {0, 3}.
std::optional<std::pair<int, int>> release_of(std::string_view version) {
  int numbers[2] = {0, 0};
  char const* at = version.data();
  char const* const end = at + version.size();
  for (int& number : numbers) {
    auto const [next, error] = std::from_chars(at, end, number);
    if (error != std::errc()) return std::nullopt;
    if (next == end) break;
    if (*next != '.') return std::nullopt;
    at = next + 1;
  }
  return std::pair{numbers[0], numbers[1]};
}

}  // namespace

EngineOverhead const* overhead_of_version(EngineKind engine, std::string_view version) {
  static EngineOverhead const early_vllm = {
      EngineKind::vllm, us(2300), us(42), us(21),
      "vllm-project/vllm pull 1440 (October 2023, Llama-2-7B, 5 sequences): 10.5 ms a token in a CUDA graph, "
      "7.9 ms of them weights and K and V at 85 % of an A100's bandwidth, 12 ms eager; issue 6854 (July "
      "2024, "
      "multi-step RFC): the GPU waits 5 to 13 ms between two decode steps; 13 ms at the default limit of 256 "
      "sequences. A line through (5, 2.5 ms) and (256, 13 ms); launch: (12 - 2.5) ms / 448"};
  static EngineOverhead const hugging_face = {
      EngineKind::hf, us(8000), Seconds(0), us(15),
      "fitted on the six generation phases of R22 (OpenRLHF benchmark README, A800) that run Hugging Face "
      "generate, transformers 4.38, as one set: DeepSpeed-Chat 7B with and without offload and 13B, OpenRLHF "
      "7B "
      "on 8 GPUs, 7B and 13B with ray 1:1:4:2; every answer of 1,024 tokens, forwards of the experience at "
      "60 "
      "% of the matrix peak; forecast within 7 %"};
  if (engine == EngineKind::hf) return &hugging_face;
  auto const release = release_of(version);
  if (engine == EngineKind::vllm && release && *release < std::pair{0, 6}) return &early_vllm;
  return nullptr;
}

}  // namespace rollcast
