#include "calibrate/fit_attention.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <set>
#include <tuple>

#include "measured_rows.hpp"
#include "models/catalog/catalog.hpp"

namespace rollcast {
namespace {

// 1e12 FLOP/s and 1e10 B/s.
Gpu plain_gpu() {
  Gpu g;
  g.name = "g";
  g.bf16 = TFLOPs(1);
  g.memory_bandwidth = GB_per_s(10);
  return g;
}

Sample decode(double batch, double context, HeadShape s, double time) {
  Sample sample;
  sample.gpu = "g";
  sample.operation = "attention_decode";
  sample.dtype = "bf16";
  sample.shape = {batch, context, s.heads, s.kv_heads, s.head_dim};
  sample.seconds = seconds(time);
  return sample;
}

TEST(WindowOf, ReadsTheVariant) {
  Sample s;
  EXPECT_DOUBLE_EQ(window_of(s), 0);
  s.variant = "flash_attention window 128";
  EXPECT_DOUBLE_EQ(window_of(s), 128);
}

TEST(FitAttention, MakesATableOfTheMediansAndPricesItsKnots) {
  HeadShape const h{8, 2, 64};
  std::vector<Sample> rows = {decode(1, 16, h, 1e-5), decode(1, 64, h, 3e-5), decode(1, 64, h, 4e-5),
                              decode(1, 64, h, 8e-5), decode(4, 16, h, 2e-5)};
  Sample windowed = decode(1, 16, h, 1);
  windowed.variant = "k window 128";
  rows.push_back(windowed);
  AttentionFit const fit = fit_attention(plain_gpu(), {}, rows, {decode(1, 40, h, 5e-5)});
  EXPECT_EQ(fit.rows, 5);
  EXPECT_DOUBLE_EQ(fit.table.shortest.value, 1e-5);
  AttentionPrices const p(fit.table, plain_gpu(), h);
  EXPECT_NEAR(p.at(1, 16).value, 1e-5, 1e-12);
  EXPECT_NEAR(p.at(1, 64).value, 4e-5, 1e-12);
  EXPECT_NEAR(p.at(1, 40).value, 2.5e-5, 1e-12);  // half way
  EXPECT_NEAR(fit.held_out.median, 0.5, 1e-6);
}

TEST(FitAttentionBackward, IsTheMedianOfWhatTheForwardLeaves) {
  Sample s = decode(1, 1024, {8, 8, 128}, 1e-3);
  s.operation = "attention_prefill";
  s.shape = {1, 1024, 0, 8, 8, 128};
  AttentionFit const fit = fit_attention(plain_gpu(), {AttentionKind::prefill, "bf16", 0}, {s}, {});
  Sample both = decode(1, 1024, {8, 8, 128}, 3.5e-3);
  both.operation = "attention_backward";
  BackwardFit const backward = fit_attention_backward(fit.table, plain_gpu(), {both}, 512);
  EXPECT_EQ(backward.rows, 1);
  EXPECT_NEAR(backward.ratio, 2.5, 1e-9);
  EXPECT_EQ(fit_attention_backward(fit.table, plain_gpu(), {both}, 2048).rows, 0);
}

// ---- measured tables --------------------------------------------------------------------------------------

struct Bars {
  double median;
  double p90;
};

struct MeasuredCase {
  char const* gpu;
  char const* folder;
  AttentionKind kind;
  Bars lengths;
  Bars heads;
  Bars both;
};

struct Split {
  std::vector<Sample> train, lengths, heads, both;
};

using Heads = std::tuple<double, double, double>;

bool is_interior(std::set<Heads> const& all, Heads const& h) {
  auto const [heads, kv, dim] = h;
  bool fewer = false, more = false, fewer_kv = false, more_kv = false;
  for (auto const& [n, k, d] : all) {
    if (d < dim || dim < d) continue;
    fewer = fewer || n < heads;
    more = more || n > heads;
    bool const same = !(n < heads) && !(heads < n);
    fewer_kv = fewer_kv || (same && k < kv);
    more_kv = more_kv || (same && k > kv);
  }
  return fewer && more && fewer_kv && more_kv;
}

// Every other length, and apart from that head configurations by hash: interior ones count.
Split split_of(std::vector<Sample> const& rows, std::size_t heads_at) {
  std::set<double> lengths;
  std::set<Heads> shapes;
  auto const heads_of = [&](Sample const& s) {
    return Heads{s.shape[heads_at], s.shape[heads_at + 1], s.shape[heads_at + 2]};
  };
  for (Sample const& s : rows) {
    lengths.insert(s.shape[1]);
    shapes.insert(heads_of(s));
  }
  std::set<double> odd;
  std::size_t i = 0;
  for (double const l : lengths) {
    if (i++ % 2 == 1) odd.insert(l);
  }
  Split split;
  for (Sample const& s : rows) {
    auto const [heads, kv, dim] = heads_of(s);
    bool const by_heads = is_interior(shapes, heads_of(s)) &&
                          tests::holds_out(fmt::format("heads|{:.0f}|{:.0f}|{:.0f}", heads, kv, dim));
    bool const by_length = odd.contains(s.shape[1]);
    auto& part =
        by_heads ? (by_length ? split.both : split.heads) : (by_length ? split.lengths : split.train);
    part.push_back(s);
  }
  return split;
}

class MeasuredAttention : public ::testing::TestWithParam<MeasuredCase> {
 protected:
  static std::filesystem::path file(MeasuredCase const& c) {
    return tests::measured_folder() / c.folder /
           (c.kind == AttentionKind::decode ? "generation_attention_perf.csv" : "context_attention_perf.csv");
  }

