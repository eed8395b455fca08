#include "scenarios/import/shell.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rollcast {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct ShellRun {
  Document document;
  Script script;
};

ShellRun read(std::string const& text, std::vector<std::pair<std::string, std::string>> defines = {}) {
  ShellRun r{parse_lines(text, "run.sh"), {}};
  r.script = read_script(r.document, {"", std::move(defines)});
  return r;
}

// The words of the last command.
std::vector<std::string> words(std::string const& text) {
  ShellRun const r = read(text);
  EXPECT_TRUE(r.document.problems.empty()) << format(r.document.problems);
  std::vector<std::string> out;
  if (r.script.commands.empty()) return out;
  for (Word const& w : r.script.commands.back().words) out.push_back(w.text);
  return out;
}

TEST(Shell, CutsWordsAndTakesQuotesOff) {
  EXPECT_THAT(words("python a.py 'b c' \"d e\" f\\ g \"\" h'i'\"j\""),
              ElementsAre("python", "a.py", "b c", "d e", "f g", "", "hij"));
  EXPECT_THAT(words("run --json='{\"a\": 1}' x=['console','wandb']"),
              ElementsAre("run", "--json={\"a\": 1}", "x=[console,wandb]"));
}

TEST(Shell, JoinsContinuedLinesAndLeavesCommentsOut) {
  EXPECT_THAT(words("run \\\n  --a 1 \\\n  # no comment ends a continued line\n"),
              ElementsAre("run", "--a", "1"));
  EXPECT_THAT(words("# first\nrun a#b # c\n"), ElementsAre("run", "a#b"));
}

TEST(Shell, PutsVariablesIn) {
  EXPECT_THAT(words("A=1\nB=\"x y\"\nrun $A ${A}2 \"$B\" $B '$A'"),
              ElementsAre("run", "1", "12", "x y", "x", "y", "$A"));
  EXPECT_THAT(words("A=${N:-8}\nB=${A:-9}\nC=${NOT:+x}\nrun $A $B ${C}z ${D-5}"),
              ElementsAre("run", "8", "8", "z", "5"));
  EXPECT_THAT(words("M=/root/models/Qwen3-4B\nrun ${M##*/} ${M%/*}"),
              ElementsAre("run", "Qwen3-4B", "/root/models"));
}

TEST(Shell, ComputesWholeNumbers) {
  // 1024 x 2 = 2048; (2048 + 8192) x 3 = 30720; 8 - 4 = 4
  EXPECT_THAT(
      words("P=$((1024 * 2))\nR=$((1024*8))\nN=8\nG=4\nrun $P $(((P + R) * 3)) $((N - ${G})) $((2**10))"),
      ElementsAre("run", "2048", "30720", "4", "1024"));
}

TEST(Shell, RemembersWhatNothingSets) {
  ShellRun const r = read("run $HOME/x $(date) $((1 / 0)) $1 $@");
  ASSERT_EQ(r.script.commands.size(), 1U);
  auto const& w = r.script.commands[0].words;
  ASSERT_EQ(w.size(), 4U);  // positional arguments are empty
  EXPECT_EQ(w[1].text, "/x");
  EXPECT_EQ(w[1].unset, "HOME");
  EXPECT_EQ(w[2].unset, "$(...)");
  EXPECT_EQ(w[3].unset, "$((...))");
  EXPECT_EQ(w[0].unset, "");
}

TEST(Shell, TakesVariablesOfTheEnvironment) {
  ShellRun const r = read("N=${N:-1}\nrun $N", {{"N", "4"}});
  EXPECT_EQ(r.script.commands.back().words[1].text, "4");
}

TEST(Shell, KnowsArrays) {
  EXPECT_THAT(words("A=(\n  --x 1  # one\n  --y \"2 3\"\n)\nA+=(--z)\nrun ${A[@]} \"${A[@]}\""),
              ElementsAre("run", "--x", "1", "--y", "2", "3", "--z", "--x", "1", "--y", "2 3", "--z"));
  ShellRun const r = read("run --a ${B[@]} --c 1");
  EXPECT_EQ(r.script.commands[0].words[2].unset, "B[@]");
}

TEST(Shell, ShowsWordsWhereTheyAreWritten) {
  ShellRun const r = read("A=(\n  --x 1\n)\nrun ${A[@]}\n  two   three");
  auto const& w = r.script.commands[0].words;
  EXPECT_EQ(w[1].mark.line, 2);
  EXPECT_EQ(w[1].mark.column, 3);
  EXPECT_EQ(r.script.commands[1].words[1].mark.line, 5);
  EXPECT_EQ(r.script.commands[1].words[1].mark.column, 9);
}

