// What would make a layout fit that does not: changes of the scenario, found by trying them.
#pragma once

#include <cstddef>
#include <vector>

#include "reports/commands/scenario_input.hpp"
#include "reports/memory_report.hpp"

namespace rollcast {

// Overrides that may save memory and that the job does not have yet, the least intrusive first: less kept for
// the backward pass, smaller micro-batches, another loss kernel, states cut or moved to the host, the
// engine's share, larger model-parallel groups, more nodes. Of a job that serves, first as many slots and
// adapters on the host as there is room for.
std::vector<std::string> memory_overrides(Job const& job);

// Each override is read into the scenario as --set would, so what it breaks is left out. Of those that then
// fit, alone (where fewer than `most` fit alone, two together; where none do, up to eight, each the one that
// leaves most room), the `most` cheapest in GPU-hours per step, by a run of one step each in a process of its
// own; those that are not simulated yet come last. At most 16 runs.
std::vector<MemoryChange> cheapest_changes(ScenarioArguments const& arguments, Job const& job,
                                           std::size_t most);

}  // namespace rollcast
