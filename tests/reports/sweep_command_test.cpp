#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "reports/commands/commands.hpp"
#include "reports/mpi_ranks.hpp"
#include "tests/reports/run_command.hpp"
#include "tests/reports/temporary_folder.hpp"

namespace rollcast {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr char kScenario[] = ROLLCAST_SOURCE_DIR "/scenarios/examples/sft-8b-lora-one-gpu.yaml";

class SweepCommand : public testing::Test {
 protected:
  CommandRun sweep(std::vector<std::string> words) const {
    words.insert(words.begin(), {"sweep", kScenario});
    return run_command(&add_sweep_command, words);
  }
  // The program itself, with `before` in front of it: its exit code.
  int program(std::string const& before, std::string const& arguments) const {
    std::string const command = before + " '" ROLLCAST_PROGRAM "' sweep '" + kScenario + "' " + arguments +
                                " >'" + path("out") + "' 2>'" + path("err") + "'";
    int const status = std::system(command.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  std::string path(std::string const& name) const { return folder_.path(name); }

  TemporaryFolder folder_;
};

TEST_F(SweepCommand, TheCsvHasEveryPointInTheOrderOfTheKeys) {
  CommandRun const r = sweep({"--vary", "train.micro_batch=4,16,2", "--vary", "seed=2,1", "--csv", "-"});
  EXPECT_EQ(r.exit_code, 0);
  EXPECT_EQ(r.err, "");
  std::vector<std::string> starts;
  std::size_t at = 0;
  while ((at = r.out.find('\n', at)) != std::string::npos && ++at < r.out.size())
    starts.push_back(r.out.substr(at, r.out.find(',', r.out.find(',', at) + 1) - at));
  EXPECT_THAT(r.out, StartsWith("train.micro_batch,seed,outcome,reason,"));
  EXPECT_EQ(starts, (std::vector<std::string>{"2,1", "2,2", "4,1", "4,2", "16,1", "16,2"}));
}

// One helper, two, and a sweep that finds half of its points in the store.
TEST_F(SweepCommand, TheCsvHasTheSameBytesHoweverItCame) {
  std::vector<std::string> const vary{"--vary", "seed=1..6", "--vary", "train.micro_batch=2,3,4"};
  auto const csv = [&](std::vector<std::string> more) {
    more.insert(more.end(), vary.begin(), vary.end());
    more.insert(more.end(), {"--csv", path("a.csv")});
    CommandRun const r = sweep(more);
    EXPECT_EQ(r.exit_code, 0) << r.err;
    return content_of(path("a.csv"));
  };
  std::string const one = csv({"--jobs", "1"});
  EXPECT_EQ(std::count(one.begin(), one.end(), '\n'), 19);
  EXPECT_EQ(csv({"--jobs", "2"}), one);
  EXPECT_EQ(sweep({"--vary", "seed=2..4", "--vary", "train.micro_batch=2,4", "--out", path("s")}).exit_code,
            0);
  EXPECT_EQ(csv({"--out", path("s")}), one);
  EXPECT_EQ(csv({"--out", path("s")}), one);
  EXPECT_THAT(sweep({"--vary", "seed=1..6", "--vary", "train.micro_batch=2,3,4", "--out", path("s")}).out,
              HasSubstr("18 points, 0 simulated now, the others found in the store."));
}

TEST_F(SweepCommand, RanksOfMpiGiveTheSameBytes) {
  if (!knows_mpi() || std::system("command -v mpirun >/dev/null") != 0) GTEST_SKIP() << "no MPI here";
  std::string const vary = "--vary seed=1..8 --vary train.micro_batch=2,3,4 --jobs 1 --csv ";
  // What MPI keeps at its end is not ours to free.
  std::string const mpi = "env ASAN_OPTIONS=detect_leaks=0 mpirun --allow-run-as-root --oversubscribe -n 2";
  ASSERT_EQ(program("", vary + path("one.csv")), 0) << content_of(path("err"));
  ASSERT_EQ(program(mpi, vary + path("two.csv") + " --out " + path("s")), 0) << content_of(path("err"));
  EXPECT_EQ(content_of(path("two.csv")), content_of(path("one.csv")));
  // All is in the store: the other rank is let go at once.
  ASSERT_EQ(program(mpi, vary + path("two.csv") + " --out " + path("s")), 0) << content_of(path("err"));
  EXPECT_EQ(content_of(path("two.csv")), content_of(path("one.csv")));
  EXPECT_NE(program(mpi, vary + path("two.csv") + " --steps 2 --out " + path("s")), 0);
  EXPECT_THAT(content_of(path("err")), HasSubstr("holds a sweep with another --steps"));
  EXPECT_NE(program(mpi, "--vary train.micro_bach=1 --csv " + path("two.csv")), 0);
  EXPECT_THAT(content_of(path("err")), HasSubstr("did you mean micro_batch?"));
}

TEST_F(SweepCommand, ALayoutThatCannotBeIsAResult) {
  CommandRun const r = sweep({"--vary", "train.parallel.tp=1,3"});
  EXPECT_EQ(r.exit_code, 0);
  EXPECT_THAT(r.out, HasSubstr("1  completed"));
  EXPECT_THAT(r.out, HasSubstr("1  infeasible: train.parallel.tp: "));
}

// A pipe is read once.
TEST_F(SweepCommand, TheScenarioMayComeFromAPipe) {
  std::string const program = "'" ROLLCAST_PROGRAM "' ";
  for (char const* const words : {"sweep /dev/stdin --vary seed=1", "plan /dev/stdin --top 1 --most-gpus 1",
                                  "compare /dev/stdin --with train.micro_batch=2 --steps 1 --seeds 1"}) {
    std::string const command = std::string("cat '") + kScenario + "' | " + program + words + " >'" +
                                path("out") + "' 2>'" + path("err") + "'";
    EXPECT_EQ(std::system(command.c_str()), 0) << content_of(path("err"));
    EXPECT_THAT(content_of(path("out")), Not(HasSubstr("Nothing runs"))) << words;
  }
}

TEST_F(SweepCommand, WhatIsWrongAtEveryPointIsToldBeforeTheSweep) {
  CommandRun r = sweep({"--vary", "train.micro_bach=1,2", "--csv", path("a.csv")});
  EXPECT_EQ(r.exit_code, 2);
  EXPECT_THAT(r.err, HasSubstr("train.micro_bach: unknown key; did you mean micro_batch?"));
  r = sweep({"--vary", "seed=1", "--set", "train.trainer=none"});
  EXPECT_EQ(r.exit_code, 2);
  EXPECT_THAT(r.err, HasSubstr("train.trainer"));
  r = run_command(&add_sweep_command, {"sweep", path("none.yaml"), "--vary", "seed=1"});
  EXPECT_EQ(r.exit_code, 2);
  EXPECT_THAT(r.err, HasSubstr("there is no such file"));
  EXPECT_EQ(sweep({"--vary", "train.micro_batch=1,2", "--set", "train.micro_batch=4"}).err,
            "rollcast: train.micro_batch is both varied and set; leave out one of the two\n");
  EXPECT_EQ(sweep({"--vary", "seed=1", "--vary", "seed=2"}).exit_code, 2);
  EXPECT_EQ(sweep({"--vary", "seed=1", "--csv", path("x"), "--out", path("x")}).exit_code, 2);
  EXPECT_EQ(content_of(path("a.csv")), "");
}

TEST_F(SweepCommand, AStoreOfOtherOptionsIsRefused) {
  EXPECT_EQ(sweep({"--vary", "seed=1", "--out", path("s")}).exit_code, 0);
  for (std::vector<std::string> const& more : {std::vector<std::string>{"--steps", "2"},
                                               {"--set", "train.micro_batch=1"},
                                               {"--vary", "train.micro_batch=2"}}) {
    std::vector<std::string> words{"--vary", "seed=1", "--out", path("s")};
    words.insert(words.end(), more.begin(), more.end());
    CommandRun const r = sweep(words);
    EXPECT_EQ(r.exit_code, 2);
    EXPECT_THAT(r.err, HasSubstr("holds a sweep with another "));
    EXPECT_THAT(r.err, HasSubstr("; give --out another file\n"));
  }
}

}  // namespace
}  // namespace rollcast
