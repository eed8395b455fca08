// Lines that follow from others: caches, buffers of the weight sync, what a checkpoint finds.
#include <fmt/format.h>

#include "models/checkpoint.hpp"
#include "models/ledger_lines.hpp"
#include "models/sync_gather.hpp"

namespace rollcast {

bool saves_here(Job const& job) { return job.checkpoint.every > 0 && runs_here(job, Role::actor); }

void add_refit_buffer(RankLedger& l, Job const& job, ProcessMemory const& process) {
  RefitRule const rule = refit_rule(job, process);
  Bytes const free = max(Bytes(0), l.capacity - total(l, Phase::weight_sync));
  std::string const formula = rule.told.value > 0 ? "framework.refit_buffer"
                                                  : fmt::format("{:g} x {} free; {}", rule.share,
                                                                format(free), process.refit_share_source);
  add_line(l.lines, {Role::actor, MemoryCategory::gather_buffers, std::string(kRefitBuffer), formula},
           refit_buffer(rule, free), {Phase::weight_sync});
}

void add_sync_gather(RankLedger& l, Job const& job) {
  FrameworkOptions const& f = job.framework;
  Bytes gathered = gathered_for_sync(job, l);
  if (!(gathered.value > 0) || !contains(step_phases(job), Phase::weight_sync)) return;
  bool const shards = f.sync_gather == SyncGather::shards;
  std::string formula = f.sync_gathered.value > 0 ? "framework.sync_gathered"
                        : shards                  ? "a copy of the rank's shards"
                                                  : "the model in the engine's type";
  if (f.sync_gather == SyncGather::first_rank) formula += ", on the first rank alone";
  if (gathers_before_wake(job)) {
    formula += ", less what wakes of the engine, which comes after it";
    for (LedgerLine const& line : l.lines) {
      if (!line.host && line.role == Role::rollout && contains(line.phases, Phase::weight_sync))
        gathered = gathered - line.bytes;
    }
  }
  std::size_t const before = l.lines.size();
  add_line(l.lines, {Role::actor, MemoryCategory::gather_buffers, "gathered weights", formula}, gathered,
           {Phase::weight_sync});
  for (std::size_t i = before; i < l.lines.size(); ++i) l.lines[i].in_pass = !shards;
}

void keep_for_checkpoint(std::vector<LedgerLine>& lines, Job const& job) {
  if (!saves_here(job)) return;
  Phase const last = step_phases(job).back();
  for (LedgerLine& line : lines) {
    if (!line.in_pass && contains(line.phases, last)) line.phases.push_back(Phase::checkpoint);
  }
}

// An asynchronous checkpoint leaves its copy to the writer: it is taken as there until the next one.
void add_checkpoint(RankLedger& l, Job const& job, int stage) {
  CheckpointOptions const& c = job.checkpoint;
  if (!saves_here(job)) return;
  keep_for_checkpoint(l.lines, job);
  bool const stays = c.mode == CheckpointMode::async;
  std::string formula = fmt::format("{:g} copies", c.copies);
  if (c.format == CheckpointFormat::gathered)
    formula += " of all ranks' state on the first rank, over the ranks of its node";
  if (stays) formula += ", until it is written";
  std::size_t const before = l.lines.size();
  add_line(l.lines, {Role::actor, MemoryCategory::weights, "serialized checkpoint", formula},
           checkpoint_host_bytes(job, stage),
           stays ? std::vector<Phase>{} : std::vector<Phase>{Phase::checkpoint});
  for (std::size_t i = before; i < l.lines.size(); ++i) {
    l.lines[i].host = true;
    l.lines[i].from_first_update = stays;
  }
}

void add_allocator_cache(RankLedger& l, Job const& job) {
  if (job.framework.empty_cache || !colocated(job) || !engine_sleeps(job)) return;
  auto const tensors = [&](Phase p) {
    Bytes sum;
    for (LedgerLine const& line : l.lines) {
      if (!line.host && line.role != Role::process && is_present(line, p)) sum += line.bytes;
    }
    return sum;
  };
  Bytes most;
  for (Phase p : step_phases(job)) most = max(most, tensors(p));
  for (Phase p : engine_weight_phases(job)) {
    std::size_t const before = l.lines.size();
    add_line(
        l.lines,
        {Role::process, MemoryCategory::allocator_cache, "cached blocks",
         fmt::format("peak {} less {} in use; the cache is not emptied", format(most), format(tensors(p)))},
        most - tensors(p), {p});
    if (l.lines.size() > before) l.lines.back().from_first_update = true;
  }
}

}  // namespace rollcast
