// The program from outside: exit codes, streams, messages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "reports/analysis.hpp"
#include "reports/csv.hpp"
#include "reports/json.hpp"
#include "reports/log_file.hpp"
#include "reports/output_file.hpp"
#include "reports/terminal.hpp"
#include "reports/trace.hpp"
#include "reports/version.hpp"
#include "tests/reports/small_log.hpp"
#include "tests/reports/temporary_folder.hpp"

namespace rollcast {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::string content(fs::path const& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

struct Ran {
  int code = -1;
  std::string out;
  std::string err;
};

class Program : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(write_file(path("small.log"), log_text(small_log())), ""); }

  std::string path(std::string const& name) const { return folder_.path(name); }
  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_.root()), fs::directory_iterator()));
  }
  // rollcast with these arguments, in the test's folder; redirections in `arguments` come after ours.
  Ran run(std::string const& arguments) const {
    std::string const command = "cd '" + folder_.root().string() + "' && '" ROLLCAST_PROGRAM "' >'" +
                                (folder_.root().string() + ".out") + "' 2>'" +
                                (folder_.root().string() + ".err") + "' " + arguments;
    int const status = std::system(command.c_str());
    Ran r{WIFEXITED(status) ? WEXITSTATUS(status) : -1, content(folder_.root().string() + ".out"),
          content(folder_.root().string() + ".err")};
    fs::remove(folder_.root().string() + ".out");
    fs::remove(folder_.root().string() + ".err");
    return r;
  }
  void write_failed_log(Outcome outcome, char const* name) const {
    EventLog log = small_log();
    log.outcome = outcome;
    log.outcome_reason = "a reason";
    ASSERT_EQ(write_file(path(name), log_text(log)), "");
  }

  std::string const example_ =
      std::string("'") + ROLLCAST_SOURCE_DIR + "/scenarios/examples/grpo-8b-colocated.yaml'";
  TemporaryFolder folder_;
};

TEST_F(Program, ReportPrintsWhatTheLibraryRenders) {
  Ran const r = run("report small.log");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out, render_terminal(analyse(small_log()), {}));
  EXPECT_EQ(r.err, "");
}

TEST_F(Program, ReportWritesEveryOutput) {
  Ran const r = run("report small.log --json a.json --csv a.csv --trace a.trace --log a.log --quiet");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out, "");
  EXPECT_EQ(content(path("a.json")), json_text(analyse(small_log())));
  EXPECT_EQ(content(path("a.csv")), csv_text(small_log()));
  EXPECT_EQ(content(path("a.trace")), trace_text(small_log()));
  EXPECT_EQ(content(path("a.log")), content(path("small.log")));
}

TEST_F(Program, ADashTakesThePlaceOfTheReport) {
  EXPECT_EQ(run("report small.log --json -").out, json_text(analyse(small_log())));
  Ran const twice = run("report small.log --json - --csv -");
  EXPECT_EQ(twice.code, 2);
  EXPECT_EQ(twice.err, "rollcast: two outputs go to standard output; give each its own file\n");
  EXPECT_EQ(run("report small.log --json x --csv x").err,
            "rollcast: two outputs go to 'x'; give each its own file\n");
}

TEST_F(Program, AnOutputNeverReplacesWhatIsRead) {
  std::string const log = content(path("small.log"));
  std::string const scenario = content(ROLLCAST_SOURCE_DIR "/scenarios/examples/grpo-8b-colocated.yaml");
  ASSERT_EQ(write_file(path("s.yaml"), scenario), "");
  fs::create_symlink("s.yaml", path("link.yaml"));
  for (std::string const arguments :
       {"run s.yaml --json s.yaml", "run s.yaml --log ./s.yaml", "run link.yaml --trace s.yaml",
        "run s.yaml --csv link.yaml", "run nothing.yaml --catalog s.yaml --json s.yaml",
        "run nothing.yaml --profile s.yaml --json s.yaml", "memory s.yaml --json s.yaml",
        "report small.log --json ./small.log"}) {
    Ran const r = run(arguments);
    EXPECT_EQ(r.code, 2) << arguments;
    EXPECT_THAT(r.err, HasSubstr("is read, and an output would replace it")) << arguments;
  }
  EXPECT_EQ(content(path("s.yaml")), scenario);
  EXPECT_EQ(content(path("small.log")), log);
  EXPECT_EQ(run("report small.log --json x --csv ./x").err,
            "rollcast: two outputs go to './x'; give each its own file\n");
  EXPECT_EQ(run("report small.log --json /dev/stdout --csv -").err,
            "rollcast: two outputs go to standard output; give each its own file\n");
}

