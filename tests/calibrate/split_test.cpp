#include "calibrate/split.hpp"

#include <gtest/gtest.h>

#include <string>

namespace rollcast {
namespace {

Sample sample(std::string const& operation, std::vector<double> shape) {
  Sample s;
  s.gpu = "h100-sxm";
  s.operation = operation;
  s.dtype = "bf16";
  s.shape = std::move(shape);
  s.seconds = us(1);
  return s;
}

// Test vectors of the FNV reference: the empty text is the offset basis, "a" is af63dc4c8601ec8c, "foobar"
// is 85944171f73967e8.
TEST(Split, HashIsFnv1a) {
  EXPECT_EQ(hash_of(""), 0xcbf29ce484222325ULL);
  EXPECT_EQ(hash_of("a"), 0xaf63dc4c8601ec8cULL);
  EXPECT_EQ(hash_of("foobar"), 0x85944171f73967e8ULL);
}

TEST(Split, KeysNameTheShapeButNotTheTokens) {
  EXPECT_EQ(shape_key(sample("gemm", {7, 4096, 1024})), "gemm|4096|1024");
  EXPECT_EQ(shape_key(sample("moe", {3, 4096, 14336, 8, 2, 1, 4})), "moe|4096|14336|8|2|1|4");
  EXPECT_EQ(shape_key(sample("memory_pass", {7, 4096})), "");
}

TEST(Split, APairIsHeldOutForEveryM) {
  std::vector<Sample> samples;
  for (double n = 128; n <= 128 * 40; n += 128) {
    for (double const m : {1.0, 64.0, 4096.0}) samples.push_back(sample("gemm", {m, n, 4096}));
  }
  std::vector<SampleSplit> const splits = split_of(samples);
  int held = 0;
  for (std::size_t i = 0; i < samples.size(); i += 3) {
    EXPECT_EQ(splits[i], splits[i + 1]);
    EXPECT_EQ(splits[i], splits[i + 2]);
    bool const by_hash = hash_of(shape_key(samples[i])) % 5 == 0;
    EXPECT_EQ(splits[i] == SampleSplit::heldout, by_hash);
    held += by_hash ? 1 : 0;
  }
  EXPECT_GT(held, 0);
  EXPECT_LT(held, 20);
}

// Sizes 1, 2, 4, 8: indexes 0 to 3, the odd ones are 2 and 8. A second table with other sizes has its own.
TEST(Split, EveryOtherMessageSizeOfATable) {
  std::vector<Sample> samples;
  for (double const b : {8.0, 1.0, 4.0, 2.0, 2.0}) samples.push_back(sample("all_reduce", {b, 8, 1}));
  Sample other = sample("all_reduce", {2, 8, 1});
  other.version = "another";
  samples.push_back(other);
  std::vector<SampleSplit> const expected = {SampleSplit::heldout, SampleSplit::train,   SampleSplit::train,
                                             SampleSplit::heldout, SampleSplit::heldout, SampleSplit::train};
  EXPECT_EQ(split_of(samples), expected);
  EXPECT_EQ(train_samples(samples).size(), 3U);
}

TEST(Split, ARankCountIsHeldOutAsAWhole) {
  std::vector<Sample> const samples = {sample("all_gather", {64, 4, 1}), sample("all_gather", {128, 4, 1}),
                                       sample("all_gather", {64, 8, 1}), sample("all_gather", {64, 4, 2})};
  std::vector<SampleSplit> const expected = {SampleSplit::heldout_ranks, SampleSplit::heldout_ranks,
                                             SampleSplit::train, SampleSplit::train};
  EXPECT_EQ(split_of(samples, {4}), expected);
}

// Heads 1 to 64 by kv 1, 2, 4, 8 (not above the heads): interior are 4 to 32 heads with kv strictly between 1
// and the most of that row: (4; 2), (8; 2, 4), (16; 2, 4), (32; 2, 4).
TEST(Split, OnlyInteriorHeadConfigurationsAreHeldOut) {
  std::vector<Sample> samples;
  for (double h = 1; h <= 64; h *= 2) {
    for (double kv = 1; kv <= std::min(h, 8.0); kv *= 2) {
      for (double const context : {16.0, 32.0})
        samples.push_back(sample("attention_decode", {4, context, h, kv, 128}));
    }
  }
  std::vector<SampleSplit> const splits = split_of(samples);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    double const h = samples[i].shape[2], kv = samples[i].shape[3];
    bool const interior = h >= 4 && h <= 32 && kv >= 2 && kv < std::min(h, 8.0);
    bool const held = interior && hash_of("heads|" + std::to_string(static_cast<int>(h)) + "|" +
                                          std::to_string(static_cast<int>(kv)) + "|128") %
                                          5 ==
                                      0;
    bool const odd = samples[i].shape[1] > 20;
    SampleSplit const expected = held ? (odd ? SampleSplit::heldout_both : SampleSplit::heldout_heads)
                                      : (odd ? SampleSplit::heldout : SampleSplit::train);
    EXPECT_EQ(splits[i], expected) << h << ' ' << kv;
  }
}

// hash("memory_pass|56") and hash("memory_pass|activation|3584") are multiples of 5; so is that of
// norms of width 8192, but it is the widest.
TEST(Split, PassesHoldOutTokenCountsAndInteriorWidths) {
  EXPECT_TRUE(holds_out("memory_pass|56"));
  EXPECT_FALSE(holds_out("memory_pass|64"));
  EXPECT_TRUE(holds_out("memory_pass|activation|3584"));
  EXPECT_TRUE(holds_out("memory_pass|norm|8192"));
  std::vector<Sample> samples;
  for (double const tokens : {56.0, 64.0}) {
    for (double const width : {2048.0, 3584.0, 8192.0}) {
      for (char const* variant : {"activation", "norm"}) {
        samples.push_back(sample("memory_pass", {tokens, width}));
        samples.back().variant = variant;
      }
    }
  }
  std::vector<SampleSplit> const splits = split_of(samples);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    Sample const& s = samples[i];
    bool const held =
        s.shape[0] < 60 || (s.variant == "activation" && s.shape[1] > 3000 && s.shape[1] < 4000);
    EXPECT_EQ(splits[i], held ? SampleSplit::heldout : SampleSplit::train) << i;
  }
}

TEST(Split, ServedPointsOfManyGpusAreHeldOut) {
  std::vector<SampleSplit> const expected = {SampleSplit::train, SampleSplit::train, SampleSplit::heldout,
                                             SampleSplit::heldout};
  std::vector<Sample> samples;
  for (double const tp : {1.0, 2.0, 4.0, 8.0})
    samples.push_back(sample("served_tpot", {1024, 128, 8, tp, 1, 1}));
  EXPECT_EQ(split_of(samples), expected);
}

TEST(Split, EverythingElseIsTrain) {
  EXPECT_EQ(split_of({sample("copy", {1e6}), sample("memory_pass", {64, 4096})}),
            (std::vector<SampleSplit>{SampleSplit::train, SampleSplit::train}));
}

}  // namespace
}  // namespace rollcast
