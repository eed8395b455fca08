// What must hold for any bytes given as a scenario file: it ends, and gives either a scenario or problems
// that can be printed, each with something to say.
#pragma once

#include <stdexcept>
#include <string>

#include "scenarios/explain.hpp"
#include "scenarios/scenario.hpp"

namespace rollcast {

inline void fuzz_scenario(std::string const& text, ScenarioOptions const& options) {
  ScenarioResult const r = read_scenario_text(text, "fuzz.yaml", options);
  if (r.scenario.has_value() != r.problems.empty()) throw std::logic_error("neither or both");
  for (Problem const& p : r.problems) {
    if (p.what.empty() || p.remedy.empty()) throw std::logic_error("a problem without words");
    if (p.file.empty() || p.line < 0 || p.column < 0) throw std::logic_error("a problem without a place");
    if (format(p).size() > 4000) throw std::logic_error("a problem too long to read");
  }
  if (r.problems.size() > 500) throw std::logic_error("more problems than anyone reads");
  if (r.scenario && explain(*r.scenario).empty()) throw std::logic_error("nothing to explain");
}

}  // namespace rollcast
