// A profile of the user's, completed by the built-in one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "calibrate/embedded_profiles.hpp"
#include "calibrate/profile_predictors.hpp"
#include "calibrate/profiles.hpp"
#include "models/catalog/catalog.hpp"
#include "models/kernels.hpp"

namespace rollcast {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Gpu const& gpu_called(char const* name) { return *find_gpu(builtin_catalog(), name); }

ProfileText text_of(char const* gpu) {
  ProfileText t;
  t.name = "mine";
  t.gpu = gpu;
  t.stack = "a stack";
  return t;
}

// As if the tables of H100 had been measured on H200.
ProfileText with_table(char const* table) {
  ProfileText t = text_of("h200-sxm");
  ProfileText const h100 = *embedded_profile_of("h100-sxm");
  for (ProfileTable const& one : h100.tables) {
    if (one.name == table) t.tables.push_back(one);
  }
  EXPECT_EQ(t.tables.size(), 1U);
  return t;
}

double product(Profile const& p, GemmKind kind) { return p.kernels->gemm(kind)->at(4096, 4096, 4096).value; }

double decode(Profile const& p) {
  return p.kernels->attention(AttentionKind::decode, 2, 0, {32, 8, 128})->at(64, 4096).value;
}

TEST(OwnProfile, WhatItLacksIsThatOfTheDerivedOne) {
  Gpu const& h200 = gpu_called("h200-sxm");
  Profile const built_in = profile_for(h200);
  ProfileText own = text_of("h200-sxm");
  own.numbers = {{"kernel_launch", {1e-6, "mine"}}};
  Parsed<Profile> const p = profile_with(own, h200);
  ASSERT_TRUE(p.value) << p.error;
  for (GemmKind const kind : {GemmKind::bf16, GemmKind::fp8})
    EXPECT_EQ(product(*p.value, kind), product(built_in, kind));
  EXPECT_EQ(decode(*p.value), decode(built_in));
  EXPECT_EQ(p.value->sustained_clock.value, built_in.sustained_clock.value);
  EXPECT_EQ(p.value->kernel_launch.value, 1e-6);
  EXPECT_EQ(p.value->note.basis, PriceBasis::derived);
  EXPECT_EQ(p.value->note.from, "h100-sxm");
  EXPECT_EQ(p.value->note.p90, built_in.note.p90);
  EXPECT_THAT(p.value->note.own.operations, ElementsAre("kernel_launch"));
}

// Own tables hold ratios to the rooflines of their own card; those beside them are carried over.
TEST(OwnProfile, EachTableKnowsItsCard) {
  Gpu const& h200 = gpu_called("h200-sxm");
  ProfileText const own = with_table("attention_decode bf16");
  AttentionTable const table = *attention_table_from(own.tables[0].text).value;
  Parsed<Profile> const p = profile_with(own, h200);
  ASSERT_TRUE(p.value) << p.error;
  EXPECT_EQ(decode(*p.value), price(table, h200, {32, 8, 128}, 64, 4096).value);
  EXPECT_NE(decode(*p.value), decode(profile_for(h200)));
  EXPECT_EQ(product(*p.value, GemmKind::bf16), product(profile_for(h200), GemmKind::bf16));
  // Some kernels are of the one, some of the other: the larger error of the two.
  EXPECT_EQ(p.value->note.p90, profile_for(h200).note.p90);
}

TEST(OwnProfile, ANameAloneIsUsedForNothing) {
  Parsed<Profile> const p = profile_with(text_of("h200-sxm"), gpu_called("h200-sxm"));
  ASSERT_TRUE(p.value) << p.error;
  EXPECT_THAT(p.value->note.own.operations, IsEmpty());
  EXPECT_THAT(sentence(p.value->note),
              HasSubstr("nothing of own profile 'mine' was used; all derived from h100-sxm"));
}

TEST(OwnProfile, OfAnotherCardIsRefusedWhereTheCardIsMeasured) {
  EXPECT_EQ(profile_with(text_of("h200-sxm"), gpu_called("h100-sxm")).error,
            "it is of h200-sxm, the scenario's GPU is h100-sxm, which has a measured profile");
  EXPECT_TRUE(profile_with(text_of("h200-sxm"), gpu_called("h20-sxm")).value);
  EXPECT_TRUE(profile_with(text_of("h100-sxm"), gpu_called("h100-sxm")).value);
  Gpu faster = gpu_called("h100-sxm");  // not the card of the catalog any more
  faster.memory_bandwidth = faster.memory_bandwidth * 1.1;
  EXPECT_TRUE(profile_with(text_of("h200-sxm"), faster).value);
}

Sample decode_sample() {
  Sample s;
  s.gpu = "h200-sxm";
  s.operation = "attention_decode";
  s.dtype = "bf16";
  s.version = "vllm 0.24.0";
  s.shape = {64, 4096, 32, 8, 128};
  s.seconds = seconds(1e-3);
  return s;
}

TEST(OwnProfile, IsCheckedAsItPricesARun) {
  Gpu const& h200 = gpu_called("h200-sxm");
  ProfileText const own = with_table("gemm bf16");
  auto const list = profile_predictors(own, h200);
  ASSERT_TRUE(list.value) << list.error;
  Parsed<Profile> const p = profile_with(own, h200);
  EXPECT_EQ(predicted(*list.value, decode_sample())->value, decode(*p.value));
  Sample s = decode_sample();
  s.operation = "gemm";
  s.shape = {4096, 4096, 4096};
  EXPECT_EQ(predicted(*list.value, s)->value, product(*p.value, GemmKind::bf16));
}

// A cell of the own table: a knot for the software it names; of any software where it names none. Those of
// the table of another card are none.
TEST(OwnProfile, ATableOfUnknownSoftwareHoldsTheRowsOfAny) {
  Gpu const& h200 = gpu_called("h200-sxm");
  ProfileText own = with_table("gemm bf16");
  GemmTable const table = *gemm_table_from(own.tables[0].text).value;
  Sample s;
  s.gpu = "h200-sxm";
  s.operation = "gemm";
  s.dtype = "bf16";
  s.version = "mine 1.0";
  for (std::size_t i = 0; i < table.log_ratio.size(); ++i) {
    if (std::isnan(table.log_ratio[i])) continue;
    std::size_t const m = table.m.size(), k = table.k.size();
    s.shape = {table.m[i % m], table.n[i / m / k], table.k[i / m % k]};
    break;
  }
  EXPECT_TRUE(is_knot(*profile_predictors(own, h200).value, s));
  own.operations = {{"gemm", "bf16", Basis::measured, "other 1.0", "", 1, 0, 0, 0}};
  EXPECT_FALSE(is_knot(*profile_predictors(own, h200).value, s));
  own.operations[0].software = "mine 1.0";
  EXPECT_TRUE(is_knot(*profile_predictors(own, h200).value, s));
  own.tables.clear();
  EXPECT_FALSE(is_knot(*profile_predictors(own, h200).value, s));
}

TEST(OwnProfile, ATimeFarFromItsRooflineIsRefused) {
  ProfileText own = with_table("gemm bf16");
  std::string& text = own.tables[0].text;
  std::size_t const at = text.find("\nlog ") + 5;
  text.replace(at, text.find(' ', at) - at, "11");
  EXPECT_THAT(profile_with(own, gpu_called("h200-sxm")).error,
              HasSubstr("table 'gemm bf16': a measured time has a log ratio of"));
}

}  // namespace
}  // namespace rollcast
