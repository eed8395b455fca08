// What the adapters of one engine cost it.
#pragma once

#include <cstdint>

#include "models/units.hpp"

namespace rollcast {

struct AdapterUse {
  std::int64_t loads = 0;          // into GPU memory
  std::int64_t storage_loads = 0;  // of these, from storage into the host first
  std::int64_t hits = 0;           // admissions that found their adapter there, or on its way
  std::int64_t evictions = 0;
  std::int64_t switches = 0;  // merged: an adapter out, another in
  std::int64_t peak_resident = 0;
  std::int64_t peak_pages = 0;  // unified: KV pages of adapters
  Seconds load_time;            // with a load under way
  Seconds exposed;              // of it, without a step under way
  Seconds switch_time;
  Seconds kernel_time;        // what steps took beyond the base model's
  double distinct_steps = 0;  // sum over steps of the distinct adapters
  std::int64_t steps = 0;     // of the engine
  Seconds busy;               // of the engine, inside steps; switches are part of them
  Bytes moved;                // into GPU memory, on all ranks
};

}  // namespace rollcast
