// The results of a sweep in an SQLite file, so that a sweep that was ended at any moment goes on where it
// was.
//
//   sweep    name, value                         what the results depend on (SweepIdentity)
//   points   a column for each varied key, sweep_columns(), headline (headline.hpp)
//
// A row of points is there once, whole, from the commit on. One process holds the store at a time; others may
// read it meanwhile.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/units.hpp"
#include "reports/headline.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace rollcast {

// Results of sweeps with the same identity are the same, point for point. The values of the keys do not
// belong to it: a store may be filled further.
struct SweepIdentity {
  std::vector<std::pair<std::string, std::string>> facts;  // "steps", "1"
  std::vector<std::string> keys;                           // that are varied, at least one
};

class SweepStore {
 public:
  // Makes the file where there is none. An error in one sentence, and the file as it was, where it is no
  // store of this identity, is damaged, is held by another sweep, or cannot be opened.
  static Parsed<SweepStore> open(std::string const& path, SweepIdentity const& identity);

  struct Row {
    std::vector<std::string> values;  // in the order of the identity's keys
    Headline headline;
  };
  // All that have been committed. std::runtime_error where the file cannot be read.
  std::vector<Row> rows() const;

  // Both: an empty string, or one sentence. A row is safe after commit().
  std::string add(Row const& row);
  std::string commit();

 private:
  struct CloseFile {
    int file = -1;
    CloseFile() = default;
    explicit CloseFile(int f) : file(f) {}
    CloseFile(CloseFile&& other) noexcept : file(std::exchange(other.file, -1)) {}
    CloseFile& operator=(CloseFile&& other) noexcept {
      std::swap(file, other.file);
      return *this;
    }
    ~CloseFile();
  };
  struct CloseStore {
    void operator()(sqlite3* store) const;
  };
  struct EndStatement {
    void operator()(sqlite3_stmt* statement) const;
  };
  using Statement = std::unique_ptr<sqlite3_stmt, EndStatement>;

  SweepStore() = default;
  std::string run(std::string const& sql) const;
  Statement prepare(std::string const& sql) const;
  bool step(sqlite3_stmt* statement) const;
  bool is_empty() const;
  void make(SweepIdentity const& identity);
  std::string refusal(SweepIdentity const& identity) const;
  std::string failure() const;

  std::string path_;
  std::vector<std::string> keys_;
  CloseFile lock_;  // closed last: closing any descriptor of the file ends SQLite's own locks
  std::unique_ptr<sqlite3, CloseStore> store_;
  Statement insert_;
  bool begun_ = false;
};

}  // namespace rollcast