TEST(Shell, TakesTheBranchThatATestTells) {
  std::string const text = "M=async\nif [ \"$M\" = \"async\" ]; then\n  R=1\nelse\n  R=2\nfi\nrun $R";
  EXPECT_THAT(words(text), ElementsAre("run", "1"));
  EXPECT_THAT(words("M=sync\n" + text.substr(8)), ElementsAre("run", "2"));
  EXPECT_THAT(words("N=3\nif [ $N -gt 4 ]; then R=a; elif [[ $N == 3 ]]; then R=b; else R=c; fi\nrun $R"),
              ElementsAre("run", "b"));
  EXPECT_THAT(words("if [ -z \"$X\" ]; then X=7; fi\n[ -n \"$X\" ] && Y=8\n[ -z \"$X\" ] && Y=9\nrun $X $Y"),
              ElementsAre("run", "7", "8"));
  EXPECT_THAT(words("if [ 1 = 2 ]; then if [ 1 = 1 ]; then R=a; fi; else R=b; fi\nrun $R"),
              ElementsAre("run", "b"));
}

TEST(Shell, SaysWhereItGuesses) {
  ShellRun const r =
      read("if [ \"$GPUS\" = 8 ]; then\n A=1\nelse\n A=2\nfi\nfor x in p q; do\n run $x $A\ndone");
  EXPECT_EQ(r.script.commands.back().words[1].text, "p");
  EXPECT_EQ(r.script.commands.back().words[2].text, "1");
  ASSERT_EQ(r.script.remarks.size(), 2U);
  EXPECT_THAT(r.script.remarks[0], HasSubstr("line 1: a condition"));
  EXPECT_THAT(r.script.remarks[1], HasSubstr("line 6: a loop"));
}

TEST(Shell, JoinsTestsByAndAndOr) {
  auto const taken = [](std::string const& condition) {
    return words("A=1\nif " + condition + "; then R=yes; else R=no; fi\nrun $R")[1];
  };
  EXPECT_EQ(taken("[ $A = 1 ] && [ $A = 1 ]"), "yes");
  EXPECT_EQ(taken("[ $A = 1 ] && [ $A = 2 ]"), "no");
  EXPECT_EQ(taken("[ $A = 2 ] && [ $A = 1 ]"), "no");
  EXPECT_EQ(taken("[ $A = 2 ] || [ $A = 1 ]"), "yes");
  EXPECT_EQ(taken("[ $A = 2 ] || [ $A = 3 ]"), "no");
  EXPECT_EQ(taken("! [ -z \"$A\" ]"), "yes");
  EXPECT_EQ(taken("[ ! -z \"$A\" ]"), "yes");
  EXPECT_EQ(taken("[ \"$X\" = 1 ] && [ $A = 2 ]"), "no");
  // A branch that is not read says nothing of what it cannot know.
  EXPECT_TRUE(read("if [ 1 = 2 ]; then if [ \"$X\" = 1 ]; then a; fi; fi").script.remarks.empty());
}

TEST(Shell, ReadsAHeredocIntoAVariable) {
  EXPECT_THAT(words("read -r -d '' C <<EOF\nmod.train \\\n  --a 1 \\\n  --b it's\nEOF\npython -m $C --c"),
              ElementsAre("python", "-m", "mod.train", "--a", "1", "--b", "its", "--c"));
  EXPECT_THAT(words("cat <<EOF > f\nnot a command\nEOF\nrun a 2>&1 | tee log\nrun b > /dev/null"),
              ElementsAre("run", "b"));
}

TEST(Shell, KeepsTheEnvironmentOfACommand) {
  ShellRun const r = read("CUDA_VISIBLE_DEVICES=0,1 X=2 run a");
  ASSERT_EQ(r.script.commands.size(), 1U);
  ASSERT_EQ(r.script.commands[0].environment.size(), 2U);
  EXPECT_EQ(r.script.commands[0].environment[0].text, "CUDA_VISIBLE_DEVICES=0,1");
}

TEST(Shell, TellsWhatIsNotClosed) {
  for (auto const& [text, line, column] :
       {std::tuple{"run\n  'a b", 2, 3}, std::tuple{"run \"a", 1, 5}, std::tuple{"A=(a\nb", 1, 1},
        std::tuple{"run ${A", 1, 5}, std::tuple{"run $(a", 1, 5}}) {
    ShellRun const r = read(text);
    ASSERT_EQ(r.document.problems.size(), 1U) << text;
    EXPECT_EQ(r.document.problems[0].line, line) << text;
    EXPECT_EQ(r.document.problems[0].column, column) << text;
    EXPECT_THAT(r.document.problems[0].what, HasSubstr("not closed"));
  }
}

TEST(Shell, StopsWhereAVariableGrowsWithoutEnd) {
  std::string text = "A=xxxxxxxx\n";
  for (int i = 0; i < 60; ++i) text += "A=\"$A$A\"\n";
  for (int i = 0; i < 40; ++i)
    text += "B" + std::to_string(i + 1) + "='B" + std::to_string(i) + "+B" + std::to_string(i) + "'\n";
  ShellRun const r = read(text + "run $A $((B40))");
  EXPECT_LE(r.script.commands.back().words[1].text.size(), 65536U);
  EXPECT_EQ(r.script.commands.back().words[2].unset, "$((...))");
}

}  // namespace
}  // namespace rollcast