TEST_F(Program, AnOutputNeedsAName) {
  EXPECT_EQ(run("report small.log --json ''").err,
            "rollcast report: --json: needs the name of a file; rollcast report --help tells how\n");
  Ran const r = run("report small.log --log= --quiet");  // CLI11 takes the next word
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, HasSubstr("'--quiet' looks like an option; write './--quiet'"));
  EXPECT_EQ(files(), 1U);
}

TEST_F(Program, OutputsThatCannotBeWrittenAreOneErrorAndNoFile) {
  Ran r = run("report small.log --json missing/a.json");
  EXPECT_EQ(r.code, 2);
  EXPECT_EQ(r.err, "rollcast: cannot write missing/a.json: No such file or directory\n");
  r = run("report small.log --trace /dev/full");
  EXPECT_EQ(r.code, 2);
  EXPECT_EQ(r.err, "rollcast: cannot write /dev/full: No space left on device\n");
  r = run("report small.log --csv .");
  EXPECT_EQ(r.code, 2);
  EXPECT_EQ(r.err, "rollcast: cannot write .: Is a directory\n");
  EXPECT_EQ(files(), 1U);
}

TEST_F(Program, AFullOrClosedStandardOutputIsAnError) {
  Ran r = run("report small.log >/dev/full");
  EXPECT_EQ(r.code, 2);
  EXPECT_EQ(r.err, "rollcast: cannot write standard output: No space left on device\n");
  r = run("report small.log >&-");
  EXPECT_EQ(r.code, 2);
  EXPECT_EQ(r.err, "rollcast: cannot write standard output: Bad file descriptor\n");
  for (std::string const words : {"catalog list", "catalog show h100-sxm", "--help", "schema"}) {
    EXPECT_EQ(run(words + " >/dev/full").code, 2) << words;
  }
  r = run("report small.log --json a.json --quiet >&-");
  EXPECT_EQ(r.code, 0);
  EXPECT_EQ(content(path("a.json")), json_text(analyse(small_log())));
  EXPECT_EQ(run("report small.log --json a.json >&- 2>&- <&-").code, 2);
  EXPECT_EQ(content(path("a.json")), json_text(analyse(small_log())));
}

TEST_F(Program, BadLogsAreOneError) {
  std::string const text = log_text(small_log());
  ASSERT_EQ(write_file(path("cut.log"), text.substr(0, text.size() / 2)), "");
  ASSERT_EQ(write_file(path("empty.log"), ""), "");
  for (std::string const name : {"cut.log", "empty.log", "missing.log", ".", "small.log/x"}) {
    Ran const r = run("report " + name);
    EXPECT_EQ(r.code, 2) << name;
    EXPECT_EQ(r.out, "") << name;
    EXPECT_THAT(r.err, testing::StartsWith("rollcast: " + name + ":")) << name;
    EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
  }
}

TEST_F(Program, FailOnTurnsAnOutcomeIntoExitCode3) {
  write_failed_log(Outcome::oom, "oom.log");
  write_failed_log(Outcome::refused, "refused.log");
  write_failed_log(Outcome::deadlock, "deadlock.log");
  EXPECT_EQ(run("report oom.log").code, 0);
  EXPECT_EQ(run("report oom.log --fail-on oom").code, 3);
  EXPECT_EQ(run("report oom.log --fail-on stall").code, 0);
  EXPECT_EQ(run("report refused.log --fail-on stall,oom").code, 3);
  EXPECT_EQ(run("report deadlock.log --fail-on oom,stall").code, 3);
  EXPECT_EQ(run("report small.log --fail-on oom,stall").code, 0);
  Ran const r = run("report oom.log --fail-on rain");
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, HasSubstr("'rain' is no outcome to fail on; write oom, stall or oom,stall"));
}

