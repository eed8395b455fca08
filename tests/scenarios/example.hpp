// The R01 example as text, and short ways to read scenarios in tests.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "scenarios/scenario.hpp"

namespace rollcast {

inline std::string example_path() { return ROLLCAST_SOURCE_DIR "/scenarios/examples/grpo-8b-colocated.yaml"; }

inline std::string example_text() {
  std::ifstream in(example_path());
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

inline ScenarioResult read_example(std::vector<std::string> sets = {}) {
  return read_scenario_text(example_text(), "example.yaml", {std::move(sets), {}});
}

// The problem of `key`, or a failed test.
inline Problem problem_of(ScenarioResult const& r, std::string const& key) {
  for (Problem const& p : r.problems) {
    if (p.key == key) return p;
  }
  ADD_FAILURE() << "no problem for " << key << " in\n" << format(r.problems);
  return {};
}

inline Origin origin_of(Scenario const& s, std::string const& key) {
  for (Origin const& o : s.origins) {
    if (o.key == key) return o;
  }
  ADD_FAILURE() << "no origin for " << key;
  return {};
}

}  // namespace rollcast
