// When decoding sequences will finish: a heap on (step, admission). A sequence that stops decoding early is
// not looked for: its entry is stale, and is dropped when it comes up.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "models/sequences.hpp"

namespace rollcast {

class FinishQueue {
 public:
  struct Entry {
    std::int64_t step = 0;
    std::int64_t admission = 0;
    int sequence = -1;
  };

  void push(Sequence const& s, int position) {
    heap_.push_back({s.finish_step, s.admission, position});
    std::push_heap(heap_.begin(), heap_.end(), Later{});
  }

  // The next one to finish; nullptr: nothing decodes.
  Entry const* next(std::vector<Sequence> const& all) {
    while (!heap_.empty() && stale(all, heap_.front())) pop();
    return heap_.empty() ? nullptr : heap_.data();
  }

  void pop() {
    std::pop_heap(heap_.begin(), heap_.end(), Later{});
    heap_.pop_back();
  }

 private:
  struct Later {
    bool operator()(Entry const& a, Entry const& b) const {
      return a.step != b.step ? a.step > b.step : a.admission > b.admission;
    }
  };
  static bool stale(std::vector<Sequence> const& all, Entry const& e) {
    Sequence const& s = all[static_cast<std::size_t>(e.sequence)];
    return s.place != Sequence::Place::decode || s.admission != e.admission;
  }

  std::vector<Entry> heap_;
};

}  // namespace rollcast
