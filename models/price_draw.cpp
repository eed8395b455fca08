#include "models/price_draw.hpp"

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "models/kernels.hpp"
#include "models/random.hpp"

namespace rollcast {
namespace {

constexpr double kShare = 0.9;

constexpr std::string_view kNames[kPriceKinds] = {"products",
                                                  "decode attention",
                                                  "prompt attention",
                                                  "attention backward",
                                                  "experts",
                                                  "passes",
                                                  "clock",
                                                  "node collectives",
                                                  "network collectives",
                                                  "host copies",
                                                  "engine overhead",
                                                  "launches",
                                                  "dequantization"};

double share_within(double error, double sigma) {
  double const above = normal_cdf(portable_log(1 + error) / sigma);
  return error < 1 ? above - normal_cdf(portable_log(1 - error) / sigma) : above;
}

void add(std::vector<double>& logs, double more) {
  for (double& v : logs) v += more;
}

void slow_share(Cited& share, double factor) { share.value = std::min(1.0, share.value / factor); }

PriceKind kind_of(AttentionKind k) {
  return k == AttentionKind::decode ? PriceKind::decode_attention : PriceKind::prompt_attention;
}

PriceKind collectives_on(bool several_nodes) {
  return several_nodes ? PriceKind::network_collectives : PriceKind::node_collectives;
}

void scale(PassLaw& l, double factor) {
  l.latency = l.latency * factor;
  l.latency_per_element = l.latency_per_element * factor;
  l.per_token = l.per_token * factor;
  l.per_byte *= factor;
  l.beyond_cache *= factor;
}

void scale(CollectiveCalibration& c, PriceFactors const& f) {
  for (NcclCorrection& n : c.nccl.corrections) {
    double const more = portable_log(f[collectives_on(n.nodes > 1)]);
    for (CorrectionKnot& k : n.knots) k.log_ratio += more;
  }
  for (ExchangeFit& e : c.exchange.fits) {
    double const factor = f[collectives_on(e.several_nodes)];
    e.alpha = e.alpha * factor;
    e.share /= factor;
  }
  for (CustomAllReduceSeries& s : c.custom.series) {
    for (CustomAllReduceKnot& k : s.knots) k.us *= f[PriceKind::node_collectives];
  }
}

KernelTables scaled(KernelTables tables, PriceFactors const& f) {
  for (GemmTable& t : tables.gemm) add(t.log_ratio, portable_log(f[PriceKind::products]));
  for (AttentionTable& t : tables.attention) add(t.log_ratio, portable_log(f[kind_of(t.kind)]));
  for (MoeTable& t : tables.moe) add(t.log_ratio, portable_log(f[PriceKind::experts]));
  for (PassTable& t : tables.passes) {
    for (PassLaw& l : t.laws) scale(l, f[PriceKind::passes]);
  }
  for (CollectiveCalibration& c : tables.collectives) scale(c, f);
  return tables;
}

void scale_shares(Profile& p, PriceFactors const& f) {
  for (Cited* share : {&p.gemm_bf16, &p.gemm_fp8, &p.gemm_memory}) slow_share(*share, f[PriceKind::products]);
  slow_share(p.decode_attention, f[PriceKind::decode_attention]);
  slow_share(p.attention_forward, f[PriceKind::prompt_attention]);
  slow_share(p.attention_backward, f[PriceKind::prompt_attention] * f[PriceKind::attention_backward]);
  p.attention_backward_over_forward.value *= f[PriceKind::attention_backward];
  slow_share(p.memory_pass, f[PriceKind::passes]);
  slow_share(p.sustained_clock, f[PriceKind::clock]);
  slow_share(p.nvlink, f[PriceKind::node_collectives]);
  slow_share(p.network, f[PriceKind::network_collectives]);
  slow_share(p.pcie, f[PriceKind::host_copies]);
  slow_share(p.dequantization, f[PriceKind::dequantization]);
}

// eager_launches is over kernel_launch.
void scale_times(Profile& p, PriceFactors const& f) {
  p.kernel_launch.value *= f[PriceKind::launches];
  for (Cited* alpha : {&p.engine_all_reduce_alpha, &p.collective_alpha_node})
    alpha->value *= f[PriceKind::node_collectives];
  p.collective_alpha_network.value *= f[PriceKind::network_collectives];
  for (Cited* time : {&p.engine_step, &p.engine_per_sequence, &p.engine_per_sequence_synchronous,
                      &p.engine_logprobs_step, &p.engine_logprobs_per_sequence})
    time->value *= f[PriceKind::engine];
  for (EngineOverhead& o : p.engines) o = scaled(std::move(o), f[PriceKind::engine]);
}

}  // namespace

std::string_view name_of(PriceKind k) { return kNames[static_cast<std::size_t>(k)]; }

double sigma_of(double error_at_p90) {
  if (!(error_at_p90 >= 0)) throw std::logic_error("an error's size is not below 0");
  if (!(error_at_p90 > 0)) return 0;
  double low = 0, high = 10;
  for (int i = 0; i < 60; ++i) {
    double const middle = (low + high) / 2;
    (share_within(error_at_p90, middle) > kShare ? low : high) = middle;
  }
  return (low + high) / 2;
}

std::uint64_t seed_of_draw(std::uint64_t seed, std::uint32_t draw) { return seed + 1 + draw; }

PriceScores price_scores(std::uint64_t seed, std::uint32_t draw) {
  PriceScores z;
  for (std::size_t k = 0; k < kPriceKinds; ++k)
    z.values[k] = standard_normal({seed, Purpose::price_error, draw, k});
  return z;
}

PriceScores one_sigma_up(PriceKind k) {
  PriceScores z;
  z[k] = 1;
  return z;
}

PriceFactors price_factors(PriceErrors const& e, PriceScores const& z) {
  PriceFactors f;
  for (std::size_t k = 0; k < kPriceKinds; ++k) f.values[k] = portable_exp(e.values[k] * z.values[k]);
  return f;
}

Profile perturbed(Profile const& p, PriceFactors const& f) {
  if (!std::all_of(f.values.begin(), f.values.end(), [](double v) { return v > 0; }))
    throw std::logic_error("a price's factor is above 0");
  Profile out = p;
  scale_shares(out, f);
  scale_times(out, f);
  if (!p.kernels) return out;
  OtherPrices others = p.kernels->others();
  others.streams *= f[PriceKind::passes];
  others.releases *= f[PriceKind::engine];
  out.kernels = std::make_shared<Kernels const>(scaled(p.kernels->tables(), f), p.gpu, others);
  return out;
}

}  // namespace rollcast
