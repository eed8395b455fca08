#include "sim/recorder.hpp"

namespace rollcast {

void Recorder::span(int rank_class, Stream stream, Activity activity, std::string_view label, Seconds start,
                    Seconds end, Flops flops, Bytes hbm) {
  if (end <= start) return;
  log_.spans.push_back(
      {rank_class, step_, stream, phase_, activity, label_index(label), start, end, flops, hbm});
}

void Recorder::window(int pool, Seconds start, Seconds end) {
  log_.phases.push_back({pool, step_, phase_, start, end});
}

int Recorder::label_index(std::string_view label) {
  if (auto const at = labels_.find(label); at != labels_.end()) return at->second;
  int const index = static_cast<int>(log_.labels.size());
  log_.labels.emplace_back(label);
  labels_.emplace(label, index);
  return index;
}

}  // namespace rollcast
