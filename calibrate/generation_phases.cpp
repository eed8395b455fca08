#include "calibrate/generation_phases.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>

#include "calibrate/profiles.hpp"
#include "models/catalog/catalog.hpp"
#include "models/lengths.hpp"
#include "models/rollout_engine.hpp"
#include "models/rollout_prices.hpp"

namespace rollcast {
namespace {

constexpr int kEngines = 3;
constexpr std::int64_t kPages = 1 << 20;  // none of the cases runs out of them
constexpr std::uint64_t kSeed = 1;

ClusterSpec cluster_of(Gpu const& gpu) {
  ClusterSpec c;
  c.nodes = 1;
  c.node.gpu = gpu;
  c.node.gpus = 1;
  for (Node const& n : builtin_catalog().nodes) {
    if (n.gpu.name != gpu.name) continue;
    c.node = n;
    if (Fabric const* f = find_fabric(builtin_catalog(), n.fabric)) c.fabric = *f;
    break;
  }
  return c;
}

Lengths lengths_of(GenerationCase const& c) {
  Lengths l;
  l.max = c.max_response;
  if (c.p95_response > 0) {
    l.shape = fit_lognormal(c.mean_response, c.p95_response, c.max_response).lengths;
  } else {
    l.shape = FixedLength{static_cast<int>(c.mean_response)};
  }
  return l;
}

}  // namespace

std::vector<GenerationCase> const& generation_cases() {
  static std::vector<GenerationCase> const all = {
      {"R31", "h100-sxm", "llama-3.1-8b", 1, 256, 127, 795, 2030, 3969, seconds(58)},
      {"R31", "h100-sxm", "llama-3.1-8b", 1, 256, 127, 811, 2070, 3969, seconds(56)},
      {"R31", "h100-sxm", "llama-3.1-8b", 1, 256, 127, 777, 1984, 3969, seconds(57)},
      {"R31", "h100-sxm", "llama-3.1-8b", 1, 256, 127, 802, 2048, 3969, seconds(55)},
      {"I06", "h800-sxm", "qwen3-4b", 1, 64, 160, 2048, 0, 2048, seconds(23.8)},
      {"I07", "l20", "qwen3-0.6b", 1, 16, 150, 192, 0, 192, seconds(1.263)},
      {"I07", "l20", "qwen3-0.6b", 1, 256, 150, 192, 0, 192, seconds(7.198)},
      {"I02", "h200-sxm", "qwen3-4b", 2, 128, 1000, 1363, 4600, 9324, seconds(62)},
  };
  return all;
}

GenerationPhase::GenerationPhase(GenerationCase const& c) : case_(c) {
  Gpu const* const gpu = find_gpu(builtin_catalog(), c.gpu);
  Architecture const* const model = find_architecture(builtin_catalog(), c.model);
  if (gpu == nullptr || model == nullptr) throw std::logic_error("a generation case outside the catalog");
  engine_.parallel.tp = c.tp;
  engine_.max_model_len = c.prompt_tokens + c.max_response;
  Profile const p = profile_for(*gpu);
  kernels_ = rollout_step_prices(p, *model, engine_, cluster_of(*gpu));
  kernels_.fixed = Seconds(p.engine_logprobs_step.value);
  kernels_.per_sequence = Seconds(p.engine_logprobs_per_sequence.value);
}

Seconds GenerationPhase::forecast(EngineOverhead const& o) const {
  StepPrices prices = kernels_;
  prices.fixed += o.step;
  prices.per_sequence += o.per_sequence;
  Lengths const lengths = lengths_of(case_);
  Seconds slowest;
  for (int e = 0; e < kEngines; ++e) {
    RolloutEngine engine(engine_, kPages, prices);
    for (int i = 0; i < case_.samples; ++i) {
      auto const index = static_cast<std::uint64_t>(e * case_.samples + i);
      engine.submit(
          {i, -1, case_.prompt_tokens, sample(lengths, {kSeed, Purpose::response_length, 0, index}, 0)},
          Seconds(0));
    }
    std::vector<Completion> done;
    slowest = max(slowest, engine.run_to_end(done));
  }
  return slowest;
}

EngineOverhead fit_generation(std::vector<GenerationPhase> const& phases,
                              std::vector<std::string> const& left_out) {
  std::map<std::string, std::vector<GenerationPhase const*>> cases;
  for (GenerationPhase const& p : phases) {
    if (std::find(left_out.begin(), left_out.end(), p.of().id) == left_out.end())
      cases[p.of().id].push_back(&p);
  }
  auto const sum = [&](EngineOverhead const& o) {
    double total = 0;
    for (auto const& [id, readings] : cases) {
      double squares = 0;
      for (GenerationPhase const* p : readings) {
        double const e = std::log(p->forecast(o) / p->of().measured);
        squares += e * e;
      }
      total += squares / static_cast<double>(readings.size());
    }
    return total;
  };
  EngineOverhead best;
  double least = std::numeric_limits<double>::infinity();
  for (int quarter = 0; quarter <= 20; ++quarter) {
    for (int five = 0; five <= 12; ++five) {
      EngineOverhead o;
      o.step = us(250.0 * quarter);
      o.per_sequence = us(5.0 * five);
      double const value = sum(o);
      if (value < least) {
        least = value;
        best = o;
      }
    }
  }
  return best;
}

}  // namespace rollcast
