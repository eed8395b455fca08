#include "calibrate/profile_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "calibrate/embedded_profiles.hpp"
#include "scenarios/text/document.hpp"

namespace rollcast {
namespace {

using testing::HasSubstr;

ProfileText small() {
  ProfileText p;
  p.name = "a \"name\" with \\";
  p.gpu = "h100-sxm";
  p.stack = "vllm 0.24.0";
  p.date = "2026-01-31";
  p.operations = {{"gemm", "bf16", Basis::measured, "vllm 0.24.0", "somewhere: here", 10, 3, 0.0281, 0.0934},
                  {"memory_pass", "", Basis::bytes_over_bandwidth, "", "x", 0, 0, 0, 0}};
  p.numbers = {{"sustained_clock", {0.88, "a source"}}};
  p.tables = {{"gemm bf16", "gemm bf16\n  4 5 0a\n\nend\n"}, {"collectives", "nccl: x # y\n"}};
  return p;
}

TEST(ProfileText, ReadsBackWhatItWrote) {
  std::string const text = to_text(small());
  ProfileTextResult const r = profile_from_text(text, "p.yaml");
  ASSERT_TRUE(r.profile) << format(r.problems);
  ProfileText const& p = *r.profile;
  EXPECT_EQ(p.name, small().name);
  EXPECT_EQ(p.date, "2026-01-31");
  ASSERT_EQ(p.operations.size(), 2U);
  EXPECT_EQ(p.operations[0].source, "somewhere: here");
  EXPECT_EQ(p.operations[0].heldout_rows, 3);
  EXPECT_DOUBLE_EQ(p.operations[0].heldout_p90, 0.0934);
  EXPECT_EQ(p.operations[1].basis, Basis::bytes_over_bandwidth);
  EXPECT_DOUBLE_EQ(p.numbers.at(0).second.value, 0.88);
  ASSERT_EQ(p.tables.size(), 2U);
  EXPECT_EQ(p.tables[0].text, small().tables[0].text);
  EXPECT_EQ(p.tables[1].name, "collectives");
  EXPECT_EQ(to_text(p), text);
  EXPECT_EQ(gpu_of_profile(text), "h100-sxm");
}

// Wherever a table's text is cut, the reader tells.
TEST(ProfileText, ACutTableIsNoProfile) {
  std::string const text = to_text(small());
  for (std::size_t end = text.find("text: |"); end + 1 < text.size(); ++end) {
    std::size_t const next = text.find("  - table: \"collectives\"");
    if (end + 1 >= next && end <= next + 2) continue;  // between two entries: a profile of one table less
    EXPECT_FALSE(profile_from_text(text.substr(0, end), "p.yaml").profile) << text.substr(0, end);
  }
}

// The reader of scenario files, which knows all of YAML, sees the same.
TEST(ProfileText, IsYaml) {
  Document const d = parse_document(to_text(small()), "p.yaml");
  ASSERT_TRUE(d.problems.empty()) << format(d.problems);
  EXPECT_EQ(find(d.root, "name")->value.text, small().name);
  Value const& table = find(d.root, "tables")->value.items.at(0);
  EXPECT_EQ(find(table, "text")->value.text, small().tables[0].text);
}

TEST(ProfileText, WhatIsWrongIsToldWithItsLine) {
  struct Case {
    char const* text;
    char const* message;
  };
  for (Case const& c :
       {Case{"gpu: \"x\"\nsorts: 1\n", "p.yaml:2:1: sorts: is no key here"},
        Case{"name: \"x\"\n", "gpu: is missing"},
        Case{"gpu: \"x\n", "closing quote"},
        Case{"gpu: \"x\"\noperations:\n  - rows: -1\n", "p.yaml:3:1: rows: '-1' is not a number"},
        Case{"gpu: \"x\"\noperations:\n  - rows: 1.5\n", "is no count"},
        Case{"gpu: \"x\"\noperations:\n  - basis: guessed\n", "write one of measured, fitted"},
        Case{"gpu: \"x\"\noperations:\n    rows: 1\n", "no item of a list"},
        Case{"gpu: \"x\"\ntables:\n  - table: \"t\"\n    text: words\n", "p.yaml:4:1: text: is no key"},
        Case{"gpu: \"x\"\ngpu: \"y\"\n", "p.yaml:2:1: gpu: is there twice"},
        Case{"gpu: \"x\"\nnumbers:\n  - number: \"pcie\"\n", "value: is missing"},
        Case{"gpu: \"x\"\nnumbers:\n  - value: 1\n", "number: is missing"},
        Case{"gpu: \"x\"\nnumbers:\n  - number: \"pcie\"\n    value: 0\n",
             "p.yaml:4:1: value: '0' of pcie is out of range"},
        Case{"gpu: \"x\"\nnumbers:\n  - value: 1e308\n    number: \"kernel_launch\"\n",
             "of kernel_launch is out of"},
        Case{"gpu: \"x\"\nnumbers:\n  - number: \"sustained_clock\"\n    value: 1.01\n",
             "more than 0 and at most 1"},
        Case{"gpu: \"x\"\nnumbers:\n  - number: \"attention_backward_over_forward\"\n    value: 21\n",
             "more than 0.1 and at most 20"},
        Case{"gpu: \"x\"\nnumbers:\n  - number: \"pcie\"\n    value: 1\n  - number: \"pcie\"\n",
             "p.yaml:5:1: number: 'pcie' is there twice"},
        Case{"gpu: \"x\"\ntables:\n  - table: \"t\"\n    text: |\n      a\n", "lines: is missing"},
        Case{"gpu: \"x\"\ntables:\n  - table: \"t\"\n    text: |\n      a\n    lines: 2\n",
             "p.yaml:6:1: lines: '2' does not match"},
        Case{"gpu: \"x\"\ntables:\n  - table: \"collectives\"\n    text: |\n    lines: 0\n",
             "'collectives' is empty"},
        Case{"gpu: \"x\"\ntables:\n  - table: \"gemm fp8\"\n    text: |\n      gemm bf16\n    lines: 1\n",
             "'gemm fp8' holds 'gemm bf16'"},
        Case{"gpu: \"x\"\ntables:\n  - table: \"t\"\n    text: |\n      a\n    lines: 1\n  - table: \"t\"\n",
             "p.yaml:7:1: table: 't' is there twice"},
        Case{"gpu: \"x\"\n{}\n", "no line of a profile"}}) {
    ProfileTextResult const r = profile_from_text(c.text, "p.yaml");
    EXPECT_FALSE(r.profile) << c.text;
    ASSERT_EQ(r.problems.size(), 1U) << c.text;
    EXPECT_THAT(format(r.problems), HasSubstr(c.message));
  }
}

TEST(EmbeddedProfiles, EachCanBeReadAndIsOfAKnownSize) {
  EXPECT_FALSE(embedded_profile_of("no-such-gpu"));
  for (EmbeddedProfile const& e : embedded_profiles()) {
    ProfileTextResult const r = profile_from_text(e.text, std::string(e.name));
    ASSERT_TRUE(r.profile) << format(r.problems);
    EXPECT_EQ(to_text(*r.profile), e.text) << e.name;
    EXPECT_LE(e.text.size(), 2000000U) << e.name;
    EXPECT_TRUE(embedded_profile_of(r.profile->gpu));
  }
}

}  // namespace
}  // namespace rollcast