TEST_F(Program, AWrongCommandLineIsAnsweredInOneSentence) {
  auto const answer = [&](std::string const& arguments) {
    Ran const r = run(arguments);
    EXPECT_EQ(r.code, 2) << arguments;
    EXPECT_EQ(r.out, "") << arguments;
    return r.err;
  };
  EXPECT_EQ(answer(""), "rollcast: a command is missing; rollcast --help tells how\n");
  EXPECT_EQ(answer("fly"), "rollcast: 'fly' is no command of rollcast; rollcast --help tells how\n");
  EXPECT_EQ(answer("--fly"), "rollcast: '--fly' is no option of rollcast; rollcast --help tells how\n");
  EXPECT_EQ(answer("report"), "rollcast report: LOG is missing; rollcast report --help tells how\n");
  EXPECT_EQ(answer("report small.log --jsn x"),
            "rollcast report: '--jsn' is not understood here; rollcast report --help tells how\n");
  EXPECT_EQ(answer("calibrate check --samples x --out y"),
            "rollcast calibrate check: '--out' is not understood here; rollcast calibrate check --help tells "
            "how\n");
  EXPECT_EQ(answer("report small.log --json"),
            "rollcast report: --json needs a value; rollcast report --help tells how\n");
  EXPECT_EQ(answer("report small.log --json a --json b"),
            "rollcast report: --json is given more than once; rollcast report --help tells how\n");
  EXPECT_EQ(answer("run x.yaml --steps none"),
            "rollcast run: --steps: 'none' is not a whole number from 1 to 100000; rollcast run --help tells "
            "how\n");
  EXPECT_EQ(
      answer("run x.yaml --seed -1"),
      "rollcast run: --seed: '-1' is not a whole number from 0 to 18446744073709551615; rollcast run --help "
      "tells how\n");
  EXPECT_THAT(answer("run x.yaml --max-memory 5"),
              HasSubstr("--max-memory: '5' has no unit; possible: B, kB"));
}

TEST_F(Program, HelpAndVersion) {
  EXPECT_EQ(run("--version").out, std::string("rollcast ") + kVersion + "\n");
  EXPECT_THAT(run("--help").out, HasSubstr("rollcast run scenarios/examples/"));
  for (std::string const verb : {"run", "report"}) {
    Ran const r = run(verb + " --help");
    EXPECT_EQ(r.code, 0);
    EXPECT_THAT(r.out, HasSubstr("Example:\n  rollcast " + verb));
  }
}

TEST_F(Program, VersionIsThatOfTheBuild) {
  EXPECT_THAT(content(ROLLCAST_SOURCE_DIR "/CMakeLists.txt"),
              HasSubstr(std::string("project(rollcast VERSION ") + kVersion + " "));
}

TEST_F(Program, SchemaDocumentIsUpToDate) {
  // rollcast schema > scenarios/SCHEMA.md brings it up to date.
  EXPECT_EQ(run("schema").out, content(ROLLCAST_SOURCE_DIR "/scenarios/SCHEMA.md"));
}

TEST_F(Program, AForecastThatIsTooLargeIsRefusedAtOnce) {
  auto const begin = std::chrono::steady_clock::now();
  Ran r = run("run " + example_ + " --max-memory '1 MiB'");
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, HasSubstr("of memory, --max-memory is 1.00 MiB; simulate fewer steps"));
  r = run("run " + example_ + " --set cluster.nodes=125000000");
  EXPECT_EQ(r.code, 2);
  EXPECT_EQ(r.out, "");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
}

TEST_F(Program, RunIsReproducibleAndItsLogReportsTheSame) {
  Ran const first = run("run " + example_ + " --steps 2 --json a.json --log a.log --trace a.trace");
  ASSERT_EQ(first.code, 0) << first.err;
  ASSERT_EQ(run("run " + example_ + " --steps 2 --json b.json --log b.log").code, 0);
  EXPECT_EQ(content(path("a.json")), content(path("b.json")));
  EXPECT_EQ(content(path("a.log")), content(path("b.log")));
  Ran const again = run("report a.log --json c.json --trace c.trace");
  EXPECT_EQ(again.out, first.out);
  EXPECT_EQ(content(path("a.json")), content(path("c.json")));
  EXPECT_EQ(content(path("a.trace")), content(path("c.trace")));
}

TEST_F(Program, ExplainComesBeforeTheReport) {
  Ran const r = run("run " + example_ + " --steps 1 --explain");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_LT(r.out.find("rollout.gpu_memory_utilization"), r.out.find("Scenario grpo-8b-colocated"));
  EXPECT_EQ(run("run " + example_ + " --explain --json -").code, 2);
}

}  // namespace
}  // namespace rollcast
