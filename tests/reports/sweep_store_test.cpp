#include "reports/sweep_store.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "reports/output_file.hpp"
#include "tests/reports/temporary_folder.hpp"

namespace rollcast {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

SweepIdentity const kIdentity{{{"scenario", "abc"}, {"--steps", "1"}}, {"train.parallel.tp", "seed"}};

SweepStore::Row row(std::string const& tp, std::string const& seed, double samples) {
  Headline h;
  h.steps = 1;
  h.samples_per_second = samples;
  return {{tp, seed}, h};
}

class Store : public testing::Test {
 protected:
  SweepStore open() {
    auto s = SweepStore::open(file_, kIdentity);
    EXPECT_EQ(s.error, "");
    return std::move(*s.value);
  }
  std::string error_of(SweepIdentity const& identity = kIdentity) {
    return SweepStore::open(file_, identity).error;
  }
  void run_sql(char const* sql) {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(file_.c_str(), &db), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
    sqlite3_close(db);
  }

  TemporaryFolder folder_;
  std::string file_ = folder_.path("a b'\"#%.sqlite");
};

TEST_F(Store, KeepsWhatWasCommitted) {
  {
    SweepStore s = open();
    EXPECT_EQ(s.rows().size(), 0u);
    EXPECT_EQ(s.add(row("1", "1", 0.1)), "");
    EXPECT_EQ(s.commit(), "");
    EXPECT_EQ(s.add(row("it's, \"2\"", "1", 3)), "");
    EXPECT_EQ(s.commit(), "");
    EXPECT_EQ(s.commit(), "");
    EXPECT_EQ(s.add(row("4", "1", 5)), "");  // not committed
  }
  auto const rows = open().rows();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_THAT(rows[0].values, ElementsAre("1", "1"));
  EXPECT_EQ(rows[0].headline.samples_per_second, 0.1);  // to the last bit
  EXPECT_THAT(rows[1].values, ElementsAre("it's, \"2\"", "1"));
}

TEST_F(Store, TheFiguresAreColumnsToo) {
  {
    SweepStore s = open();
    EXPECT_EQ(s.add(row("1", "2", 0.25)), "");
    EXPECT_EQ(s.commit(), "");
  }
  run_sql(
      "CREATE TEMP TABLE t (x CHECK (x = 1)); INSERT INTO t SELECT count(*) FROM points WHERE "
      "\"train.parallel.tp\" = '1' AND seed = '2' AND outcome = 'completed' AND samples_per_second = 0.25 "
      "AND "
      "dollars_per_step IS NULL");
}

TEST_F(Store, APointIsThereOnce) {
  SweepStore s = open();
  EXPECT_EQ(s.add(row("1", "1", 1)), "");
  EXPECT_THAT(s.add(row("1", "1", 2)), HasSubstr("UNIQUE"));
  EXPECT_EQ(s.commit(), "");
  EXPECT_EQ(s.rows().size(), 1u);
}

TEST_F(Store, IsHeldByOneAtATime) {
  {
    SweepStore const s = open();
    EXPECT_THAT(error_of(), HasSubstr("is in use by another sweep; wait for it, or give --out another file"));
    run_sql("SELECT * FROM points");  // others may look
    EXPECT_THAT(error_of(), HasSubstr("is in use"));
  }
  EXPECT_EQ(error_of(), "");
}

TEST_F(Store, OfAnotherSweepIsRefused) {
  open();
  std::string const before = content_of(file_);
  SweepIdentity other = kIdentity;
  other.facts[1].second = "2";
  EXPECT_EQ(error_of(other), file_ + " holds a sweep with another --steps; give --out another file");
  EXPECT_EQ(content_of(file_), before);
  EXPECT_EQ(error_of(), "");
}

TEST_F(Store, WhatIsNoStoreIsRefusedAndLeftAsItIs) {
  for (std::string const& text : {std::string("seed,outcome\n1,completed\n"), std::string(100'000, 'x')}) {
    ASSERT_EQ(write_file(file_, text), "");
    EXPECT_EQ(error_of(), file_ + " is no store of a sweep; give --out another file");
    EXPECT_EQ(content_of(file_), text);
  }
  std::filesystem::remove(file_);
  run_sql("CREATE TABLE notes (text)");
  std::string const before = content_of(file_);
  EXPECT_EQ(error_of(), file_ + " is no store of a sweep; give --out another file");
  EXPECT_EQ(content_of(file_), before);
  EXPECT_THAT(SweepStore::open(folder_.path("."), kIdentity).error, HasSubstr("cannot open"));
  EXPECT_THAT(SweepStore::open("/dev/null", kIdentity).error, HasSubstr("is no file"));
  EXPECT_THAT(SweepStore::open(folder_.path("none/a"), kIdentity).error, HasSubstr("No such file"));
}

// Pages of rows are overwritten; the head of the file is good.
TEST_F(Store, ADamagedOneIsRefusedAndLeftAsItIs) {
  {
    SweepStore s = open();
    for (int i = 0; i < 500; ++i) ASSERT_EQ(s.add(row("1", std::to_string(i), i)), "");
    ASSERT_EQ(s.commit(), "");
  }
  std::string text = content_of(file_);
  ASSERT_GT(text.size(), 40'000u);
  std::fill(text.begin() + 20'000, text.begin() + 30'000, 'x');
  ASSERT_EQ(write_file(file_, text), "");
  EXPECT_EQ(error_of(), file_ + " is damaged; give --out another file, or remove it to start anew");
  EXPECT_EQ(content_of(file_), text);
}

// An empty file is what a sweep leaves that is killed before it has written.
TEST_F(Store, AnEmptyFileIsTaken) {
  std::ofstream(file_).close();
  EXPECT_EQ(error_of(), "");
}

}  // namespace
}  // namespace rollcast
