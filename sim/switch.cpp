// Colocated switching and weight sync as spans: host copies, fixed parts, gather and copy.
#include <vector>

#include "models/switching.hpp"
#include "models/weight_sync.hpp"
#include "sim/run_state.hpp"

namespace rollcast {

void copy_to_and_from_host(RunState& run, std::vector<std::vector<HostCopy>> const& of_class) {
  Seconds const start = run.engine.now();
  Seconds last = start;
  std::vector<Seconds> ends;
  for (int c = 0; c < run.classes(); ++c) {
    Seconds at = start;
    for (HostCopy const& copy : of_class[static_cast<std::size_t>(c)]) {
      Seconds const end = at + shared_copy_time(run.profile, run.job.cluster.node, copy);
      char const* direction = copy.direction == Direction::host_to_device ? " from host" : " to host";
      run.recorder.span(c, Stream::copy, Activity::copy, copy.what + direction, at, end);
      at = end;
    }
    ends.push_back(at);
    last = max(last, at);
  }
  for (int c = 0; c < run.classes(); ++c) {
    run.recorder.span(c, Stream::compute, Activity::phase_wait, "waits for other ranks' copies",
                      ends[static_cast<std::size_t>(c)], last);
  }
  run.engine.delay(last - start);
}

void synchronise_weights(RunState& run) {
  Seconds const start = run.engine.now();
  WeightSync const sync = ipc_weight_sync(run.profile, run.collective_prices, run.job);
  Seconds const gathered = start + sync.gather;
  Seconds const copied = gathered + sync.copy;
  Seconds const loaded = copied + sync.per_tensor;
  for (int c = 0; c < run.classes(); ++c) {
    run.recorder.span(c, Stream::communication, Activity::communication, "gather weights", start, gathered);
    run.recorder.span(c, Stream::compute, Activity::compute, "write and read shared buffers", gathered,
                      copied, {}, sync.weights * 2.0);
    run.recorder.span(c, Stream::host, Activity::overhead, "handles and loading of each tensor", copied,
                      loaded);
  }
  run.engine.delay(loaded - start);
}

}  // namespace rollcast
