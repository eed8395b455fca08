#include "reports/fork_pool.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <stdexcept>
#include <thread>

namespace rollcast {
namespace {

using testing::HasSubstr;

TEST(ForkPool, ResultsComeInTheOrderOfTheTasks) {
  ForkPool pool(3, [](std::string const& task) { return task + task; });
  std::vector<std::string> tasks;
  for (int i = 0; i < 50; ++i) tasks.push_back(std::to_string(i));
  auto const results = run_all(pool, tasks);
  ASSERT_EQ(results.size(), 50u);
  for (std::size_t i = 0; i < 50; ++i) EXPECT_EQ(results[i].text, tasks[i] + tasks[i]);
  EXPECT_EQ(pool.unfinished(), 0u);
  EXPECT_FALSE(pool.next());
}

// Each task has a process of its own: what one changes the next does not see.
TEST(ForkPool, TasksDoNotMeet) {
  int value = 0;
  ForkPool pool(1, [&](std::string const&) { return std::to_string(++value); });
  for (ApartResult const& r : run_all(pool, {"", "", ""})) EXPECT_EQ(r.text, "1");
}

// What a helper prepares for one task all its later children have.
TEST(ForkPool, ChildrenHaveWhatTheirHelperPrepared) {
  std::string prepared;
  ForkPool pool(
      1, [&](std::string const&) { return prepared; },
      [&](std::string const& task) {
        if (task == "throw") throw std::runtime_error("not mine to tell");
        prepared += task;
      });
  auto const results = run_all(pool, {"a", "throw", "b"});
  EXPECT_EQ(results[0].text, "a");
  EXPECT_EQ(results[1].text, "a");
  EXPECT_EQ(results[2].text, "ab");
  EXPECT_EQ(prepared, "");
}

TEST(ForkPool, IsReadyWhenATaskHasEnded) {
  ForkPool pool(1, [](std::string const& task) {
    if (task == "long") std::this_thread::sleep_for(std::chrono::hours(1));
    return task;
  });
  EXPECT_TRUE(pool.ready(0));  // with nothing, which is there at once
  pool.submit(0, "short");
  EXPECT_TRUE(pool.ready(600'000));
  EXPECT_EQ(pool.next()->result.text, "short");
  pool.submit(1, "long");
  EXPECT_FALSE(pool.ready(1));
}

TEST(ForkPool, LongTextsComeWhole) {
  ForkPool pool(2, [](std::string const& task) { return task; });
  std::string const text(3'000'000, 'x');
  for (ApartResult const& r : run_all(pool, {text, text, text})) EXPECT_EQ(r.text, text);
}

TEST(ForkPool, AChildThatDiesIsAnErrorAndTheRestGoesOn) {
  ForkPool pool(2, [](std::string const& task) -> std::string {
    if (task == "throw") throw std::runtime_error("a broken invariant");
    if (task == "die") std::raise(SIGKILL);
    return task;
  });
  auto const results = run_all(pool, {"a", "throw", "die", "b"});
  EXPECT_EQ(results[0].text, "a");
  EXPECT_EQ(results[1].error, "a broken invariant");
  EXPECT_THAT(results[2].error, HasSubstr("signal 9"));
  EXPECT_EQ(results[3].text, "b");
}

// A helper that is killed (by the kernel, for memory, say) loses its task and no other.
TEST(ForkPool, AHelperThatDiesLosesItsTask) {
  ForkPool pool(2, [](std::string const& task) -> std::string {
    if (task == "kill") ::kill(::getppid(), SIGKILL);
    return task;
  });
  auto const results = run_all(pool, {"kill", "a", "b", "c"});
  EXPECT_THAT(results[0].error, HasSubstr("has ended"));
  EXPECT_EQ(results[1].text, "a");
  EXPECT_EQ(results[3].text, "c");
}

TEST(ForkPool, WithoutHelpersEveryTaskIsAnError) {
  ForkPool pool(1, [](std::string const& task) -> std::string {
    ::kill(::getppid(), SIGKILL);
    return task;
  });
  for (ApartResult const& r : run_all(pool, {"a", "b", "c"})) EXPECT_THAT(r.error, HasSubstr("has ended"));
}

// The helpers and their children go with the process that made the pool, also when that is killed.
TEST(ForkPool, HelpersEndWithTheirParent) {
  ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0);  // what is orphaned below becomes ours to wait for
  pid_t const parent = ::fork();
  if (parent == 0) {
    ForkPool pool(2, [](std::string const&) -> std::string {
      std::this_thread::sleep_for(std::chrono::hours(1));
      return "";
    });
    pool.submit(0, "");
    pool.submit(1, "");
    ::raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(parent, &status, 0), parent);
  EXPECT_TRUE(WIFSIGNALED(status));
  while (::waitpid(-1, nullptr, 0) > 0 || errno == EINTR) {  // hangs where one lives on
  }
  EXPECT_EQ(errno, ECHILD);
}

}  // namespace
}  // namespace rollcast
