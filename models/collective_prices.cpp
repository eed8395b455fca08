#include "models/collective_prices.hpp"

#include <algorithm>
#include <utility>

#include "models/kernels.hpp"

namespace rollcast {
namespace {

constexpr double kElement = 2;  // bf16

CollectiveCurve formula(Evidence evidence, std::string source) {
  CollectiveCurve c;
  c.evidence = evidence;
  c.source = std::move(source);
  return c;
}

char const* const kShares = "shares of the profile";

bool has_series(CustomAllReduceCalibration const& calibration, std::string const& gpu,
                std::string_view backend) {
  return std::any_of(calibration.series.begin(), calibration.series.end(),
                     [&](auto const& s) { return s.gpu == gpu && s.backend == backend; });
}

CollectiveCalibration const& calibration_of(Profile const& profile) {
  static CollectiveCalibration const none;
  return profile.kernels && !profile.kernels->tables().collectives.empty()
             ? profile.kernels->tables().collectives.front()
             : none;
}

}  // namespace

CollectivePrices::Answer const* CollectivePrices::find(Key const& key) const {
  auto const it = std::lower_bound(answers_.begin(), answers_.end(), key,
                                   [](Answer const& a, Key const& k) { return a.key < k; });
  return it != answers_.end() && it->key == key ? &*it : nullptr;
}

CollectivePrices::Answer const& CollectivePrices::keep(Key const& key, CollectiveCurve curve) {
  auto const it = std::lower_bound(answers_.begin(), answers_.end(), key,
                                   [](Answer const& a, Key const& k) { return a.key < k; });
  return *answers_.insert(it, {key, std::move(curve)});
}

CollectivePrices::CollectivePrices(Profile const& profile, ClusterSpec cluster)
    : CollectivePrices(calibration_of(profile), profile, std::move(cluster)) {}

CollectivePrice CollectivePrices::at(CollectiveKind kind, Group g, Bytes bytes) {
  if (g.ranks <= 1) return {};
  Key const key{Question::collective, static_cast<int>(kind), g.ranks, std::max(1, g.nodes),
                std::max(1, g.sharing)};
  Answer const* answer = find(key);
  if (calibration_.nccl.corrections.empty()) {
    if (answer == nullptr) keep(key, formula(Evidence::unmeasured, kShares));
    return collective_price(profile_, cluster_, kind, g, bytes);
  }
  if (answer == nullptr) answer = &keep(key, collective_curve(calibration_.nccl, cluster_, kind, g));
  return price(answer->curve, bytes);
}

std::optional<CollectiveCurve> CollectivePrices::engine_curve(EngineKind engine, int ranks,
                                                              bool cuda_graphs) const {
  std::string backend = cuda_graphs ? "vllm_graph" : "vllm_eager";
  std::string const sglang = cuda_graphs ? "sglang_graph" : "sglang_eager";
  if (engine == EngineKind::sglang && has_series(calibration_.custom, cluster_.node.gpu.name, sglang))
    backend = sglang;
  auto curve = custom_all_reduce_curve(calibration_.custom, cluster_.node, backend, ranks);
  bool const own = engine == EngineKind::vllm || backend == sglang;
  if (curve && !own && curve->evidence == Evidence::measured) curve->evidence = Evidence::derived;
  return curve;
}

CollectivePrice CollectivePrices::engine_all_reduce(EngineKind engine, int ranks, Bytes bytes,
                                                    bool cuda_graphs) {
  if (ranks <= 1) return {};
  Group const group = placed_group(cluster_, ranks, 1);
  if (engine == EngineKind::hf || group.nodes > 1) return at(CollectiveKind::all_reduce, group, bytes);
  if (calibration_.custom.series.empty()) {
    CollectivePrice p = at(CollectiveKind::all_reduce, group, bytes);
    p.alpha = min(p.alpha, Seconds(profile_.engine_all_reduce_alpha.value));
    return p;
  }
  Key const key{Question::engine, 2 * static_cast<int>(engine) + (cuda_graphs ? 1 : 0), ranks, 1, 1};
  Answer const* answer = find(key);
  if (answer == nullptr) {
    auto curve = engine_curve(engine, ranks, cuda_graphs);
    if (!curve) return at(CollectiveKind::all_reduce, group, bytes);
    answer = &keep(key, std::move(*curve));
  }
  return price(answer->curve, bytes);
}

CollectivePrice CollectivePrices::expert_exchange(ExpertExchange const& e) {
  if (e.group.ranks <= 1) return {};
  auto const p = exchange_price(calibration_.exchange, cluster_, e);
  if (!p) return at(CollectiveKind::all_to_all, e.group, bytes(e.tokens * e.top_k * e.hidden * kElement));
  Key const key{Question::exchange, 2 * static_cast<int>(e.mode) + static_cast<int>(e.direction),
                e.group.ranks, std::max(1, e.group.nodes), std::max(1, e.group.sharing)};
  if (find(key) == nullptr) {
    ExchangeFit const& fit = *exchange_fit(calibration_.exchange, cluster_.node.gpu, e);
    keep(key, formula(exchange_evidence(fit, cluster_, e.group), fit.source));
  }
  return *p;
}

std::vector<PricedGroup> CollectivePrices::answered() const {
  std::vector<PricedGroup> out;
  for (Answer const& a : answers_) {
    std::string operation = "engine all_reduce";
    if (a.key.question == Question::collective)
      operation = name_of(static_cast<CollectiveKind>(a.key.detail));
    if (a.key.question == Question::exchange)
      operation = "ep_" + std::string(name_of(static_cast<ExchangeDirection>(a.key.detail % 2)));
    out.push_back(
        {std::move(operation), {a.key.ranks, a.key.nodes, a.key.sharing}, a.curve.evidence, a.curve.source});
  }
  return out;
}

}  // namespace rollcast
