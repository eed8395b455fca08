// Curves over time of the HTML report, each of a bounded number of points that keep the extremes. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "reports/html_timeline.hpp"
#include "sim/event_log.hpp"

namespace rollcast {

// A counter of the engines of a pool in equal cells of the run's time. A counter holds from its time on, and
// is 0 before its first.
struct EngineCurve {
  int pool = 0;
  CounterKind kind = CounterKind::running;
  std::size_t engines = 0;   // rank classes that have it
  std::vector<double> mean;  // per cell: over its time and the engines
  std::vector<double> low;   // the least that one engine had at a moment of the cell
  std::vector<double> high;  // the most
};
// running, waiting and kv_blocks, in order of pool and kind; without those that no class has.
std::vector<EngineCurve> engine_curves(EventLog const& log, TimeRange range, std::size_t cells);

struct MemorySeries {
  Role role = Role::actor;
  MemoryCategory category = MemoryCategory::weights;
  std::vector<Bytes> bytes;  // at each of MemoryCurve::times
};
using MemoryPoints = std::vector<std::pair<Seconds, Bytes>>;

// The memory of a rank of one ledger over time: the lines of the ledger as phases begin, and what PyTorch's
// allocator held where it was followed.
struct MemoryCurve {
  std::size_t ledger = 0;            // index into EventLog::ledgers
  int rank_class = 0;                // whose counters these are
  std::vector<Seconds> times;        // ascending; values hold until the next
  std::vector<MemorySeries> series;  // largest first, without those that are 0 throughout
  MemoryPoints allocated;            // PyTorch, in use
  MemoryPoints reserved;             // held of the driver
  std::optional<OomRecord> oom;      // of GPU memory, of a rank with this ledger
};
// Those of the ledgers nearest to their capacity (one that runs out of memory first), at most `most`; of
// each at most `points` times and twice as many points.
std::vector<MemoryCurve> memory_curves(EventLog const& log, TimeRange range, std::size_t most,
                                       std::size_t points);

// How a pool's links are used: the share of its GPUs that have a transfer of this label under way, hidden
// behind other work or not, in equal cells of the run's time.
struct LinkSeries {
  std::string label;
  Stream stream = Stream::communication;  // communication, copy or storage
  double share_of_time = 0;               // mean over the range
  Seconds of_step;                        // of one GPU, mean over the completed steps
  std::vector<double> share;              // per cell
};
struct LinkUse {
  int pool = 0;
  std::vector<LinkSeries> series;  // largest first; what is beyond `most` is summed as "other"
};
std::vector<LinkUse> link_uses(EventLog const& log, TimeRange range, std::size_t cells, std::size_t most);

}  // namespace rollcast
