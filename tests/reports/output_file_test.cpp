#include "reports/output_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "tests/reports/temporary_folder.hpp"

namespace rollcast {
namespace {

namespace fs = std::filesystem;

class OutputFile : public testing::Test {
 protected:
  std::string path(char const* name) const { return folder_.path(name); }
  static std::string content(std::string const& file) {
    std::ifstream in(file, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
  }
  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_.root()), fs::directory_iterator()));
  }

  TemporaryFolder folder_;
};

TEST_F(OutputFile, WritesAndReplacesKeepingTheMode) {
  EXPECT_EQ(write_file(path("out.json"), "one"), "");
  ASSERT_EQ(::chmod(path("out.json").c_str(), 0640), 0);
  EXPECT_EQ(write_file(path("out.json"), "two"), "");
  EXPECT_EQ(content(path("out.json")), "two");
  EXPECT_EQ(fs::status(path("out.json")).permissions(), fs::perms(0640));
  EXPECT_EQ(files(), 1U);
}

TEST_F(OutputFile, LinksStayLinks) {
  EXPECT_EQ(write_file(path("target"), "one"), "");
  fs::create_symlink("target", path("link"));
  EXPECT_EQ(write_file(path("link"), "two"), "");
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(content(path("target")), "two");
}

TEST_F(OutputFile, PathsThatCannotBeWrittenAreNamed) {
  EXPECT_EQ(write_file(folder_.root().string(), "x"),
            "cannot write " + folder_.root().string() + ": Is a directory");
  EXPECT_EQ(write_file(path("missing/out"), "x"),
            "cannot write " + path("missing/out") + ": No such file or directory");
  EXPECT_EQ(write_file("", "x"), "cannot write a file without a name");
  std::string const file = path("file");
  EXPECT_EQ(write_file(file, "x"), "");
  EXPECT_EQ(write_file(file + "/out", "x"), "cannot write " + file + "/out: Not a directory");
  EXPECT_EQ(files(), 1U);
}

TEST_F(OutputFile, DevicesAreWrittenInPlace) {
  EXPECT_EQ(write_file("/dev/null", "x"), "");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_EQ(write_file("/dev/full", "x"), "cannot write /dev/full: No space left on device");
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

// A limit on the file size fails in the middle of the content, as a full disk does.
TEST_F(OutputFile, AWriteThatFailsHalfwayLeavesTheOldFile) {
  EXPECT_EQ(write_file(path("out"), "old"), "");
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  rlimit small = old;
  small.rlim_cur = 4096;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  std::string const error = write_file(path("out"), std::string(10'000, 'x'));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &old), 0);
  EXPECT_EQ(error, "cannot write " + path("out") + ": File too large");
  EXPECT_EQ(content(path("out")), "old");
  EXPECT_EQ(files(), 1U);
}

TEST_F(OutputFile, AClosedStandardOutputIsAnError) {
  int const kept = ::dup(STDOUT_FILENO);
  ::close(STDOUT_FILENO);
  std::string const closed = write_file("-", "x");
  int const full = ::open("/dev/full", O_WRONLY);
  std::string const no_space = full == STDOUT_FILENO ? write_file("-", "x") : "not opened as standard output";
  ::dup2(kept, STDOUT_FILENO);
  ::close(kept);
  EXPECT_EQ(closed, "cannot write standard output: Bad file descriptor");
  EXPECT_EQ(no_space, "cannot write standard output: No space left on device");
}

}  // namespace
}  // namespace rollcast
