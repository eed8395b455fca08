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

  void counter(Counter const& c) { log_.counters.push_back(c); }
  void handover(Handover const& h) { log_.handovers.push_back(h); }
  // Nothing is written when end <= start.
  void span(Span const& s, std::string_view label);
  void window(PhaseWindow const& w) { log_.phases.push_back(w); }

 private:
  int label_index(std::string_view label);

  EventLog& log_;
  std::map<std::string, int, std::less<>> labels_;
};

// Spans and windows of one phase of one step.
struct PhaseRecorder {
  Recorder& recorder;
  int step = 0;
  Phase phase = Phase::generate;

  void span(int rank_class, Stream stream, Activity activity, std::string_view label, Seconds start,
            Seconds end, Flops flops = {}, Bytes hbm = {}) const {
    recorder.span({rank_class, step, stream, phase, activity, 0, start, end, flops, hbm}, label);
  }
  void window(int pool, Seconds start, Seconds end) const {
    recorder.window({pool, step, phase, start, end});
  }
  void counter(Counter const& c) const { recorder.counter(c); }
  void handover(Handover const& h) const { recorder.handover(h); }
};

}  // namespace rollcast
