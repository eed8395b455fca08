// What follows a stall, second by second, until the job's processes are gone: timers, dumps, monitors, the
// launcher. Pure: from the stall and the rules of models/watchdog and models/launcher.
//
// The job ends at the earliest of
//   what the launcher does once it sees a rank stop, or one that the watchdog has ended (torchrun, ray)
//   the end of the last waiting rank, by its own timer or told of another's (none)
//   worker heartbeats, where they are on: workers end the job after the missed ones of one whose process or
//   work has ended
// and never where nobody has a timer and nobody notices.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/launcher.hpp"
#include "models/stall.hpp"
#include "models/watchdog.hpp"

namespace rollcast {

enum class HappeningKind { cause, waits, notices, detects, dumps, monitor, aborts, dies, ends };
std::string_view name_of(HappeningKind k);

// One thing, or the same thing of many ranks from `time` to `until`.
struct Happening {
  Seconds time;
  Seconds until;
  HappeningKind kind = HappeningKind::cause;
  int pool = 0;
  std::vector<int> ranks;  // ascending; empty: the launcher, the driver
  std::string what;        // a sentence without its full stop
};

struct JobSize {
  int gpus = 0;
  int nodes = 0;
  std::vector<std::string> pools = {};  // names; one or none: ranks are told without
  std::vector<int> gpus_per_node = {};  // of each pool; empty: one node
};

struct Aftermath {
  std::vector<Happening> happenings;  // by time, the cause first
  std::optional<Seconds> detected;    // by the first timer that fires, or by the launcher
  std::optional<Seconds> ended;       // nobody waits any more
  bool by_watchdog = false;           // what detected is a c10d timer
  bool stop_is_noticed = false;       // the job ends because a rank stopped, before any timer
};

// seed: of the polls' phases.
Aftermath aftermath(Stall const& stall, WatchdogOptions const& watchdog, LauncherOptions const& launcher,
                    JobSize const& job, std::uint64_t seed);

// What would have ended it sooner, by the same rules with one thing changed.
struct Remedy {
  std::string what;  // "a timeout of 10 min (watchdog.timeout)"
  Seconds ended;
  Seconds saved;  // of every GPU of the job
};
// Largest saving first; only those that save ten seconds, or end what does not end.
std::vector<Remedy> remedies(Stall const& stall, WatchdogOptions const& watchdog,
                             LauncherOptions const& launcher, JobSize const& job, std::uint64_t seed);

}  // namespace rollcast
