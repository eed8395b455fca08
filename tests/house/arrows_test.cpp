// The folder arrows of ARCHITECTURE.md, read off the includes: models <- scenarios <- {sim, calibrate} <-
// reports.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

struct Include {
  fs::path file;  // relative to the source folder
  std::string target;
};

fs::path const kRoot = ROLLCAST_SOURCE_DIR;

std::vector<Include> includes_of(std::string const& folder) {
  std::vector<Include> found;
  for (auto const& entry : fs::recursive_directory_iterator(kRoot / folder)) {
    auto const extension = entry.path().extension();
    if (extension != ".cpp" && extension != ".hpp" && extension != ".cu") continue;
    std::ifstream in(entry.path());
    for (std::string line; std::getline(in, line);) {
      auto const hash = line.find_first_not_of(" \t");
      if (hash == std::string::npos || line.compare(hash, 8, "#include") != 0) continue;
      auto const open = line.find_first_of("<\"", hash + 8);
      if (open == std::string::npos) continue;
      auto const close = line.find_first_of(">\"", open + 1);
      if (close == std::string::npos) continue;
      found.push_back({fs::relative(entry.path(), kRoot), line.substr(open + 1, close - open - 1)});
    }
  }
  return found;
}

std::string folder_of(std::string const& target) { return target.substr(0, target.find('/')); }

std::map<std::string, std::set<std::string>> const kMayInclude = {
    {"models", {"models"}},
    {"scenarios", {"models", "scenarios"}},
    {"calibrate", {"models", "scenarios", "calibrate"}},
    {"sim", {"models", "scenarios", "sim"}},
    {"reports", {"models", "scenarios", "calibrate", "sim", "reports"}},
};

TEST(Arrows, FoldersIncludeOnlyWhatTheyMay) {
  for (auto const& [folder, allowed] : kMayInclude) {
    auto const includes = includes_of(folder);
    EXPECT_FALSE(includes.empty()) << folder << " holds no source";
    for (Include const& i : includes) {
      std::string const target = folder_of(i.target);
      if (!kMayInclude.contains(target)) continue;  // the standard library and packages
      EXPECT_TRUE(allowed.contains(target)) << i.file << " includes " << i.target;
    }
  }
}

TEST(Arrows, SimGridStaysBehindItsAdapter) {
  for (auto const& [folder, allowed] : kMayInclude) {
    for (Include const& i : includes_of(folder)) {
      bool const simgrid = folder_of(i.target) == "simgrid" || folder_of(i.target) == "xbt";
      if (simgrid || i.target == "sim/engine_impl.hpp") {
        EXPECT_TRUE(i.file.generic_string().starts_with("sim/engine")) << i.file << " includes " << i.target;
      }
    }
  }
}

TEST(Arrows, ModelsAndSimReadNoTextAndNoFiles) {
  std::set<std::string> const forbidden = {"yaml-cpp", "nlohmann",   "fstream",
                                           "iostream", "filesystem", "cstdio"};
  for (std::string const folder : {"models", "sim"}) {
    for (Include const& i : includes_of(folder)) {
      EXPECT_FALSE(forbidden.contains(folder_of(i.target))) << i.file << " includes " << i.target;
    }
  }
}

TEST(Arrows, TopLevelIsFixed) {
  std::set<std::string> const folders = {"sim",     "models", "calibrate", "scenarios",
                                         "reports", "tests",  "build"};
  for (auto const& entry : fs::directory_iterator(kRoot)) {
    std::string const name = entry.path().filename();
    if (entry.is_directory() && name.front() != '.') {
      EXPECT_TRUE(folders.contains(name)) << name;
    }
  }
}

// Two types of one name in one namespace are a broken program, which no linker tells.
TEST(Names, EachTypeOfAHeaderOnce) {
  std::map<std::string, fs::path> seen;
  for (auto const& [folder, allowed] : kMayInclude) {
    for (auto const& entry : fs::recursive_directory_iterator(kRoot / folder)) {
      fs::path const file = fs::relative(entry.path(), kRoot);
      if (file.extension() != ".hpp" || file.string().starts_with("calibrate/bench/"))
        continue;  // own programs
      std::ifstream in(entry.path());
      for (std::string line; std::getline(in, line);) {
        std::istringstream words(line);
        std::string first, name;
        words >> first >> name;
        if (line.starts_with("enum class ")) words >> name;
        bool const type =
            line.starts_with("struct ") || line.starts_with("class ") || line.starts_with("enum class ");
        bool const forward = line.ends_with(";") && line.find('{') == std::string::npos;
        if (!type || forward) continue;
        auto const [at, is_new] = seen.emplace(name, file);
        EXPECT_TRUE(is_new) << name << " is in " << at->second << " and in " << file;
      }
    }
  }
  EXPECT_GT(seen.size(), 100u);
}

}  // namespace
