// A scenario at all points of a grid.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "models/units.hpp"
#include "reports/forecast.hpp"
#include "reports/sweep_grid.hpp"
#include "reports/sweep_store.hpp"
#include "reports/sweep_workers.hpp"

namespace rollcast {

struct Sweep {
  ScenarioSource source;
  std::vector<VariedKey> grid;  // at least one key
  std::uint64_t seed = 1;       // where it is not varied
  int steps = 1;
};

ForecastTask task_at(Sweep const& sweep, std::size_t point);

// What is wrong whatever the varied values are, an unknown key say: no point would be forecast.
std::vector<Problem> problems_of(Sweep const& sweep);

// Of this program and what it reads: the file `program` (its own), the scenario's text, the catalog files and
// the files that the scenario or a value names.
SweepIdentity identity_of(Sweep const& sweep, std::string const& program);
std::string to_text(SweepIdentity const& identity);

struct SweepResult {
  std::vector<Headline> headlines;  // of each point
  std::size_t simulated = 0;        // now; the others were in the store
  std::size_t failed = 0;           // by the program's fault: not stored, so that they are tried again
};

// told: called now and then with the points that are done. The store (nullptr: none) gets results in batches,
// five times a second. An error where it cannot be written.
Parsed<SweepResult> run_sweep(Sweep const& sweep, SweepWorkers& workers, SweepStore* store,
                              std::function<void(std::size_t done)> const& told);

}  // namespace rollcast
