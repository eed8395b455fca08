// Whether an engine starts, and how many KV pages it has, as arithmetic on the sums of its budget (why in
// words: models/engine_start.hpp).
#pragma once

#include <cstdint>

#include "models/job.hpp"

namespace rollcast {

// Of an engine's options and the job around it; nothing of what its GPU holds.
struct EngineLimits {
  bool paged = true;         // false: preallocated, or without a KV cache of its own
  bool starts = false;       // always: an engine without pages of its own (Hugging Face generate)
  bool checks_free = false;  // it asks for a share of the card and stops where less is free
  Bytes page;                // on one rank
  int block_size = 0;
  int max_num_seqs = 0;
  std::int64_t longest = 0;        // tokens that one sequence may have
  int slots_needed = 0;            // for adapters, where that is more than it has
  std::int64_t adapter_pages = 0;  // of the largest adapter that lies in KV pages
};
EngineLimits engine_limits(Job const& job);

// The sums of KvBudget.
struct KvFigures {
  Bytes free_at_start;
  Bytes asked;
  Bytes left;
};

// Pages of one engine; 0 or less: none.
std::int64_t kv_pages_of(EngineLimits const& l, Bytes left);

enum class StartProblem {
  none,
  less_is_free,
  no_page,
  short_of_one_sequence,
  too_few_slots,
  no_room_for_adapter  // in KV pages beside one sequence
};
StartProblem start_problem(EngineLimits const& l, KvFigures const& f);

}  // namespace rollcast
