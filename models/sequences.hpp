// The requests a rollout engine knows, and the order they stand in: running (in order of admission) or
// waiting.
#pragma once

#include <cstdint>
#include <vector>

#include "models/units.hpp"

namespace rollcast {

struct Sequence {
  enum class Place : std::uint8_t { nowhere, announced, waiting, prefill, decode };

  std::int64_t id = 0;
  std::int64_t admission = 0;  // of the latest admission: 1, 2, 3 ... over the engine's life
  // Of a decoding sequence: the step boundary at which its last token is there. Its `generated` and
  // `computed` follow from it and stand still below.
  std::int64_t finish_step = 0;
  int prompt = 0;
  int response = 0;
  int generated = 0;
  std::int64_t computed = 0;  // tokens in KV
  int group = -1;
  int previous = -1;
  int next = -1;
  Place place = Place::nowhere;
  Seconds first_token;
};

// A doubly linked list through the sequences' own previous and next, by position.
class SequenceList {
 public:
  int head() const { return head_; }
  int tail() const { return tail_; }
  int size() const { return size_; }

  void push_back(std::vector<Sequence>& all, int i) { link(all, i, tail_, -1); }
  void push_front(std::vector<Sequence>& all, int i) { link(all, i, -1, head_); }
  void remove(std::vector<Sequence>& all, int i) {
    int const before = all[static_cast<std::size_t>(i)].previous;
    int const after = all[static_cast<std::size_t>(i)].next;
    (before < 0 ? head_ : all[static_cast<std::size_t>(before)].next) = after;
    (after < 0 ? tail_ : all[static_cast<std::size_t>(after)].previous) = before;
    --size_;
  }

 private:
  void link(std::vector<Sequence>& all, int i, int before, int after) {
    all[static_cast<std::size_t>(i)].previous = before;
    all[static_cast<std::size_t>(i)].next = after;
    (before < 0 ? head_ : all[static_cast<std::size_t>(before)].next) = i;
    (after < 0 ? tail_ : all[static_cast<std::size_t>(after)].previous) = i;
    ++size_;
  }

  int head_ = -1;
  int tail_ = -1;
  int size_ = 0;
};

}  // namespace rollcast
