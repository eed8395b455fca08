// The sigmas of prices, their draws, and profiles with drawn prices.
#include "models/price_draw.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <set>
#include <stdexcept>
#include <utility>

#include "models/kernels.hpp"
#include "models/prices.hpp"
#include "models/rollout_prices.hpp"
#include "models/stage_prices.hpp"
#include "price_fixtures.hpp"

namespace rollcast {
namespace {

PriceFactors all_of(double factor) {
  PriceFactors f;
  f.values.fill(factor);
  return f;
}

double within(double error, double sigma) {
  auto const phi = [](double x) { return std::erfc(-x / std::sqrt(2.0)) / 2; };
  return phi(std::log1p(error) / sigma) - (error < 1 ? phi(std::log1p(-error) / sigma) : 0);
}

// ln(1 + e) is near e, and 90 % of a normal lie within 1.644854 sigma. From 100 % on only the upper tail is
// outside, and 90 % of a normal lie below 1.2816 sigma: sigma = ln 2 / 1.2816 = 0.5409.
TEST(PriceSigma, IsThatOfTheStatedError) {
  EXPECT_NEAR(sigma_of(0.001), 0.001 / 1.644854, 1e-9);
  EXPECT_NEAR(sigma_of(1), std::log(2.0) / 1.2816, 1e-4);
  for (double const error : {0.05, 0.1, 0.3, 0.8, 2.0})
    EXPECT_NEAR(within(error, sigma_of(error)), 0.9, 1e-9);
  EXPECT_EQ(sigma_of(0), 0);
  EXPECT_THROW(sigma_of(-0.1), std::logic_error);
}

TEST(PriceScores, DependOnSeedDrawAndKindAlone) {
  EXPECT_EQ(price_scores(1, 3).values, price_scores(1, 3).values);
  std::set<double> seen;
  for (std::uint64_t seed : {1U, 2U}) {
    for (std::uint32_t draw : {0U, 1U, 2U}) {
      for (double const z : price_scores(seed, draw).values) seen.insert(z);
    }
  }
  EXPECT_EQ(seen.size(), 2 * 3 * kPriceKinds);
}

// Of 4,000 draws the mean of z is within 4 / sqrt(4000) of 0, that of z^2 within 4 sqrt(2 / 4000) of 1.
TEST(PriceScores, AreStandardNormal) {
  double sum = 0, squares = 0;
  for (std::uint32_t draw = 0; draw < 4000; ++draw) {
    double const z = price_scores(1, draw)[PriceKind::experts];
    sum += z;
    squares += z * z;
  }
  EXPECT_NEAR(sum / 4000, 0, 0.064);
  EXPECT_NEAR(squares / 4000, 1, 0.09);
}

// exp(0.1 x 1), and 1 where there is no error or no deviation.
TEST(PriceFactors, AreLogNormal) {
  PriceErrors e;
  e[PriceKind::products] = 0.1;
  PriceFactors const f = price_factors(e, one_sigma_up(PriceKind::products));
  EXPECT_DOUBLE_EQ(f[PriceKind::products], std::exp(0.1));
  EXPECT_EQ(f[PriceKind::experts], 1);
  EXPECT_EQ(price_factors(e, one_sigma_up(PriceKind::experts)).values, all_of(1).values);
}

// A card whose products take twice, whose attention takes three times its roofline.
Profile with_tables() {
  Profile p = round_profile();
  GemmTable t;
  t.m = t.n = t.k = {1, 1048576};
  t.log_ratio.assign(8, std::log(2.0));
  KernelTables tables;
  tables.gemm = {t};
  for (AttentionKind const kind : {AttentionKind::decode, AttentionKind::prefill}) {
    AttentionTable a;
    a.kind = kind;
    a.shortest = seconds(1e-6);
    a.batch = {1, 4096};
    a.length = {1, 131072};
    a.shapes = {{32, 8, 128}};
    a.log_ratio.assign(4, std::log(3.0));
    tables.attention.push_back(a);
  }
  tables.passes = {{{{ElementwisePass::norm, seconds(1e-6), seconds(1e-9), seconds(1e-9), 1, 0.1}}}};
  tables.collectives.emplace_back();
  tables.collectives.front().nccl.corrections = {
      {"x", "", CollectiveKind::all_reduce, 8, 1, {}, {{10, 0.25}}, "s"},
      {"x", "f", CollectiveKind::all_reduce, 16, 2, {}, {{10, 0.5}}, "s"}};
  p.kernels = std::make_shared<Kernels const>(tables, p.gpu);
  return p;
}

TEST(PerturbedProfile, IsTheSameWithFactorsOfOne) {
  Profile const p = with_tables();
  Profile const q = perturbed(p, all_of(1));
  auto const before = cited_numbers(p), after = cited_numbers(q);
  for (std::size_t i = 0; i < before.size(); ++i)
    EXPECT_EQ(after[i].second.value, before[i].second.value) << before[i].first;
  EXPECT_EQ(q.kernels->tables().gemm[0].log_ratio, p.kernels->tables().gemm[0].log_ratio);
  EXPECT_EQ(stream_time(q, bytes(12345)).value, stream_time(p, bytes(12345)).value);
  EXPECT_EQ(gemm_time(q, 128, 4096, 4096, DType::bf16).value,
            gemm_time(p, 128, 4096, 4096, DType::bf16).value);
}

TEST(PerturbedProfile, EveryKindMovesItsOwnPrices) {
  Profile const p = with_tables();
  auto const with = [&](PriceKind k) {
    PriceFactors f = all_of(1);
    f[k] = 2;
    return perturbed(p, f);
  };
  HeadShape const heads{32, 8, 128};
  auto const attention = [&](Profile const& of, AttentionKind k) {
    return of.kernels->attention(k, 2, 0, heads)->at(16, 1024).value;
  };
  auto const product = [](Profile const& of) { return gemm_time(of, 512, 4096, 4096, DType::bf16).value; };
  EXPECT_NEAR(product(with(PriceKind::products)), 2 * product(p), 1e-12);
  EXPECT_EQ(product(with(PriceKind::passes)), product(p));
  EXPECT_NEAR(attention(with(PriceKind::decode_attention), AttentionKind::decode),
              2 * attention(p, AttentionKind::decode), 1e-12);
  EXPECT_EQ(attention(with(PriceKind::decode_attention), AttentionKind::prefill),
            attention(p, AttentionKind::prefill));
  EXPECT_NEAR(attention(with(PriceKind::prompt_attention), AttentionKind::prefill),
              2 * attention(p, AttentionKind::prefill), 1e-12);

  Profile const passes = with(PriceKind::passes);
  EXPECT_DOUBLE_EQ(stream_time(passes, bytes(1e9)).value, 2 * stream_time(p, bytes(1e9)).value);
  EXPECT_DOUBLE_EQ(memory_time(passes, bytes(1e9)).value, 2 * memory_time(p, bytes(1e9)).value);
  EXPECT_NEAR(pass_time(passes.kernels->tables().passes[0], p.gpu, ElementwisePass::norm, 1000, 4096)->value,
              2 * pass_time(p.kernels->tables().passes[0], p.gpu, ElementwisePass::norm, 1000, 4096)->value,
              1e-15);

  // log ratios of collectives: + ln 2 on one node, on several of the network's kind alone.
  auto const ratios = [](Profile const& of) {
    auto const& c = of.kernels->tables().collectives[0].nccl.corrections;
    return std::pair(c[0].knots[0].log_ratio, c[1].knots[0].log_ratio);
  };
  EXPECT_EQ(ratios(with(PriceKind::node_collectives)), std::pair(0.25 + std::log(2.0), 0.5));
  EXPECT_EQ(ratios(with(PriceKind::network_collectives)), std::pair(0.25, 0.5 + std::log(2.0)));
  EXPECT_DOUBLE_EQ(with(PriceKind::host_copies).pcie.value, p.pcie.value / 2);
  EXPECT_DOUBLE_EQ(with(PriceKind::launches).kernel_launch.value, 2 * p.kernel_launch.value);
  EXPECT_DOUBLE_EQ(with(PriceKind::engine).engine_step.value, 2 * p.engine_step.value);
  EXPECT_EQ(with(PriceKind::engine).kernels->others().releases, 2);
}

TEST(PerturbedProfile, NoShareComesAboveThePeak) {
  Profile const p = round_profile();
  EXPECT_EQ(perturbed(p, all_of(0.001)).nvlink.value, 1);
  EXPECT_THROW(perturbed(p, all_of(0)), std::logic_error);
}

// Doubling every kernel's price (not the clock, which multiplies them) doubles what a layer computes.
TEST(PerturbedProfile, DoublingAllPricesDoublesTheCompute) {
  Profile const p = with_tables();
  PriceFactors f = all_of(2);
  f[PriceKind::clock] = 1;
  f[PriceKind::attention_backward] = 1;
  Profile const q = perturbed(p, f);
  Job const job = llama_job(1);
  Stage const all = pipeline_stages(job.model, 1).front();
  MicroBatch const batch{2048, 2048, 2048 * 2049 / 2};
  StageTimes const once = stage_times(p, job, all, batch), twice = stage_times(q, job, all, batch);
  EXPECT_NEAR(twice.forward / once.forward, 2, 1e-9);
  EXPECT_NEAR(twice.backward / once.backward, 2, 1e-9);
}

}  // namespace
}  // namespace rollcast
