#include "sim/event_log.hpp"

#include <stdexcept>

namespace rollcast {
namespace {
[[noreturn]] void no_such_value(char const* type) { throw std::logic_error(std::string("no such ") + type); }
}  // namespace

std::string_view name_of(Stream s) {
  switch (s) {
    case Stream::compute:
      return "compute";
    case Stream::communication:
      return "communication";
    case Stream::copy:
      return "copy";
    case Stream::host:
      return "host";
    case Stream::storage:
      return "storage";
  }
  no_such_value("Stream");
}

std::string_view name_of(Activity a) {
  switch (a) {
    case Activity::compute:
      return "compute";
    case Activity::communication:
      return "communication";
    case Activity::copy:
      return "copy";
    case Activity::overhead:
      return "overhead";
    case Activity::pipeline_bubble:
      return "pipeline_bubble";
    case Activity::rollout_tail:
      return "rollout_tail";
    case Activity::collective_wait:
      return "collective_wait";
    case Activity::phase_wait:
      return "phase_wait";
    case Activity::driver:
      return "driver";
  }
  no_such_value("Activity");
}

std::string_view name_of(CounterKind k) {
  switch (k) {
    case CounterKind::running:
      return "running";
    case CounterKind::waiting:
      return "waiting";
    case CounterKind::kv_blocks:
      return "kv_blocks";
    case CounterKind::torch_allocated:
      return "torch_allocated";
    case CounterKind::torch_reserved:
      return "torch_reserved";
    case CounterKind::memory:
      return "memory";
  }
  no_such_value("CounterKind");
}

std::string_view name_of(StallKind k) {
  switch (k) {
    case StallKind::watchdog:
      return "watchdog";
    case StallKind::hang:
      return "hang";
    case StallKind::rpc_timeout:
      return "rpc_timeout";
    case StallKind::deadlock:
      return "deadlock";
  }
  no_such_value("StallKind");
}

std::string needs_text(OomRecord const& o) {
  std::string needs = o.allocation + " needs " + format(o.requested);
  if (o.figures && o.figures->allowed && o.figures->tried <= o.figures->free)
    needs += " beyond the " + torch_size(*o.figures->allowed) + " that its process may hold";
  else if (o.figures && o.requested <= o.free)
    needs += " in a segment of " + torch_size(o.figures->tried);
  return needs + ", " + format(o.free) + " is free";
}

std::string step_name(int step) { return step < 0 ? "the warm-up" : "step " + std::to_string(step + 1); }

}  // namespace rollcast
