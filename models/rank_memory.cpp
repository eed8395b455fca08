#include "models/rank_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace rollcast {
namespace {

constexpr int kEngine = 1;  // stands for the engine's process where a message names it

std::int64_t whole(Bytes b) { return static_cast<std::int64_t>(std::llround(b.value)); }

// What comes and goes within a phase is nobody's in between.
bool of_engine(LedgerLine const& line, bool static_engine) {
  return line.role == Role::rollout && !static_engine && !line.in_pass;
}

bool in_allocator(LedgerLine const& line, bool static_engine) {
  return !line.host && !line.in_pass && line.role != Role::process && !of_engine(line, static_engine) &&
         line.category != MemoryCategory::allocator_cache;
}

std::string text_of(LedgerLine const& line) {
  return fmt::format("{} {}: {}", name_of(line.role), name_of(line.category), line.name);
}

}  // namespace

RankMemory::RankMemory(Bytes capacity, AllocatorConfig const& config, int pieces)
    : allocator_(config, whole(capacity)), pieces_(std::max(1, pieces)) {}

void RankMemory::leave(RankLedger const& l, Phase phase, bool static_engine) {
  for (auto held = held_.begin(); held != held_.end();) {
    bool const stays = std::any_of(l.lines.begin(), l.lines.end(), [&](LedgerLine const& line) {
      return in_allocator(line, static_engine) && is_present(line, phase) &&
             Key{line.role, line.category, line.name} == held->first &&
             whole(line.bytes) == whole(held->second.bytes);
    });
    if (!stays) {
      for (int block : held->second.blocks) allocator_.free(block);
    }
    held = stays ? std::next(held) : held_.erase(held);
  }
}

std::optional<MemoryFailure> RankMemory::let_others(RankLedger const& l, Phase phase, bool static_engine,
                                                    bool empty_cache) {
  std::vector<LedgerLine const*> lines;
  Bytes engine, process;
  for (LedgerLine const& line : l.lines) {
    if (line.host || !is_present(line, phase) || line.category == MemoryCategory::allocator_cache) continue;
    if (line.role == Role::process) process += line.bytes;
    if (of_engine(line, static_engine)) engine += line.bytes;
    if (line.role == Role::process || of_engine(line, static_engine)) lines.push_back(&line);
  }
  if (empty_cache && engine > engine_) allocator_.empty_cache();
  engine_ = engine;
  if (set_others(process, engine)) return std::nullopt;
  // Line by line up to the one that finds no room; what was there before comes first.
  std::stable_partition(lines.begin(), lines.end(),
                        [](LedgerLine const* line) { return line->phases.empty(); });
  engine = process = Bytes(0);
  for (LedgerLine const* line : lines) {
    Bytes& sum = line->role == Role::process ? process : engine;
    sum += line->bytes;
    if (set_others(process, engine)) continue;
    MemoryFailure f;
    f.kind = OomKind::driver;
    f.allocation = text_of(*line);
    f.line = {line->role, line->category};
    f.requested = line->bytes;
    f.free = bytes(static_cast<double>(allocator_.free_bytes()));
    f.figures = figures_now();
    return f;
  }
  return std::nullopt;
}

bool RankMemory::engine_grows(RankLedger const& l, Phase phase, bool static_engine) const {
  Bytes engine;
  for (LedgerLine const& line : l.lines) {
    if (!line.host && of_engine(line, static_engine) && is_present(line, phase)) engine += line.bytes;
  }
  return engine > engine_;
}

bool RankMemory::set_others(Bytes process, Bytes engine) {
  DeviceUse use;
  use.non_torch = whole(process);
  if (engine.value > 0) use.other_processes = {{kEngine, whole(engine)}};
  return allocator_.set_device_use(use);
}

int RankMemory::name_index(std::string const& name) {
  auto const found = std::find(names_.begin(), names_.end(), name);
  auto const index = static_cast<int>(found - names_.begin());
  if (found == names_.end()) names_.push_back(name);
  return index;
}

Allocation RankMemory::allocate(int name, std::int64_t bytes, std::int64_t stream) {
  allocator_.set_context(static_cast<std::int64_t>(now_.value * 1e6), name);
  return allocator_.allocate(bytes, stream);
}

