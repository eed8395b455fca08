#include "scenarios/problem.hpp"

#include <gtest/gtest.h>

namespace rollcast {
namespace {

TEST(Problem, PrintsPlaceKeyReasonRemedyAndCaret) {
  Problem const p{"f.yaml", 2, 8, "train.tp", "3 is odd", "write 2", "  tp:  3"};
  EXPECT_EQ(format(p),
            "f.yaml:2:8: train.tp: 3 is odd; write 2\n"
            "    tp:  3\n"
            "         ^\n");
}

TEST(Problem, PrintsAFileWithoutALine) {
  EXPECT_EQ(format(Problem{"f.yaml", 0, 0, "", "the file is empty", "write one", ""}),
            "f.yaml: the file is empty; write one\n");
  EXPECT_EQ(format(Problem{"--set a=b", 0, 0, "a", "no", "do", ""}), "--set a=b: a: no; do\n");
}

TEST(Problem, CutsALongLineAroundTheColumn) {
  Problem p{"f.yaml", 1, 50001, "", "bad", "good", std::string(50000, 'x') + "Y" + std::string(50000, 'z')};
  std::string const text = format(p);
  EXPECT_LT(text.size(), 400U);
  std::size_t const line = text.find('\n') + 1;
  std::size_t const caret_line = text.find('\n', line) + 1;
  EXPECT_EQ(text.find('Y') - line, text.find('^') - caret_line);
}

TEST(Problem, NearestIsASlipNotAGuess) {
  std::vector<std::string_view> const keys = {"model", "measured", "train", "tp", "pp"};
  EXPECT_EQ(nearest("modle", keys), "model");  // neighbours swapped: 1
  EXPECT_EQ(nearest("mesured", keys), "measured");
  EXPECT_EQ(nearest("trian", keys), "train");
  EXPECT_EQ(nearest("tpp", keys), "tp");  // first of the equally near
  EXPECT_EQ(nearest("weights", keys), "");
  EXPECT_EQ(nearest("", keys), "");
  EXPECT_EQ(nearest(std::string(100000, 'a'), keys), "");
}

TEST(Problem, ShownIsShortAndPrintable) {
  EXPECT_EQ(shown("a\tb\nc"), "a b?c");
  EXPECT_EQ(shown(std::string(100, 'a')), std::string(60, 'a') + "...");
}

TEST(Problem, OneOf) {
  EXPECT_EQ(one_of({"a"}), "a");
  EXPECT_EQ(one_of({"a", "b", "c"}), "a, b or c");
}

}  // namespace
}  // namespace rollcast
