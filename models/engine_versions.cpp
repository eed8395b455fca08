#include "models/engine_versions.hpp"

#include <array>
#include <charconv>
#include <optional>

namespace rollcast {
namespace {

using Release = std::array<int, 3>;

// "0.3.1" is {0, 3, 1}, "0.7" {0, 7, 0}.
std::optional<Release> release_of(std::string_view version) {
  Release numbers{};
  char const* at = version.data();
  char const* const end = at + version.size();
  for (int& number : numbers) {
    auto const [next, error] = std::from_chars(at, end, number);
    if (error != std::errc()) return std::nullopt;
    if (next == end) break;
    if (*next != '.') return std::nullopt;
    at = next + 1;
  }
  return numbers;
}

bool before(std::string_view version, Release const& limit) {
  auto const release = release_of(version);
  return release && *release < limit;
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
  if (engine == EngineKind::vllm && before(version, {0, 6, 0})) return &early_vllm;
  return nullptr;
}

KvSizing kv_sizing(EngineKind engine, std::string_view version) {
  KvSizing sizing;
  if (engine != EngineKind::vllm || before(version, {0, 6, 4})) return sizing;
  bool const v0 = before(version, {0, 8, 0});
  sizing.whole_card = before(version, {0, 6, 5}) || (!v0 && before(version, {0, 9, 1}));
  sizing.start_check = !before(version, {0, 9, 1});
  sizing.graphs = sizing.replaced_weights_count_twice = !before(version, {0, 21, 0});
  return sizing;
}

bool is_first_vllm(EngineKind engine, std::string_view version) {
  return engine == EngineKind::vllm && before(version, {0, 8, 0});
}

bool chunks_long_contexts(std::string_view version) { return !before(version, {0, 5, 4}); }

bool prompts_apart(EngineOptions const& e) { return is_first_vllm(e.kind, e.version) && !e.chunked_prefill; }

AdapterRelease adapter_release(EngineKind engine, std::string_view version) {
  constexpr Seconds kDirect = us(43);
  if (engine != EngineKind::vllm) return {false, true, kDirect};
  if (before(version, {0, 5, 4})) return {true, false, us(63)};
  if (before(version, {0, 7, 0})) return {true, false, us(357)};
  if (before(version, {0, 8, 0})) return {true, true, kDirect};
  return {true, true, Seconds(0)};
}

bool keeps_old_cache(std::string_view version) { return before(version, {4, 42, 0}); }

bool keeps_prompt_logits(std::string_view version) { return before(version, {4, 45, 0}); }

}  // namespace rollcast
