#include "models/log_stalls.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace rollcast {
namespace {

struct GroupName {
  std::string name;
  std::string desc;
};

// What a rank tells of its group besides the time-outs: when several lines do, the first.
void add_signals(LogStall& stall, std::vector<IncidentFact> const& facts) {
  for (IncidentFact const& f : facts) {
    bool const same =
        f.kind == FactKind::dump_signal && f.rank >= 0 && !f.group.empty() && f.group == stall.first.group;
    if (!same) continue;
    if (f.last_enqueued != -2) stall.enqueued.try_emplace(f.rank, f.last_enqueued);
    if (f.last_completed != -2) stall.completed.try_emplace(f.rank, f.last_completed);
  }
}

}  // namespace

bool LogStall::waits(int rank) const {
  if (by_rank.contains(rank)) return true;
  auto const last = enqueued.find(rank);
  auto const done = completed.find(rank);
  return last != enqueued.end() && last->second >= first.seq &&
         (done == completed.end() || done->second < first.seq);
}

Seconds LogStall::begin() const {
  return first.after - ms(static_cast<double>(std::max<std::int64_t>(first.ran_ms, 0)));
}

std::vector<LogStall> log_stalls(std::vector<IncidentFact> const& facts) {
  std::map<std::pair<int, std::int64_t>, IncidentFact const*> status;  // by rank and number
  for (IncidentFact const& f : facts) {
    if (f.kind == FactKind::watchdog_status) status.try_emplace({f.rank, f.seq}, &f);
  }
  std::vector<IncidentFact> timeouts;
  std::map<std::pair<std::int64_t, std::string>, GroupName> groups;  // by number and operation
  for (IncidentFact const& f : facts) {
    if (f.kind != FactKind::watchdog_timeout) continue;
    IncidentFact t = f;
    if (auto const s = status.find({t.rank, t.seq}); s != status.end()) {
      if (t.group.empty()) t.group = s->second->group, t.group_desc = s->second->group_desc;
      t.last_enqueued = s->second->last_enqueued;
      t.last_completed = s->second->last_completed;
    }
    if (!t.group.empty()) groups.try_emplace({t.seq, t.op}, GroupName{t.group, t.group_desc});
    timeouts.push_back(std::move(t));
  }
  std::vector<LogStall> stalls;
  std::map<std::pair<std::string, std::int64_t>, std::size_t> places;  // by group and number
  for (IncidentFact& t : timeouts) {
    if (auto const g = groups.find({t.seq, t.op}); t.group.empty() && g != groups.end())
      t.group = g->second.name, t.group_desc = g->second.desc;
    auto const [place, is_new] = places.try_emplace({t.group, t.seq}, stalls.size());
    if (is_new) stalls.push_back({t, {}, {}, {}});
    LogStall& stall = stalls[place->second];
    if (t.last_enqueued != -2) stall.enqueued.try_emplace(t.rank, t.last_enqueued);
    if (t.last_completed != -2) stall.completed.try_emplace(t.rank, t.last_completed);
    stall.by_rank.try_emplace(t.rank, std::move(t));
  }
  std::stable_sort(stalls.begin(), stalls.end(),
                   [](LogStall const& a, LogStall const& b) { return a.begin() < b.begin(); });
  if (!stalls.empty()) add_signals(stalls.front(), facts);
  return stalls;
}

}  // namespace rollcast
