// A scenario that serves, as text, for the tests of its keys and checks.
#pragma once

#include <string>
#include <vector>

#include "tests/scenarios/example.hpp"

namespace rollcast {

inline std::string serve_text() {
  return "model: llama-2-7b\n"
         "cluster: {node: hgx-a100, nodes: 1}\n"
         "workload: {prompt_tokens: 512, response_tokens: 128}\n"
         "rollout: {engine: vllm}\n"
         "serve:\n"
         "  requests: 100\n"
         "  arrivals: {poisson: 12}\n"
         "  adapters: {count: 20, popularity: {zipf: 1}, rank: 8, targets: [q, v]}\n";
}

inline ScenarioResult read_served(std::vector<std::string> sets = {}) {
  return read_scenario_text(serve_text(), "serve.yaml", {std::move(sets), {}});
}

inline ServeOptions served(std::vector<std::string> sets = {}) {
  ScenarioResult const r = read_served(std::move(sets));
  EXPECT_TRUE(r.scenario) << format(r.problems);
  return r.scenario ? *r.scenario->job.serve : ServeOptions{};
}

}  // namespace rollcast
