#include "reports/incident_dumps.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace rollcast {
namespace {

std::int64_t ns(Seconds t) { return static_cast<std::int64_t>(std::llround(t.value * 1e9)); }

std::string profiling_name(std::string const& operation) {
  static std::map<std::string, std::string> const names = {
      {"ALLGATHER", "nccl:_all_gather_base"}, {"REDUCE_SCATTER", "nccl:_reduce_scatter_base"},
      {"ALLREDUCE", "nccl:all_reduce"},       {"BROADCAST", "nccl:broadcast"},
      {"ALLTOALL", "nccl:all_to_all"},        {"RECV", "nccl:recv 0<-1"}};
  auto const at = names.find(operation);
  return at == names.end() ? "nccl:" + operation : at->second;
}

class Dumps {
 public:
  Dumps(Stall const& stall, int pool, bool timed_out) : stall_(stall), pool_(pool), timed_out_(timed_out) {
    for (WaitingRank const& w : stall.waiting) {
      if (w.pool != pool || group_of(w).timer != GroupTimer::c10d) continue;
      members_[group_of(w).name].insert(w.rank);
    }
    for (MissingRank const& m : stall.missing) {
      if (m.pool != pool) continue;
      for (auto& [name, ranks] : members_) ranks.insert(m.rank);
    }
  }

  std::vector<FlightDump> make() {
    std::vector<FlightDump> dumps;
    for (WaitingRank const& w : stall_.waiting) {
      if (w.pool != pool_ || group_of(w).timer != GroupTimer::c10d) continue;
      FlightDump d = of_rank(w.rank);
      for (auto const& [name, ranks] : members_) {
        if (ranks.contains(w.rank)) add(d, name, w.rank, name == group_of(w).name ? &w : nullptr);
      }
      dumps.push_back(std::move(d));
    }
    for (MissingRank const& m : stall_.missing) {
      if (m.pool != pool_ || m.stop == Stop::exited || members_.empty() || is_waiting(m.rank)) continue;
      FlightDump d = of_rank(m.rank);
      for (auto const& [name, ranks] : members_) add(d, name, m.rank, nullptr);
      dumps.push_back(std::move(d));
    }
    std::sort(dumps.begin(), dumps.end(),
              [](FlightDump const& a, FlightDump const& b) { return a.rank < b.rank; });
    return dumps;
  }

 private:
  StalledGroup const& group_of(WaitingRank const& w) const {
    return stall_.groups[static_cast<std::size_t>(w.group)];
  }
  bool is_waiting(int rank) const {
    return std::any_of(stall_.waiting.begin(), stall_.waiting.end(),
                       [&](WaitingRank const& w) { return w.pool == pool_ && w.rank == rank; });
  }
  std::int64_t sequence_of(std::string const& name) const {
    for (StalledGroup const& g : stall_.groups)
      if (g.name == name) return g.sequence.value_or(2);
    return 2;
  }

  FlightDump of_rank(int rank) const {
    FlightDump d;
    d.rank = rank;
    for (auto const& [name, ranks] : members_) {
      if (ranks.contains(rank)) d.pg_config[name] = {name, name, {ranks.begin(), ranks.end()}};
    }
    return d;
  }

  // The group's last collective that was done, and the one that the rank waits in.
  void add(FlightDump& d, std::string const& name, int rank, WaitingRank const* waits) const {
    auto const id = static_cast<std::int64_t>(d.pg_status.size());
    std::int64_t const sequence = sequence_of(name);
    FlightStatus& status = d.pg_status[std::to_string(id)];
    std::string operation;
    for (StalledGroup const& g : stall_.groups)
      if (g.name == name && operation.empty()) operation = g.operation;
    if (sequence > 1) {
      FlightEntry done = entry(d, id, name, operation, sequence - 1, stall_.at);
      done.state = FlightState::completed;
      done.retired = true;
      done.time_discovered_started_ns = done.time_discovered_completed_ns = ns(stall_.at);
      d.entries.push_back(std::move(done));
      status = {sequence - 1, sequence - 1, sequence - 1};
    }
    if (waits == nullptr || waits->rank != rank) return;
    FlightEntry waiting = entry(d, id, name, group_of(*waits).operation, sequence, waits->since);
    waiting.timeout_ms = ns(group_of(*waits).timeout.value_or(Seconds(0))) / 1'000'000;
    waiting.retired = timed_out_;
    d.entries.push_back(std::move(waiting));
    status.last_enqueued_collective = sequence;
  }

  static FlightEntry entry(FlightDump const& d, std::int64_t id, std::string const& group,
                           std::string const& operation, std::int64_t sequence, Seconds created) {
    FlightEntry e;
    e.record_id = static_cast<std::int64_t>(d.entries.size());
    e.pg_id = id;
    e.pg_name = e.pg_desc = group;
    e.collective_seq_id = e.op_id = sequence;
    e.profiling_name = profiling_name(operation);
    e.time_created_ns = ns(created);
    return e;
  }

  Stall const& stall_;
  int pool_;
  bool timed_out_;
  std::map<std::string, std::set<int>> members_;  // of the groups
};

}  // namespace

std::vector<FlightDump> incident_dumps(EventLog const& log) {
  if (!log.stall || log.stall->waiting.empty()) return {};
  int const pool = pool_of_cause(*log.stall);
  bool const timed_out = !log.stalls.empty() && log.stalls.front().detected.has_value();
  return Dumps(*log.stall, pool, timed_out).make();
}

}  // namespace rollcast
