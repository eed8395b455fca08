// A scenario from the configuration or the launch command of a training framework.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/job.hpp"
#include "scenarios/problem.hpp"

namespace rollcast {

// What no configuration tells. 0 and "": assumed, and listed as such.
struct ImportOptions {
  std::string node;                // catalog name of the machines
  std::int64_t gpus = 0;           // GPUs that train, where the configuration leaves it to the launcher
  std::int64_t mean_prompt = 0;    // tokens
  std::int64_t mean_response = 0;  // tokens
  std::vector<std::pair<std::string, std::string>> defines;  // variables that the script takes from outside
};

struct ImportedScenario {
  std::string text;  // the scenario with the lists below as a comment at its head; empty: problems
  std::vector<std::string> assumed;  // "cluster.node: hgx-h100; no configuration names the machines"
  std::vector<std::string> unused;   // "trainer.logger (run.sh:34)"
  std::vector<Problem> problems;
  std::vector<Problem> doubts;  // of reading and of simulating the text: to be changed by hand before a run
};

// Frameworks whose configurations are read: verl, openrlhf, trl, slime, nemo-rl.
std::vector<FrameworkKind> const& importable_frameworks();

// path: a YAML configuration (.yaml, .yml, .json) or else a launch script. Files that it names (a parent
// configuration, --config of a command, a sourced script) are read when they lie beside it.
ImportedScenario import_file(FrameworkKind framework, std::string const& path, ImportOptions const& options);

// A launch command as it would be typed. Files that it names are looked for in `folder`.
ImportedScenario import_command(FrameworkKind framework, std::string const& command,
                                std::string const& folder, ImportOptions const& options);

}  // namespace rollcast
