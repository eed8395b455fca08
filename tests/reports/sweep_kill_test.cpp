// Sweeps that are killed at random moments, again and again, until one comes to its end.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/reports/temporary_folder.hpp"

namespace rollcast {
namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;

struct Case {
  std::string scenario;
  std::string seeds;  // "1..300"
  int points;
  int kills;  // after that many it is left alone
};

// In a process group of its own, with both streams to `path`.err.
pid_t start(Case const& c, std::string const& path) {
  pid_t const child = ::fork();
  if (child != 0) return child;
  ::setpgid(0, 0);
  int const streams = ::open((path + ".err").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666);
  ::dup2(streams, STDOUT_FILENO);
  ::dup2(streams, STDERR_FILENO);
  std::string const scenario = ROLLCAST_SOURCE_DIR "/scenarios/" + c.scenario;
  std::string const seeds = "seed=" + c.seeds;
  std::string const store = path + ".sqlite";
  std::string const csv = path + ".csv";
  ::execl(ROLLCAST_PROGRAM, ROLLCAST_PROGRAM, "sweep", scenario.c_str(), "--vary", seeds.c_str(), "--jobs",
          "2", "--out", store.c_str(), "--csv", csv.c_str(), static_cast<char*>(nullptr));
  ::_exit(127);
}

int wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) == -1 && errno == EINTR) {
  }
  return status;
}

int value(void* count, int, char** values, char**) {
  *static_cast<int*>(count) = std::stoi(values[0]);
  return 0;
}

// Rows of the store, and those of the reference that it has to the last character.
struct Rows {
  int all = -1;
  int distinct = -1;
  int right = -1;
};
Rows rows_of(std::string const& path, std::string const& reference) {
  Rows r;
  sqlite3* store = nullptr;
  sqlite3_open_v2((path + ".sqlite").c_str(), &store, SQLITE_OPEN_READONLY, nullptr);
  std::string const attach = "ATTACH '" + reference + ".sqlite' AS reference";
  EXPECT_EQ(sqlite3_exec(store, attach.c_str(), nullptr, nullptr, nullptr), SQLITE_OK);
  auto const ask = [&](char const* sql, int& answer) {
    EXPECT_EQ(sqlite3_exec(store, sql, value, &answer, nullptr), SQLITE_OK) << sqlite3_errmsg(store);
  };
  ask("SELECT count(*) FROM points", r.all);
  ask("SELECT count(DISTINCT seed) FROM points", r.distinct);
  ask("SELECT count(*) FROM (SELECT * FROM points INTERSECT SELECT * FROM reference.points)", r.right);
  sqlite3_close(store);
  return r;
}

void kill_until_it_ends(Case const& c) {
  TemporaryFolder const folder;
  std::string const reference = folder.path("reference");
  auto const begun = Clock::now();
  ASSERT_EQ(wait_for(start(c, reference)), 0) << content_of(reference + ".err");
  double const whole = Milliseconds(Clock::now() - begun).count();

  std::string const killed = folder.path("killed");
  std::mt19937 random(c.points);
  int kills = 0;
  while (true) {
    pid_t const child = start(c, killed);
    if (kills < c.kills) {
      // So that the last kills still fall into the sweep where the machine has twice the time for it.
      double const most = 0.8 * whole / c.kills + 300;
      std::this_thread::sleep_for(Milliseconds(std::uniform_real_distribution<>(0, most)(random)));
      ::kill(kills % 2 == 0 ? -child : child, SIGKILL);  // all its processes, or the one that has the store
    }
    int const status = wait_for(child);
    if (!WIFSIGNALED(status)) {
      EXPECT_EQ(status, 0) << content_of(killed + ".err");
      break;
    }
    ++kills;
  }
  Rows const r = rows_of(killed, reference);
  EXPECT_EQ(r.all, c.points);
  EXPECT_EQ(r.distinct, c.points);
  EXPECT_EQ(r.right, c.points);
  EXPECT_EQ(content_of(killed + ".csv"), content_of(reference + ".csv"));
  std::printf("%d points, killed %d times\n", c.points, kills);
}

TEST(SweepKills, EachPointIsThereOnceAndRight) {
  kill_until_it_ends({"examples/sft-8b-lora-one-gpu.yaml", "1..200", 200, 10});
}

// Minutes: build/release/bin/reports_test --gtest_also_run_disabled_tests
// --gtest_filter=SweepKills.*Thousand*
TEST(SweepKills, DISABLED_TenThousandPointsKilledAHundredTimes) {
  kill_until_it_ends({"published/R01-nemo-rl-8b-two-nodes-v0.5.yaml", "1..10000", 10'000, 100});
}

}  // namespace
}  // namespace rollcast
