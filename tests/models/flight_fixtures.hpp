// Flight recorder dumps of a small run, made entry by entry.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "models/flight_record.hpp"

namespace rollcast {

class FlightRun {
 public:
  explicit FlightRun(int ranks) : dumps_(static_cast<std::size_t>(ranks)) {
    for (int r = 0; r < ranks; ++r) {
      dumps_[static_cast<std::size_t>(r)].rank = r;
      dumps_[static_cast<std::size_t>(r)].source = "nccl_trace_rank_" + std::to_string(r);
    }
  }

  // Known to its members alone, as in a real dump; every rank numbers the groups that it belongs to.
  void group(std::string const& name, std::string const& desc, std::vector<int> const& ranks) {
    for (int const r : ranks) {
      FlightDump& d = of(r);
      ids_[{r, name}] = static_cast<int>(d.pg_config.size());
      d.pg_config[name] = {name, desc, ranks};
    }
  }

  // The next collective of `group` on `rank`; every call is a second later than the last.
  FlightEntry& enqueue(int rank, std::string const& group, std::string const& op,
                       FlightState state = FlightState::scheduled, std::int64_t numel = 1024) {
    FlightDump& d = of(rank);
    FlightEntry e;
    e.record_id = static_cast<std::int64_t>(d.entries.size());
    e.pg_id = ids_.at({rank, group});
    e.pg_name = group;
    e.pg_desc = d.pg_config.at(group).desc;
    e.collective_seq_id = ++seqs_[{rank, group}];
    e.op_id = e.record_id;
    e.profiling_name = "nccl:" + op;
    e.time_created_ns = 1'700'000'000'000'000'000 + 1'000'000'000 * ++clock_;
    e.timeout_ms = 600'000;
    e.input_sizes = e.output_sizes = {{numel}};
    e.input_dtypes = e.output_dtypes = {"Float"};
    e.state = state;
    e.retired = true;  // off the watchdog's list: completed, or timed out
    FlightStatus& s = d.pg_status[std::to_string(e.pg_id)];
    s.last_enqueued_collective = e.collective_seq_id;
    if (state == FlightState::completed) {
      s.last_completed_collective = e.collective_seq_id;
      e.time_discovered_completed_ns = e.time_created_ns + 1'000'000;
    }
    d.entries.push_back(std::move(e));
    return d.entries.back();
  }

  FlightDump& of(int rank) { return dumps_[static_cast<std::size_t>(rank)]; }
  std::vector<FlightDump> const& dumps() const { return dumps_; }
  std::vector<FlightDump> dumps_without(int rank) const {
    std::vector<FlightDump> out;
    for (FlightDump const& d : dumps_) {
      if (d.rank != rank) out.push_back(d);
    }
    return out;
  }

 private:
  std::vector<FlightDump> dumps_;
  std::map<std::pair<int, std::string>, int> ids_;
  std::map<std::pair<int, std::string>, std::int64_t> seqs_;
  std::int64_t clock_ = 0;
};

}  // namespace rollcast
