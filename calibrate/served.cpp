#include "calibrate/served.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "models/catalog/catalog.hpp"
#include "models/engine_memory.hpp"
#include "models/process_memory.hpp"
#include "models/rollout_prices.hpp"

namespace rollcast {
namespace {

constexpr int kPageTokens = 32;

int whole(Sample const& s, char const* name) { return static_cast<int>(std::lround(dimension(s, name))); }

std::optional<DType> weights_of(Sample const& s) {
  if (s.dtype == "bf16") return DType::bf16;
  if (s.dtype == "fp8") return DType::fp8;
  return std::nullopt;
}

std::optional<ClusterSpec> cluster_of(Gpu const& gpu, int ranks) {
  for (Node const& n : builtin_catalog().nodes) {
    if (n.gpu.name != gpu.name || n.gpus < ranks) continue;
    Fabric const* const fabric = find_fabric(builtin_catalog(), n.fabric);
    if (fabric == nullptr) continue;
    ClusterSpec c;
    c.node = n;
    c.nodes = 1;
    c.fabric = *fabric;
    return c;
  }
  return std::nullopt;
}

EngineOptions engine_of(Sample const& s, Architecture const& model, DType weights) {
  EngineOptions e;
  e.kind = EngineKind::trtllm;
  e.parallel.tp = whole(s, "tp");
  e.parallel.pp = whole(s, "pp");
  e.parallel.ep = whole(s, "ep");
  e.gpu_memory_utilization = 0.9;
  e.block_size = kPageTokens;
  e.max_num_seqs = std::max(1, whole(s, "concurrency") - 1);
  e.max_model_len = whole(s, "prompt") + whole(s, "response");
  e.max_num_batched_tokens = e.max_model_len;
  e.chunked_prefill = false;
  e.prefix_caching = false;
  e.async_scheduling = true;
  e.weights = weights;
  e.kv_cache = model.mla ? DType::bf16 : weights;
  return e;
}

Predictor predictor(char const* operation, Seconds ServedTimes::*time,
                    std::function<std::optional<ServedTimes>(Sample const&)> const& times) {
  return {operation,
          [times, time](Sample const& s) -> std::optional<Seconds> {
            auto const t = times(s);
            return t ? std::optional<Seconds>((*t).*time) : std::nullopt;
          },
          {}};
}

}  // namespace

std::optional<ServedPoint> served_point(Profile const& p, Sample const& s) {
  if (!s.operation.starts_with("served_") || s.gpu != p.gpu.name) return std::nullopt;
  auto const space = s.variant.find(' ');
  if (space == std::string::npos || s.variant.substr(0, space) != name_of(EngineKind::trtllm))
    return std::nullopt;
  // Attention replicas stand behind the model's name, which then is none.
  Architecture const* const model = find_architecture(builtin_catalog(), s.variant.substr(space + 1));
  auto const weights = weights_of(s);
  if (model == nullptr || !weights) return std::nullopt;
  ServedPoint point;
  point.model = *model;
  point.engine = engine_of(s, *model, *weights);
  auto const cluster = cluster_of(p.gpu, point.engine.parallel.tp * point.engine.parallel.pp);
  if (!cluster || model->heads % point.engine.parallel.tp != 0) return std::nullopt;
  point.load = {whole(s, "concurrency"), whole(s, "prompt"), whole(s, "response")};
  EngineSite const site{p.gpu.visible_memory, Bytes(0)};
  Bytes const room = kv_budget(*model, point.engine, site, process_memory()).left;
  point.kv_blocks = static_cast<std::int64_t>(std::floor(room / kv_page(*model, point.engine)));
  std::int64_t const pages = (point.engine.max_model_len + kPageTokens - 1) / kPageTokens;
  std::int64_t const sequences = point.kv_blocks / pages;
  if (sequences < 1) return std::nullopt;
  if (sequences < point.engine.max_num_seqs) point.engine.max_num_seqs = static_cast<int>(sequences);
  point.kernels = rollout_step_prices(p, *model, point.engine, *cluster);
  point.kernels.fixed = Seconds(0);
  point.kernels.per_sequence = Seconds(0);
  return point;
}

ServedTimes served_times(ServedPoint const& point, EngineOverhead const& overhead) {
  StepPrices prices = point.kernels;
  prices.fixed = overhead.step;
  prices.per_sequence = overhead.per_sequence;
  return served_times(point.engine, point.kv_blocks, prices, least_prefill_step(overhead, point.model),
                      point.load);
}

std::vector<Predictor> served_predictors(Profile const& p) {
  EngineOverhead const* const known = find_overhead(p.engines, EngineKind::trtllm);
  if (known == nullptr) return {};
  // Both times of a point come from one simulation.
  auto const done =
      std::make_shared<std::map<std::pair<std::string, std::vector<double>>, std::optional<ServedTimes>>>();
  auto const times = [p, overhead = *known, done](Sample const& s) -> std::optional<ServedTimes> {
    auto const [it, fresh] = done->try_emplace({s.gpu + s.variant + " " + s.dtype, s.shape});
    if (fresh) {
      if (auto const point = served_point(p, s)) it->second = served_times(*point, overhead);
    }
    return it->second;
  };
  return {predictor("served_ttft", &ServedTimes::ttft, times),
          predictor("served_tpot", &ServedTimes::tpot, times)};
}

}  // namespace rollcast
