#include "sim/recorder.hpp"

namespace rollcast {

void Recorder::span(Span const& s, std::string_view label) {
  if (s.end <= s.start) return;
  log_.spans.push_back(s);
  log_.spans.back().label = label_index(label);
}

int Recorder::label_index(std::string_view label) {
  if (auto const at = labels_.find(label); at != labels_.end()) return at->second;
  int const index = static_cast<int>(log_.labels.size());
  log_.labels.emplace_back(label);
  labels_.emplace(label, index);
  return index;
}

}  // namespace rollcast
