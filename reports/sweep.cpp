#include "reports/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

#include "calibrate/split.hpp"
#include "reports/version.hpp"

namespace rollcast {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr auto kCommitEvery = std::chrono::milliseconds(200);
constexpr int kLook = 100;  // ms that are waited for a result before the rest is seen to

std::string content_hash(std::string const& path) {
  std::ifstream in(path, std::ios::binary);
  std::string const text{std::istreambuf_iterator<char>(in), {}};
  return fmt::format("{:016x}", hash_of(text));
}

// The files that the words of a text name: a model's config.json, a table of lengths.
void add_named_files(std::string const& text, fs::path const& folder, std::set<std::string>& files) {
  constexpr char kBetween[] = " \t\r\n,:=[]{}\"'";
  std::size_t at = 0;
  while ((at = text.find_first_not_of(kBetween, at)) != std::string::npos) {
    std::size_t const end = std::min(text.find_first_of(kBetween, at), text.size());
    fs::path const path = folder / text.substr(at, end - at);
    std::error_code error;
    if (fs::is_regular_file(path, error)) files.insert(path.string());
    at = end;
  }
}

std::string hashes_of(std::vector<std::string> const& files) {
  std::string text;
  for (std::string const& f : files) text += content_hash(f) + " ";
  return text;
}

ScenarioResult read_at(Sweep const& sweep, std::optional<std::size_t> point) {
  ScenarioOptions options = sweep.source.options;
  if (point) {
    for (std::string const& set : task_at(sweep, *point).sets) options.sets.push_back(set);
  }
  return read_scenario_text(sweep.source.text, sweep.source.file, options);
}

bool among(Problem const& p, std::vector<Problem> const& problems) {
  return std::any_of(problems.begin(), problems.end(),
                     [&](Problem const& q) { return q.key == p.key && q.what == p.what; });
}

// The points that the store has, by their values.
class PointIndex {
 public:
  explicit PointIndex(std::vector<VariedKey> const& grid) : places_(grid.size()) {
    for (std::size_t i = 0; i < grid.size(); ++i) {
      for (std::size_t v = 0; v < grid[i].values.size(); ++v) places_[i][grid[i].values[v]] = v;
    }
  }
  // nullopt: not on the grid.
  std::optional<std::size_t> of(std::vector<std::string> const& values) const {
    std::size_t point = 0;
    for (std::size_t i = 0; i < places_.size(); ++i) {
      auto const it = places_[i].find(values.at(i));
      if (it == places_[i].end()) return std::nullopt;
      point = point * places_[i].size() + it->second;
    }
    return point;
  }

 private:
  std::vector<std::map<std::string, std::size_t>> places_;
};

}  // namespace

ForecastTask task_at(Sweep const& sweep, std::size_t point) {
  ForecastTask t{0, {}, sweep.seed, sweep.steps};
  std::vector<std::string> const values = values_at(sweep.grid, point);
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::string const& key = sweep.grid[i].key;
    if (key == "seed") {
      t.seed = std::stoull(values[i]);
    } else {
      t.sets.push_back(key + "=" + values[i]);
    }
  }
  return t;
}

// What the first and the last point share, which differ in each key that has two values, is wrong everywhere
// if it is wrong without them too. A key that nobody knows stands in no base.
std::vector<Problem> problems_of(Sweep const& sweep) {
  std::vector<Problem> shared;
  ScenarioResult const first = read_at(sweep, 0);
  if (first.scenario) return shared;
  ScenarioResult const last = read_at(sweep, points_of(sweep.grid) - 1);
  ScenarioResult const base = read_at(sweep, std::nullopt);
  for (Problem const& p : first.problems) {
    if (among(p, last.problems) && (among(p, base.problems) || p.what.starts_with("unknown key")))
      shared.push_back(p);
  }
  return shared;
}

SweepIdentity identity_of(Sweep const& sweep, std::string const& program) {
  SweepIdentity id;
  std::set<std::string> files;
  fs::path const folder = fs::path(sweep.source.file).parent_path();
  add_named_files(sweep.source.text, folder, files);
  std::string sets;
  for (std::string const& set : sweep.source.options.sets) {
    add_named_files(set, folder, files);
    sets += set + "\n";
  }
  bool seed_varies = false;
  for (VariedKey const& k : sweep.grid) {
    for (std::string const& value : k.values) add_named_files(value, folder, files);
    id.keys.push_back(k.key);
    seed_varies = seed_varies || k.key == "seed";
  }
  std::vector<std::string> keys = id.keys;
  std::sort(keys.begin(), keys.end());
  id.facts = {
      {"scenario", fmt::format("{:016x}", hash_of(sweep.source.text))},
      {"--set", sets},
      {"--catalog", hashes_of(sweep.source.options.catalog_files)},
      {"--steps", std::to_string(sweep.steps)},
      {"--seed", seed_varies ? "" : std::to_string(sweep.seed)},
      {"list of varied keys", fmt::format("{}", fmt::join(keys, "\n"))},
      {"content of a file that the scenario names", hashes_of({files.begin(), files.end()})},
      {"build of rollcast", fmt::format("{} {}", kVersion, content_hash(program))},
  };
  return id;
}

std::string to_text(SweepIdentity const& identity) {
  std::string text;
  for (auto const& [name, value] : identity.facts) text += name + "=" + value + "\n";
  return text;
}

Parsed<SweepResult> run_sweep(Sweep const& sweep, SweepWorkers& workers, SweepStore* store,
                              std::function<void(std::size_t done)> const& told) {
  std::size_t const points = points_of(sweep.grid);
  SweepResult result;
  result.headlines.resize(points);
  std::vector<bool> done(points, false);
  std::size_t finished = 0;
  if (store != nullptr) {
    PointIndex const index(sweep.grid);
    for (SweepStore::Row& row : store->rows()) {
      auto const point = index.of(row.values);
      if (!point) continue;
      result.headlines[*point] = std::move(row.headline);
      done[*point] = true;
      ++finished;
    }
  }
  told(finished);
  std::size_t next = 0;
  auto committed = Clock::now();
  while (finished < points) {
    for (; next < points && workers.takes_more(); ++next) {
      if (!done[next]) workers.submit(next, to_text(task_at(sweep, next)));
    }
    if (auto const task = workers.next(kLook)) {
      Headline h = headline_of(task->result);
      if (!task->result.error.empty()) {
        ++result.failed;
      } else if (store != nullptr) {
        if (std::string error = store->add({values_at(sweep.grid, task->id), h}); !error.empty())
          return {std::nullopt, error};
      }
      result.headlines[task->id] = std::move(h);
      ++finished;
      ++result.simulated;
      told(finished);
    }
    if (auto const now = Clock::now(); store != nullptr && now - committed >= kCommitEvery) {
      if (std::string error = store->commit(); !error.empty()) return {std::nullopt, error};
      committed = Clock::now();
    }
  }
  if (store != nullptr) {
    if (std::string error = store->commit(); !error.empty()) return {std::nullopt, error};
  }
  return {std::move(result), ""};
}

}  // namespace rollcast
