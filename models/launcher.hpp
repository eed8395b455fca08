// Who notices that a process of the job has gone, and what happens to the others.
//
//   torchrun  the agent of the node polls its children (torch.distributed.elastic, monitor_interval 0.1 s),
//             and ends the others by SIGTERM; agents of other nodes miss three keep-alives of 5 s
//             (c10d rendezvous), or the batch system ends the job. A Python exception ends its process.
//   ray       the driver's ray.get raises: at once where a process has gone or an actor has raised; the
//             driver ends and Ray kills the job's actors. The actor that raised lives until then.
//   none      nobody reacts: a driver that catches the error, an actor that is kept alive.
#pragma once

#include <optional>
#include <string_view>

#include "models/units.hpp"

namespace rollcast {

enum class LauncherKind { torchrun, ray, none };
std::string_view name_of(LauncherKind k);

struct LauncherOptions {
  LauncherKind kind = LauncherKind::ray;
  Seconds notice = Seconds(0.1);      // from the failure to its being seen
  Seconds same_node = Seconds(1);     // from then to the end of the node's other processes; assumed
  Seconds other_nodes = Seconds(15);  // to the end of all others; torchrun: 3 x 5 s, ray: assumed
};

// How a process stops to take part.
enum class Stop {
  exited,  // the process has gone
  raised,  // a Python exception has ended its work
  hangs,   // it lives and does not come
};
std::string_view name_of(Stop s);

// Whether the process is gone by its own stop.
bool is_gone(LauncherKind k, Stop s);
// When the launcher sees a stop; nothing: never.
std::optional<Seconds> noticed(LauncherOptions const& o, Stop s, Seconds at);
// When all processes of the job are gone then.
Seconds all_gone(LauncherOptions const& o, Seconds noticed, int nodes);

}  // namespace rollcast