  static std::vector<Sample> rows(MeasuredCase const& c, AttentionChoice const& choice) {
    std::vector<Sample> rows;
    for (auto const& row : tests::read_csv(file(c))) {
      Sample s;
      s.gpu = c.gpu;
      s.operation = c.kind == AttentionKind::decode ? "attention_decode" : "attention_prefill";
      s.dtype = row.at("kv_cache_dtype") == "bfloat16" ? "bf16" : "fp8";
      double const window = tests::number(row, "window_size");
      if (window > 0) s.variant = fmt::format("k window {:.0f}", window);
      if (s.dtype != choice.dtype || std::abs(window - choice.window) > 0.5) continue;
      double const heads = tests::number(row, "num_heads");
      double const kv = tests::number(row, "num_key_value_heads");
      double const length = tests::number(row, "isl");
      double const step = tests::number(row, "step");
      s.shape = {tests::number(row, "batch_size")};
      if (c.kind == AttentionKind::decode) {
        s.shape.push_back(length + step);
      } else {
        s.shape.insert(s.shape.end(), {length, step});
      }
      s.shape.insert(s.shape.end(), {heads, kv > 0 ? kv : heads, tests::number(row, "head_dim")});
      s.seconds = ms(tests::number(row, "latency"));
      rows.push_back(s);
    }
    return rows;
  }
};

// Bars on the rows of all tables of a stack together, the KV cache in bf16 and fp8, full and windowed.
TEST_P(MeasuredAttention, PredictsHeldOutLengthsAndHeads) {
  MeasuredCase const c = GetParam();
  if (!std::filesystem::exists(file(c))) GTEST_SKIP() << "no measured tables here";
  Gpu const gpu = *find_gpu(builtin_catalog(), c.gpu);
  std::vector<double> lengths, heads, both, knots;
  auto const add = [](std::vector<double>& to, std::vector<double> const& from) {
    to.insert(to.end(), from.begin(), from.end());
    Residuals const r = residuals_of(from);
    return fmt::format("{} rows {:.4f} {:.4f}", r.rows, r.median, r.p90);
  };
  for (char const* const dtype : {"bf16", "fp8"}) {
    for (double const window : {0.0, 128.0, 8192.0}) {
      AttentionChoice const choice{c.kind, dtype, window};
      std::vector<Sample> const all = rows(c, choice);
      if (all.empty()) continue;
      Split const split = split_of(all, c.kind == AttentionKind::decode ? 2 : 3);
      AttentionFit const fit = fit_attention(gpu, choice, split.train, split.lengths);
      // As a profile has it: written and read.
      std::string const written = to_text(fit.table);
      EXPECT_LT(written.size(), 40'000u);
      Parsed<AttentionTable> const read = attention_table_from(written);
      ASSERT_TRUE(read.value) << read.error;
      std::string const name = fmt::format("{}_{:.0f}_", dtype, window);
      auto const errors = [&](std::vector<Sample> const& samples) {
        return attention_errors(*read.value, gpu, choice, samples);
      };
      RecordProperty(name + "lengths", add(lengths, errors(split.lengths)));
      RecordProperty(name + "heads", add(heads, errors(split.heads)));
      RecordProperty(name + "both", add(both, errors(split.both)));
      RecordProperty(name + "knots", add(knots, errors(split.train)));
    }
  }
  auto const judge = [](std::string const& what, std::vector<double> const& errors, Bars bars) {
    Residuals const r = residuals_of(errors);
    RecordProperty("all_" + what, fmt::format("{} rows {:.4f} {:.4f}", r.rows, r.median, r.p90));
    EXPECT_LE(r.median, bars.median) << what;
    EXPECT_LE(r.p90, bars.p90) << what;
  };
  EXPECT_GT(lengths.size(), 2000u);
  judge("lengths", lengths, c.lengths);
  judge("heads", heads, c.heads);
  judge("both", both, c.both);
  // What the table holds comes back: only making it ascending moves it.
  judge("knots", knots, {0.005, 0.05});
}

constexpr Bars kDecode{0.03, 0.15};
constexpr Bars kDecodeH100{0.03, 0.10};
constexpr Bars kDecodeHeads{0.03, 0.20};
constexpr Bars kPrefill{0.05, 0.20};
constexpr Bars kBoth{0.07, 0.22};
// Between 1 token, which this stack runs as a decode step, and 32 there is a jump that 16 tokens show.
constexpr Bars kBothWithJump{0.07, 0.24};

INSTANTIATE_TEST_SUITE_P(
    Tables, MeasuredAttention,
    ::testing::Values(MeasuredCase{"a100-sxm-80gb", "a100_sxm/attention/vllm/0.14.0", AttentionKind::decode,
                                   kDecode, kDecodeHeads, kBoth},
                      MeasuredCase{"a100-sxm-80gb", "a100_sxm/attention/sglang/0.5.10", AttentionKind::decode,
                                   kDecode, kDecodeHeads, kBoth},
                      MeasuredCase{"h100-sxm", "h100_sxm/attention/vllm/0.24.0", AttentionKind::decode,
                                   kDecodeH100, kDecodeHeads, kBoth},
                      MeasuredCase{"a100-sxm-80gb", "a100_sxm/attention/vllm/0.14.0", AttentionKind::prefill,
                                   kPrefill, kPrefill, kBothWithJump},
                      MeasuredCase{"a100-sxm-80gb", "a100_sxm/attention/sglang/0.5.10",
                                   AttentionKind::prefill, kPrefill, kPrefill, kBoth},
                      MeasuredCase{"h100-sxm", "h100_sxm/attention/vllm/0.24.0", AttentionKind::prefill,
                                   kPrefill, kPrefill, kBoth}));

}  // namespace
}  // namespace rollcast
