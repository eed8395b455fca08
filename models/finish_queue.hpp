// When decoding sequences will finish: a heap on the step, with the place of each sequence in it, so that one
// that stops decoding early leaves it at once. Of equal steps any may be first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rollcast {

class FinishQueue {
 public:
  struct Entry {
    std::int64_t step = 0;
    int sequence = -1;
  };

  // sequence is not in the queue.
  void push(std::int64_t step, int sequence) {
    auto const s = static_cast<std::size_t>(sequence);
    if (place_.size() <= s) place_.resize(s + 1, kNowhere);
    heap_.push_back({step, sequence});
    rise(heap_.size() - 1);
  }

  // The next one to finish; nullptr: nothing decodes.
  Entry const* next() const { return heap_.empty() ? nullptr : heap_.data(); }

  // Nothing happens if it is not in the queue.
  void remove(int sequence) {
    std::size_t const hole = place_[static_cast<std::size_t>(sequence)];
    if (hole == kNowhere) return;
    place_[static_cast<std::size_t>(sequence)] = kNowhere;
    Entry const last = heap_.back();
    heap_.pop_back();
    if (hole == heap_.size()) return;
    put(hole, last);
    rise(hole);
    sink(hole);
  }

 private:
  static constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

  void put(std::size_t place, Entry const& e) {
    heap_[place] = e;
    place_[static_cast<std::size_t>(e.sequence)] = place;
  }
  void rise(std::size_t place) {
    Entry const e = heap_[place];
    for (; place > 0 && e.step < heap_[(place - 1) / 2].step; place = (place - 1) / 2)
      put(place, heap_[(place - 1) / 2]);
    put(place, e);
  }
  void sink(std::size_t place) {
    Entry const e = heap_[place];
    for (std::size_t child = 2 * place + 1; child < heap_.size(); child = 2 * place + 1) {
      if (child + 1 < heap_.size() && heap_[child + 1].step < heap_[child].step) ++child;
      if (e.step <= heap_[child].step) break;
      put(place, heap_[child]);
      place = child;
    }
    put(place, e);
  }

  std::vector<Entry> heap_;
  std::vector<std::size_t> place_;  // of each sequence
};

}  // namespace rollcast
