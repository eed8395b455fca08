// The keys of the blocks of a scenario that describe what goes wrong and who notices: watchdog, launcher,
// network, faults.
#pragma once

#include "models/job.hpp"
#include "scenarios/text/fields.hpp"

namespace rollcast {

void describe(Fields& f, WatchdogOptions& o);
void describe(Fields& f, LauncherOptions& o);
void describe(Fields& f, NetworkOptions& o);

// `faults: [{at: 120 s, kill: {rank: 17}}, ...]`; pools and framework must have been read.
void read_faults(Fields& f, Job& job);

}  // namespace rollcast
