// Appends to an EventLog: labels as indices, spans without zero length, phase windows.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "sim/event_log.hpp"

namespace rollcast {

class Recorder {
 public:
  explicit Recorder(EventLog& log) : log_(log) {}

  // The step and phase of the spans that follow.
  void enter(int step, Phase phase) {
    step_ = step;
    phase_ = phase;
  }

  // Nothing is written when end <= start.
  void span(int rank_class, Stream stream, Activity activity, std::string_view label, Seconds start,
            Seconds end, Flops flops = {}, Bytes hbm = {});
  void window(int pool, Seconds start, Seconds end);
  void counter(Counter const& c) { log_.counters.push_back(c); }
  void handover(Handover const& h) { log_.handovers.push_back(h); }

 private:
  int label_index(std::string_view label);

  EventLog& log_;
  std::map<std::string, int, std::less<>> labels_;
  int step_ = 0;
  Phase phase_ = Phase::generate;
};

}  // namespace rollcast
