// Imports a configuration of tests/data/import and reads the scenario that comes of it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "scenarios/import/import.hpp"
#include "scenarios/scenario.hpp"

namespace rollcast {

inline std::string data_file(std::string const& name) {
  return std::string(ROLLCAST_SOURCE_DIR) + "/tests/data/import/" + name;
}

// The job of a scenario's text, which must be without problems.
inline Job job_of(ImportedScenario const& imported) {
  EXPECT_EQ(format(imported.problems), "");
  ScenarioResult const r = read_scenario_text(imported.text, "imported.yaml", {});
  EXPECT_EQ(format(r.problems), "") << imported.text;
  return r.scenario.value().job;
}

inline Job import_job(FrameworkKind framework, std::string const& file, ImportOptions const& options = {}) {
  return job_of(import_file(framework, data_file(file), options));
}

inline bool holds(std::vector<std::string> const& lines, std::string const& piece) {
  return std::any_of(lines.begin(), lines.end(),
                     [&](std::string const& line) { return line.find(piece) != std::string::npos; });
}

}  // namespace rollcast
