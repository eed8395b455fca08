// The memory ledger (models/ledger.hpp) without names, for layouts by the million.
//
// A layout is a trainer's options with a rollout engine's. What a rank holds in a phase is a sum of lines,
// and nearly all of them follow from one of the two alone. So the named ledger is asked once for each trainer
// and once for each engine, and a layout is the sum of two rows of phases, plus what needs both:
//
//   - KV pages, where the engine starts beside a trainer: its budget is a line in the bytes that it finds
//   held
//     (models/engine_memory.hpp), cut down to whole pages;
//   - a gathered model that is gone when the engine wakes: what is more than the engine's lines;
//   - NeMo-RL's refit buffer: a share of what is free in the sync.
//
// Generation by the trainer's own model (Hugging Face generate) depends on the trainer throughout: its rows
// are made for each pair. Equal to the named ledger on random layouts (a test).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/engine_limits.hpp"
#include "models/job.hpp"
#include "models/ledger.hpp"
#include "models/process_memory.hpp"
#include "models/sync_gather.hpp"

namespace rollcast {

inline constexpr std::size_t kPhases = 12;
using PhaseBytes = std::array<Bytes, kPhases>;  // by Phase

struct TableLayout {
  std::size_t trainer = 0;
  std::size_t engine = 0;
};

// Of the rank class that has least room.
struct LayoutPeak {
  Bytes bytes;
  Bytes headroom;  // negative: it does not fit
  Phase phase = Phase::generate;
  int pool = 0;
  bool engine_starts = true;
  Bytes host_headroom;  // of the node that has least, in a step and while models are loaded
  bool fits() const { return engine_starts && !(headroom.value < 0) && !(host_headroom.value < 0); }
};

class PeakTable {
 public:
  // trainers: jobs that differ in `train`, and in what `framework` moves to the host, but agree in everything
  // else. engines agree in max_model_len, the weights' type and whether they sleep, which the trainer's lines
  // depend on; std::logic_error where they do not, or where there are no trainers. Without a rollout engines
  // has one entry, which means nothing.
  PeakTable(std::vector<Job> const& trainers, std::vector<EngineOptions> const& engines,
            ProcessMemory const& process = process_memory());

  // Of the job trainers[layout.trainer] with rollout = engines[layout.engine]. Allocates nothing.
  LayoutPeak peak(TableLayout layout) const;
  Bytes peak_bytes(TableLayout layout) const { return peak(layout).bytes; }

  std::size_t trainers() const { return trainers_.size(); }
  std::size_t engines() const { return engine_count_; }

 private:
  struct RankRow {  // of a rank class of a trainer
    int pool = 0;
    PhaseBytes gpu{};
    std::uint32_t named = 0;  // phases that its lines name, as bits
    Bytes gathered;           // for a sync before the engine wakes
  };
  struct TrainerRow {
    std::uint32_t first = 0;  // of its rank classes in ranks_
    std::uint32_t last = 0;
    std::uint32_t host = 0;  // of its pools in host_
    Bytes held;              // when an engine starts beside it
  };
  struct HostRow {  // of a pool of a trainer: its fullest node, in each phase and while models are loaded
    PhaseBytes in_step{};
    Bytes at_load;
  };
  struct EngineRow {
    EngineLimits limits;
    PhaseBytes gpu{};  // without KV pages
    std::uint32_t named = 0;
    std::uint32_t kv_in = 0;     // phases in which its KV pages are there, as bits
    std::uint32_t kv_named = 0;  // phases that their line names
    Bytes named_in_sync;         // of lines that name the phase, without KV pages
    KvFigures alone;             // with nothing else on its GPU
    double free_lost = 0;        // for each byte that others hold
    double asked_lost = 0;
    double left_lost = 0;
    PhaseBytes host{};  // of a node
    Bytes host_at_load;
  };
  struct PoolFacts {
    Bytes capacity;
    Bytes host_limit;
    bool has_engines = false;
    RefitRule refit;
    bool refit_kept_for_checkpoint = false;
  };

  struct KvPart {
    bool starts = true;
    Bytes bytes;
    std::uint32_t in = 0;
    std::uint32_t named = 0;
  };
  KvPart kv_part(EngineRow const& engine, Bytes held) const;
  MemoryPeak rank_peak(RankRow const& rank, EngineRow const& engine, KvPart const& kv) const;
  Bytes host_headroom(TrainerRow const& trainer, EngineRow const& engine) const;
  void add_trainer(Job const& job, ProcessMemory const& process);
  void add_engine(Job const& trainer, EngineOptions const& engine, ProcessMemory const& process);
  EngineRow const& engine_of(TableLayout layout) const {
    return engines_[engine_of_each_trainer_ ? layout.trainer * engine_count_ + layout.engine : layout.engine];
  }

  std::vector<PoolFacts> pools_;
  std::vector<RankRow> ranks_;
  std::vector<TrainerRow> trainers_;
  std::vector<HostRow> host_;
  std::vector<EngineRow> engines_;
  std::size_t engine_count_ = 0;
  bool engine_of_each_trainer_ = false;
};

// Host memory of a node that the job may use, its view being of one pool: framework.host_memory_share of it,
// of one NUMA node where all ranks are bound to the first.
Bytes usable_host_memory(Job const& job);

}  // namespace rollcast
