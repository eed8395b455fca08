// The GPU memory of one trainer rank over a run: PyTorch's allocator of its process, what the process holds
// outside it, and what an engine on the same GPU holds.
//
// What a phase holds follows from the lines of the ledger: those of models in PyTorch's allocator, as one
// block for each of `pieces` parts; context and communicators outside it; an engine's as another process. The
// lines that come and go within a phase (LedgerLine::in_pass) are allocated by its program instead. An engine
// that wakes asks the driver, and gets nothing of what the allocator keeps.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "models/allocator.hpp"
#include "models/ledger.hpp"
#include "models/memory_snapshot.hpp"
#include "models/outcome.hpp"
#include "models/phase_program.hpp"

namespace rollcast {

// Why a phase did not go on.
struct MemoryFailure {
  OomKind kind = OomKind::torch;
  std::string allocation;
  std::pair<Role, MemoryCategory> line;  // of what the driver had no room for
  Bytes requested;
  Bytes free;           // of the device
  OutOfMemory figures;  // of PyTorch's message; of the moment where the driver failed
  std::optional<int> micro_batch;
  double done = 0;  // of the work of the program, before it
};

// The most that was held during a micro-batch (or a phase without any).
struct MemoryMark {
  double done = 0;  // of the program, when it ended
  Bytes allocated;
  Bytes reserved;
};

class RankMemory {
 public:
  RankMemory(Bytes capacity, AllocatorConfig const& config, int pieces);

  // From now on what the allocator does is kept, by name and time, for snapshot().
  void record_history() { allocator_.record_history(); }
  void set_time(Seconds now) { now_ = now; }
  MemorySnapshot snapshot(int device) const { return snapshot_of(allocator_, names_, device); }

  // From one phase to the next, in the order in which they are called. `updated`: roles whose first update is
  // done; `static_engine`: the rollout's lines are the trainer's own (generate() of Transformers).
  void leave(RankLedger const& l, Phase phase, bool static_engine);
  std::optional<MemoryFailure> let_others(RankLedger const& l, Phase phase, bool static_engine,
                                          bool empty_cache);
  // Whether an engine holds more in the phase than in the one before.
  bool engine_grows(RankLedger const& l, Phase phase, bool static_engine) const;
  std::optional<MemoryFailure> hold(RankLedger const& l, Phase phase, std::set<Role> const& updated,
                                    bool static_engine);
  // `role`: whose states make_states makes.
  std::optional<MemoryFailure> run(PhaseProgram const& program, RankLedger const& l, Phase phase, Role role);

  void empty_cache() { allocator_.empty_cache(); }
  // Since the last call.
  std::vector<MemoryMark> take_marks();
  AllocatorStats const& stats() const { return allocator_.stats(); }

 private:
  using Key = std::tuple<Role, MemoryCategory, std::string>;
  struct Held {
    Bytes bytes;
    std::vector<int> blocks;
  };

  int name_index(std::string const& name);
  Allocation allocate(int name, std::int64_t bytes, std::int64_t stream = 0);
  std::optional<MemoryFailure> take(LedgerLine const& line);
  bool set_others(Bytes process, Bytes engine);
  MemoryFailure failure(Allocation const& a, std::string allocation) const;
  OutOfMemory figures_now() const;

  CachingAllocator allocator_;
  int pieces_;
  Bytes engine_;
  Seconds now_;
  std::vector<std::string> names_;
  std::map<Key, Held> held_;
  std::vector<MemoryMark> marks_;
};

}  // namespace rollcast
