#include "models/watchdog.hpp"

#include <cmath>
#include <stdexcept>

namespace rollcast {
namespace {

constexpr Seconds kStorePoll(1);  // TORCH_NCCL_COORD_CHECK_MILSEC
constexpr int kDumpWaits = 4;     // the watchdog sleeps so many dump waits

// The second of two looks with no beat between them.
Seconds second_look(Seconds beat, Seconds group_start, Seconds every) {
  double const first = std::ceil((beat - group_start) / every);
  return group_start + every * (first + 1);
}

}  // namespace

std::string_view name_of(ErrorHandling e) {
  switch (e) {
    case ErrorHandling::none:
      return "none";
    case ErrorHandling::tear_down:
      return "tear_down";
    case ErrorHandling::clean_up_only:
      return "clean_up_only";
    case ErrorHandling::skip_clean_up:
      return "skip_clean_up";
  }
  throw std::logic_error("no such ErrorHandling");
}

RankEnd end_of_waiting(WatchdogOptions const& o, Seconds enqueued, Seconds group_start, double u) {
  RankEnd end;
  if (o.error_handling == ErrorHandling::none) return end;
  Seconds const detected = enqueued + o.timeout + o.poll * u;
  end.detected = detected;
  if (o.dump_on_timeout) end.dumped = detected + kStorePoll;
  Seconds const slept = o.dump_on_timeout ? detected + o.dump_wait * kDumpWaits : detected;
  if (o.error_handling == ErrorHandling::skip_clean_up) {
    end.dies = slept;
    if (end.dumped) end.dumped = min(*end.dumped, slept);
    return end;
  }
  if (!o.abort_hangs) {
    end.aborted = slept;
    if (o.error_handling == ErrorHandling::tear_down) end.dies = slept;
    return end;
  }
  if (!o.monitoring) return end;
  end.by_monitor = true;
  if (o.dump_on_timeout) {
    end.dies = detected + kStorePoll + o.heartbeat;
  } else {
    end.monitor = second_look(detected, group_start, o.heartbeat);
    end.dies = end.monitor;
  }
  return end;
}

RankEnd end_of_told(WatchdogOptions const& o, Seconds first_detected) {
  RankEnd end;
  if (o.error_handling == ErrorHandling::none || !o.dump_on_timeout) return end;
  end.dumped = first_detected + kStorePoll;
  if (o.monitoring) end.dies = *end.dumped + o.heartbeat;
  return end;
}

}  // namespace rollcast