std::optional<MemoryFailure> RankMemory::take(LedgerLine const& line) {
  Key const key{line.role, line.category, line.name};
  if (held_.contains(key)) return std::nullopt;
  Held& held = held_[key];
  held.bytes = line.bytes;
  int const name = name_index(text_of(line));
  std::int64_t left = whole(line.bytes);
  std::int64_t const each = std::max<std::int64_t>(1, left / pieces_);
  while (left > 0) {
    std::int64_t const bytes = left < 2 * each ? left : each;
    Allocation const a = allocate(name, bytes);
    if (a.out_of_memory) return failure(a, text_of(line));
    held.blocks.push_back(a.block);
    left -= bytes;
  }
  return std::nullopt;
}

std::optional<MemoryFailure> RankMemory::hold(RankLedger const& l, Phase phase, std::set<Role> const& updated,
                                              bool static_engine) {
  for (LedgerLine const& line : l.lines) {
    if (!in_allocator(line, static_engine) || !is_present(line, phase)) continue;
    if (line.from_first_update && !updated.contains(line.role)) continue;
    if (auto f = take(line)) return f;
  }
  return std::nullopt;
}

std::optional<MemoryFailure> RankMemory::run(PhaseProgram const& program, RankLedger const& l, Phase phase,
                                             Role role) {
  std::vector<int> names;
  for (std::string const& name : program.names) names.push_back(name_index(name));
  std::vector<int> blocks(static_cast<std::size_t>(program.blocks), kNoBlock);
  double const all = std::max(program.work, 1e-9);
  MemoryMark mark;
  int micro_batch = 0;
  auto const fail = [&](MemoryFailure f, ProgramEvent const& e) {
    f.micro_batch = e.micro_batch;
    f.done = e.work / all;
    mark.done = f.done;
    marks_.push_back(mark);
    return f;
  };
  auto const note = [&] {
    mark.allocated = max(mark.allocated, bytes(static_cast<double>(allocator_.stats().allocated)));
    mark.reserved = max(mark.reserved, bytes(static_cast<double>(allocator_.stats().reserved)));
  };
  for (ProgramEvent const& e : program.events) {
    if (e.micro_batch != micro_batch) {
      mark.done = e.work / all;
      marks_.push_back(mark);
      mark = {};
      micro_batch = e.micro_batch;
    }
    auto const index = static_cast<std::size_t>(e.block);
    switch (e.kind) {
      case ProgramEvent::Kind::allocate: {
        Allocation const a = allocate(names[static_cast<std::size_t>(e.name)], e.bytes, e.stream);
        if (a.out_of_memory) return fail(failure(a, program.names[static_cast<std::size_t>(e.name)]), e);
        blocks[index] = a.block;
        note();
        break;
      }
      case ProgramEvent::Kind::free:
        allocator_.free(blocks[index]);
        break;
      case ProgramEvent::Kind::make_states:
        for (LedgerLine const& line : l.lines) {
          if (!line.from_first_update || line.role != role || !in_allocator(line, false) ||
              !is_present(line, phase))
            continue;
          if (auto f = take(line)) return fail(*f, e);
        }
        note();
        break;
    }
  }
  mark.done = 1;
  note();
  marks_.push_back(mark);
  return std::nullopt;
}

std::vector<MemoryMark> RankMemory::take_marks() { return std::exchange(marks_, {}); }

MemoryFailure RankMemory::failure(Allocation const& a, std::string allocation) const {
  MemoryFailure f;
  f.allocation = std::move(allocation);
  f.figures = *a.out_of_memory;
  f.requested = bytes(static_cast<double>(f.figures.requested));
  f.free = bytes(static_cast<double>(f.figures.free));
  return f;
}

OutOfMemory RankMemory::figures_now() const {
  AllocatorStats const& s = allocator_.stats();
  OutOfMemory o;
  o.total = allocator_.total();
  o.free = allocator_.free_bytes();
  o.other_processes = allocator_.device_use().other_processes;
  o.non_torch = allocator_.device_use().non_torch;
  o.allocated = s.allocated;
  o.reserved_unallocated = s.reserved - s.allocated;
  o.process = s.reserved + o.non_torch;
  return o;
}

}  // namespace rollcast
