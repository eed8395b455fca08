#include "reports/sweep_store.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <map>
#include <stdexcept>
#include <variant>

#include "reports/sweep_columns.hpp"
#include "scenarios/problem.hpp"

namespace rollcast {
namespace {

constexpr int kApplication = 0x726f6c63;  // "rolc", in the head of the file
constexpr int kLayout = 1;                // of the tables, its user_version
constexpr off_t kLockByte = 1LL << 40;    // far from the bytes that SQLite locks
constexpr int kPatience = 60'000;         // ms, for somebody who reads

std::string quoted(std::string_view name) {
  std::string out = "\"";
  for (char const c : name) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

std::vector<std::string> quoted_names(std::vector<std::string> const& keys) {
  std::vector<std::string> names;
  for (std::string const& key : keys) names.push_back(quoted(key));
  return names;
}

std::string text_of(sqlite3_stmt* row, int column) {
  auto const* const text = reinterpret_cast<char const*>(sqlite3_column_text(row, column));
  return text == nullptr ? std::string()
                         : std::string(text, static_cast<std::size_t>(sqlite3_column_bytes(row, column)));
}

void bind_text(sqlite3_stmt* statement, int place, std::string const& text) {
  sqlite3_bind_text64(statement, place, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
}

void bind_cell(sqlite3_stmt* statement, int place, Cell const& cell) {
  if (auto const* const text = std::get_if<std::string>(&cell)) bind_text(statement, place, *text);
  if (auto const* const real = std::get_if<double>(&cell)) sqlite3_bind_double(statement, place, *real);
  if (auto const* const whole = std::get_if<std::int64_t>(&cell))
    sqlite3_bind_int64(statement, place, *whole);
}

// An open file that this process alone holds, or a sentence. The lock is the open file's, so it ends with the
// process, however that ends.
Parsed<int> hold(std::string const& path) {
  auto const failed = [&] {
    return Parsed<int>{std::nullopt, fmt::format("cannot open {}: {}", path, std::strerror(errno))};
  };
  int const file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0) return failed();
  struct stat status {};
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = kLockByte;
  lock.l_len = 1;
  if (::fstat(file, &status) == 0 && S_ISREG(status.st_mode) && ::fcntl(file, F_OFD_SETLK, &lock) == 0)
    return {file, ""};
  bool const held = errno == EAGAIN || errno == EACCES;
  Parsed<int> const result =
      !S_ISREG(status.st_mode) ? Parsed<int>{std::nullopt, path + " is no file"}
      : !held                  ? failed()
                               : Parsed<int>{std::nullopt, path +
                                                               " is in use by another sweep; wait for it, or give "
                                                                                "--out another file"};
  ::close(file);
  return result;
}

}  // namespace

SweepStore::CloseFile::~CloseFile() {
  if (file >= 0) ::close(file);
}
void SweepStore::CloseStore::operator()(sqlite3* store) const { sqlite3_close(store); }
void SweepStore::EndStatement::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

std::string SweepStore::failure() const {
  switch (sqlite3_errcode(store_.get())) {
    case SQLITE_NOTADB:
      return path_ + " is no store of a sweep; give --out another file";
    case SQLITE_CORRUPT:
      return path_ + " is damaged; give --out another file, or remove it to start anew";
    default:
      return fmt::format("cannot use {}: {}", path_, sqlite3_errmsg(store_.get()));
  }
}

std::string SweepStore::run(std::string const& sql) const {
  int const code = sqlite3_exec(store_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? std::string() : failure();
}

SweepStore::Statement SweepStore::prepare(std::string const& sql) const {
  sqlite3_stmt* statement = nullptr;
  sqlite3_prepare_v2(store_.get(), sql.c_str(), -1, &statement, nullptr);
  if (statement == nullptr) throw std::runtime_error(failure());
  return Statement(statement);
}

// Whether there is a row.
bool SweepStore::step(sqlite3_stmt* statement) const {
  int const code = sqlite3_step(statement);
  if (code != SQLITE_ROW && code != SQLITE_DONE) throw std::runtime_error(failure());
  return code == SQLITE_ROW;
}

bool SweepStore::is_empty() const {
  auto const any = prepare("SELECT 1 FROM sqlite_master LIMIT 1");
  return !step(any.get());
}

void SweepStore::make(SweepIdentity const& identity) {
  auto const checked = [this](std::string const& sql) {
    if (std::string const error = run(sql); !error.empty()) throw std::runtime_error(error);
  };
  checked("BEGIN IMMEDIATE");
  checked(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kApplication, kLayout));
  checked("CREATE TABLE sweep (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID");
  std::string columns;
  for (std::string const& name : quoted_names(identity.keys)) columns += name + " TEXT NOT NULL, ";
  for (SweepColumn const& c : sweep_columns()) columns += quoted(c.name) + ", ";
  checked(fmt::format("CREATE TABLE points ({}headline TEXT NOT NULL, PRIMARY KEY ({})) WITHOUT ROWID",
                      columns, fmt::join(quoted_names(identity.keys), ", ")));
  auto const insert = prepare("INSERT INTO sweep VALUES (?, ?)");
  for (auto const& [name, value] : identity.facts) {
    bind_text(insert.get(), 1, name);
    bind_text(insert.get(), 2, value);
    step(insert.get());
    sqlite3_reset(insert.get());
  }
  checked("COMMIT");
}

// Why the store is not of this identity; empty if it is.
std::string SweepStore::refusal(SweepIdentity const& identity) const {
  auto const number = [this](char const* sql) {
    auto const s = prepare(sql);
    return step(s.get()) ? sqlite3_column_int(s.get(), 0) : 0;
  };
  if (number("PRAGMA application_id") != kApplication)
    return path_ + " is no store of a sweep; give --out another file";
  if (number("PRAGMA user_version") != kLayout)
    return path_ + " is a store of another version of rollcast; give --out another file";
  {
    auto const check = prepare("PRAGMA quick_check(1)");
    if (!step(check.get()) || text_of(check.get(), 0) != "ok")
      return path_ + " is damaged; give --out another file, or remove it to start anew";
  }
  std::map<std::string, std::string> stored;
  auto const all = prepare("SELECT name, value FROM sweep");
  while (step(all.get())) stored[text_of(all.get(), 0)] = text_of(all.get(), 1);
  for (auto const& [name, value] : identity.facts) {
    if (stored[name] != value)
      return fmt::format("{} holds a sweep with another {}; give --out another file", path_, name);
  }
  return {};
}

Parsed<SweepStore> SweepStore::open(std::string const& path, SweepIdentity const& identity) {
  Parsed<int> const file = hold(path);
  if (!file.value) return {std::nullopt, file.error};
  SweepStore s;
  s.path_ = path;
  s.keys_ = identity.keys;
  s.lock_ = CloseFile(*file.value);
  sqlite3* store = nullptr;
  // A name that begins with "file:" would be an address.
  std::string const name = path.starts_with('/') ? path : "./" + path;
  int const code = sqlite3_open_v2(name.c_str(), &store, SQLITE_OPEN_READWRITE, nullptr);
  s.store_.reset(store);
  if (code != SQLITE_OK) return {std::nullopt, s.failure()};
  sqlite3_busy_timeout(store, kPatience);
  try {
    if (std::string error = s.run("PRAGMA synchronous = FULL"); !error.empty()) return {std::nullopt, error};
    if (s.is_empty()) s.make(identity);
    if (std::string error = s.refusal(identity); !error.empty()) return {std::nullopt, error};
    std::string places;
    for (std::size_t i = 0; i < identity.keys.size() + sweep_columns().size(); ++i) places += "?, ";
    std::string columns;
    for (std::string const& name_of_key : quoted_names(identity.keys)) columns += name_of_key + ", ";
    for (SweepColumn const& c : sweep_columns()) columns += quoted(c.name) + ", ";
    s.insert_ = s.prepare(fmt::format("INSERT INTO points ({}headline) VALUES ({}?)", columns, places));
  } catch (std::runtime_error const& e) {
    return {std::nullopt, e.what()};
  }
  return {std::move(s), ""};
}

std::vector<SweepStore::Row> SweepStore::rows() const {
  std::vector<Row> rows;
  std::string columns;
  for (std::string const& name : quoted_names(keys_)) columns += name + ", ";
  auto const all = prepare(fmt::format("SELECT {}headline FROM points", columns));
  while (step(all.get())) {
    Row row;
    int const keys = static_cast<int>(keys_.size());
    for (int i = 0; i < keys; ++i) row.values.push_back(text_of(all.get(), i));
    row.headline = headline_from_text(text_of(all.get(), keys));
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string SweepStore::add(Row const& row) {
  if (row.values.size() != keys_.size()) throw std::logic_error("SweepStore::add: not one value a key");
  if (!begun_) {
    if (std::string error = run("BEGIN IMMEDIATE"); !error.empty()) return error;
    begun_ = true;
  }
  sqlite3_clear_bindings(insert_.get());
  int place = 0;
  for (std::string const& value : row.values) bind_text(insert_.get(), ++place, value);
  for (SweepColumn const& c : sweep_columns()) bind_cell(insert_.get(), ++place, c.of(row.headline));
  bind_text(insert_.get(), ++place, to_text(row.headline));
  int const code = sqlite3_step(insert_.get());
  std::string const error = code == SQLITE_DONE ? std::string() : failure();
  sqlite3_reset(insert_.get());
  return error;
}

std::string SweepStore::commit() {
  if (!begun_) return {};
  std::string const error = run("COMMIT");
  if (error.empty()) begun_ = false;
  return error;
}

}  // namespace rollcast
