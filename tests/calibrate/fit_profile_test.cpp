#include "calibrate/fit_profile.hpp"

#include <gtest/gtest.h>

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "calibrate/check.hpp"
#include "calibrate/measured_predictors.hpp"
#include "calibrate/measured_profile.hpp"
#include "models/catalog/catalog.hpp"

namespace rollcast {
namespace {

// Products at 60 % of the bf16 peak, and a second software that has fewer pairs.
std::vector<Sample> products() {
  Gpu const& gpu = *find_gpu(builtin_catalog(), "h200-sxm");
  std::vector<Sample> all;
  for (double n = 1024; n <= 16384; n *= 2) {
    for (double k = 1024; k <= 16384; k *= 2) {
      for (double m = 64; m <= 8192; m *= 2) {
        Sample s;
        s.gpu = gpu.name;
        s.operation = "gemm";
        s.dtype = "bf16";
        s.version = "mine";
        s.shape = {m, n, k};
        s.seconds = Flops(2 * m * n * k) / (gpu.bf16 * 0.6);
        all.push_back(s);
        s.version = "other";
        s.seconds = s.seconds * 2;
        if (n < 2000) all.push_back(s);
      }
    }
  }
  return all;
}

std::map<std::string, std::vector<Predictor>> predictors_of(ProfileText const& text) {
  Parsed<KernelTables> const tables = measured_tables_from({text});
  EXPECT_TRUE(tables.value) << tables.error;
  return {{text.gpu, measured_predictors(*tables.value, {text}, *find_gpu(builtin_catalog(), text.gpu))}};
}

Check const& check_named(CheckResult const& r, std::string const& version, SampleSplit split) {
  for (Check const& c : r.checks) {
    if (c.version == version && c.split == split) return c;
  }
  throw std::runtime_error("no such check");
}

TEST(FitProfile, OneSoftwareIsTakenAndTheHeldOutPairsArePredicted) {
  Gpu const& gpu = *find_gpu(builtin_catalog(), "h200-sxm");
  ProfileText const text = fit_profile(gpu, products(), {true, "", "2026-01-31"});
  ASSERT_FALSE(text.operations.empty());
  EXPECT_EQ(text.operations[0].software, "mine");
  EXPECT_GT(text.operations[0].heldout_rows, 0);

  ProfileTextResult const read = profile_from_text(to_text(text), "p.yaml");
  ASSERT_TRUE(read.profile) << format(read.problems);
  CheckResult const r = check_samples(predictors_of(*read.profile), products());
  EXPECT_TRUE(r.exposed.empty());
  // Times are proportional to m n k: log time is linear in each log size, so that the interpolation is exact
  // but for the two digits of a cell (0.25 %).
  EXPECT_LT(check_named(r, "mine", SampleSplit::train).p90, 0.004);
  EXPECT_LT(check_named(r, "mine", SampleSplit::heldout).p90, 0.02);
  // Half of the measured time: the price is 50 % too low.
  EXPECT_NEAR(check_named(r, "other", SampleSplit::train).bias, -0.5, 0.004);
}

// The operations that a run prices; products in bf16 were measured, the rest is said to be otherwise.
TEST(FitProfile, EveryOperationHasANote) {
  ProfileText const text = fit_profile(*find_gpu(builtin_catalog(), "h200-sxm"), products(), {true, "", ""});
  std::map<std::string, Basis> basis;
  for (OperationNote const& o : text.operations) {
    EXPECT_TRUE(basis.emplace(o.operation + "|" + o.dtype, o.basis).second) << o.operation << " twice";
    EXPECT_TRUE(o.basis == Basis::measured || !o.source.empty()) << o.operation;
  }
  EXPECT_EQ(basis.at("gemm|bf16"), Basis::measured);
  for (char const* derived :
       {"gemm|fp8", "gemm|fp8_block", "attention_prefill|bf16", "attention_decode|bf16",
        "attention_backward|bf16", "moe|bf16", "collectives|", "copy|", "kernel_launch|", "sustained_clock|"})
    EXPECT_EQ(basis.at(derived), Basis::derived) << derived;
  for (char const* pass :
       {"memory_pass norm|", "memory_pass rope|", "memory_pass activation|", "memory_pass add|",
        "memory_pass embedding|", "memory_pass log_softmax|", "memory_pass adam|", "cross_entropy|"})
    EXPECT_EQ(basis.at(pass), Basis::bytes_over_bandwidth) << pass;
  EXPECT_EQ(basis.at("sampling|"), Basis::fitted);
  EXPECT_EQ(basis.at("cuda_graph_launch|"), Basis::fitted);
}

TEST(FitProfile, AProfileOfEveryRowFailsTheCheck) {
  Gpu const& gpu = *find_gpu(builtin_catalog(), "h200-sxm");
  ProfileText const text = fit_profile(gpu, products(), {false, "", ""});
  CheckResult const r = check_samples(predictors_of(text), products());
  int held = 0;
  for (Check const& c : r.checks) {
    if (c.version == "mine" && c.split == SampleSplit::heldout) held += c.rows;
  }
  EXPECT_GT(held, 0);
  EXPECT_EQ(static_cast<int>(r.exposed.size()), held);
}

// One product says nothing of others: no table, and a note that tells why.
TEST(FitProfile, AFewRowsAreNoTable) {
  std::vector<Sample> const one = {products().front()};
  ProfileText const text = fit_profile(*find_gpu(builtin_catalog(), "h200-sxm"), one, {false, "", ""});
  EXPECT_TRUE(text.tables.empty());
  EXPECT_TRUE(text.numbers.empty());
  EXPECT_EQ(text.operations.at(0).operation, "gemm");
  EXPECT_EQ(text.operations.at(0).basis, Basis::derived);
  EXPECT_EQ(
      text.operations.at(0).source,
      "1 row is too few for a table: it needs 8 sizes of m that span a factor of 64, and 4 pairs (n, k)");
}

TEST(FitProfile, AnUnknownTableOrNumberIsAnError) {
  ProfileText text;
  text.gpu = "h100-sxm";
  text.tables = {{"gemmm bf16", ""}};
  EXPECT_EQ(measured_tables_from({text}).error, "table 'gemmm bf16': no such table");
  text.numbers = {{"speed", {1, "x"}}};
  EXPECT_EQ(profile_for(text, *find_gpu(builtin_catalog(), text.gpu)).error,
            "'speed' is no number of a profile");
}

}  // namespace
}  // namespace rollcast
