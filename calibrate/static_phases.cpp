#include "calibrate/static_phases.hpp"

#include <cmath>
#include <limits>
#include <stdexcept>

#include "calibrate/profiles.hpp"
#include "models/catalog/catalog.hpp"
#include "models/engine_versions.hpp"
#include "models/static_generate.hpp"

namespace rollcast {
namespace {

constexpr char const* kGpu = "a800-sxm-80gb";
constexpr char const* kNode = "hgx-a800";
constexpr double kSamples = 1024;
constexpr int kTokens = 1024;  // of a prompt and of an answer
constexpr double kScoringRate = 0.6 * 312e12;
constexpr int kSteps = 32;  // of half a millisecond

double batches_of(StaticCase const& c) { return kSamples / c.ranks / c.batch; }

}  // namespace

std::vector<StaticCase> const& static_cases() {
  // Reference and reward model have a GPU each for four actors in the rows with ray, else all models share.
  static std::vector<StaticCase> const all = {
      {"R22-deepspeed-chat-7b-offload", "llama-2-7b", 8, 8, false, 32, seconds(697.12)},
      {"R22-deepspeed-chat-7b", "llama-2-7b", 4, 8, false, 16, seconds(975.36)},
      {"R22-openrlhf-7b", "llama-2-7b", 8, 8, true, 32, seconds(920.81)},
      {"R22-openrlhf-ray-7b", "llama-2-7b", 16, 4, true, 64, seconds(1498.77)},
      {"R22-deepspeed-chat-13b-offload", "llama-2-13b", 2, 8, false, 8, seconds(2590.72)},
      {"R22-openrlhf-ray-13b", "llama-2-13b", 8, 4, true, 32, seconds(2722.51)},
  };
  return all;
}

Seconds forecast(StaticCase const& c, EngineOverhead const& host) {
  Architecture const* const model = find_architecture(builtin_catalog(), c.model);
  Node const* const node = find_node(builtin_catalog(), kNode);
  Gpu const* const gpu = find_gpu(builtin_catalog(), kGpu);
  if (model == nullptr || node == nullptr || gpu == nullptr)
    throw std::logic_error("a generation case outside the catalog");
  static Profile const p = profile_for(*gpu);
  ClusterSpec cluster;
  cluster.node = *node;
  cluster.nodes = 1;
  CollectivePrices collectives(p, cluster);
  EngineOptions e;
  e.kind = EngineKind::hf;
  StaticOptions options;
  options.prompt_length = kTokens;
  options.unpadded_attention = c.unpadded;
  StaticBatch const b =
      static_generate(p, collectives, *model, e, host, options,
                      std::vector<StaticSequence>(static_cast<std::size_t>(c.batch), {kTokens, kTokens}));
  double const scoring =
      c.scored * 2 * static_cast<double>(count_parameters(*model).total) * 2 * kTokens / kScoringRate;
  return batches_of(c) * (b.end + Seconds(scoring));
}

EngineOverhead fit_static(std::string const& left_out) {
  EngineOverhead best = *overhead_of_version(EngineKind::hf, "");
  EngineOverhead no_step = best;
  no_step.step = Seconds(0);
  double least = std::numeric_limits<double>::infinity();
  std::vector<double> without_steps;
  for (StaticCase const& c : static_cases()) without_steps.push_back(forecast(c, no_step).value);
  for (int half = 0; half <= kSteps; ++half) {
    Seconds const step = us(500.0 * half);
    double sum = 0;
    for (std::size_t i = 0; i < without_steps.size(); ++i) {
      StaticCase const& c = static_cases()[i];
      if (c.name == left_out) continue;
      // Every forward of the phase has its step.
      double const e = std::log((without_steps[i] + step.value * batches_of(c) * kTokens) / c.measured.value);
      sum += e * e;
    }
    if (sum >= least) continue;
    least = sum;
    best.step = step;
  }
  return best;
}

}  // namespace rollcast
