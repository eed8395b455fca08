#include "models/dump_waits.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "models/blame.hpp"
#include "models/rank_text.hpp"

namespace rollcast {
namespace {

struct Seen {
  FlightEntry const* entry = nullptr;
  HeldKey key;
  FlightState state = FlightState::scheduled;
};

std::string_view op_of(FlightEntry const& e) {
  std::string_view const name = e.profiling_name;
  std::size_t const colon = name.find(':');
  return colon == std::string_view::npos ? name : name.substr(colon + 1);
}

std::optional<int> number(std::string_view text) {
  int v = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return v;
}

// Global ranks of "send 0->1" and "recv 1<-0"; nothing for other names, "coalesced" among them.
std::optional<std::pair<int, int>> ends_of(std::string_view op, std::vector<int> const& ranks) {
  bool const sends = op.starts_with("send ");
  if (!sends && !op.starts_with("recv ")) return std::nullopt;
  std::string_view const pair = op.substr(5);
  std::size_t const arrow = pair.find(sends ? "->" : "<-");
  if (arrow == std::string_view::npos) return std::nullopt;
  auto const own = number(pair.substr(0, arrow));
  auto const peer = number(pair.substr(arrow + 2));
  auto const size = static_cast<int>(ranks.size());
  if (!own || !peer || *own < 0 || *peer < 0 || *own >= size || *peer >= size) return std::nullopt;
  int const a = ranks[static_cast<std::size_t>(*own)];
  int const b = ranks[static_cast<std::size_t>(*peer)];
  return sends ? std::pair(a, b) : std::pair(b, a);
}

// What has to be equal on all ranks. Sizes of a completed collective evidently were.
std::string signature(FlightEntry const& e, bool with_sizes) {
  std::string const op(op_of(e));
  if (!with_sizes || op.starts_with("all_to_all") || op.starts_with("alltoall")) return op;
  std::string out = op;
  if (!op.starts_with("scatter")) out += fmt::format(" {} {}", e.input_sizes, fmt::join(e.input_dtypes, ","));
  if (!op.starts_with("gather"))
    out += fmt::format(" -> {} {}", e.output_sizes, fmt::join(e.output_dtypes, ","));
  return out;
}

class Waits {
 public:
  explicit Waits(std::vector<FlightDump> const& dumps) {
    for (FlightDump const& d : dumps) out_.dumps[d.rank] = &d;
    find_groups();
    for (auto const& [rank, d] : out_.dumps) read(rank, *d);
    for (auto const& [rank, key] : out_.held_at) out_.held.try_emplace(key, collective(key));
    earlier_mismatches();
  }
  DumpWaits take() { return std::move(out_); }

 private:
  using GroupKey = std::pair<std::string, std::vector<int>>;

  int place(std::string const& name, std::string const& desc, std::vector<int> ranks) {
    std::sort(ranks.begin(), ranks.end());
    auto const [at, is_new] = places_.try_emplace({name, ranks}, static_cast<int>(out_.groups.size()));
    if (is_new) out_.groups.push_back({name, desc, ranks});
    return at->second;
  }

  // Those that pg_config names, and for entries of another name the ranks that have such entries.
  void find_groups() {
    std::map<std::string, std::pair<std::string, std::vector<int>>> unnamed;
    for (auto const& [rank, d] : out_.dumps) {
      for (auto const& [name, g] : d->pg_config) place(name, g.desc, g.ranks);
      for (FlightEntry const& e : d->entries) {
        if (d->pg_config.contains(e.pg_name)) continue;
        auto& [desc, ranks] = unnamed[e.pg_name];
        desc = e.pg_desc;
        if (ranks.empty() || ranks.back() != rank) ranks.push_back(rank);
      }
    }
    for (auto const& [name, g] : unnamed) unnamed_[name] = place(name, g.first, g.second);
  }

  int group_of(FlightDump const& d, std::string const& name) {
    auto const known = d.pg_config.find(name);
    return known == d.pg_config.end() ? unnamed_.at(name)
                                      : place(name, known->second.desc, known->second.ranks);
  }

  void read(int rank, FlightDump const& d) {
    // An operation inside a coalesced group has no events of its own: its state is that of the group.
    std::map<std::tuple<std::string, std::int64_t, std::int64_t>, FlightState> coalesced;
    for (FlightEntry const& e : d.entries) {
      latest_ = std::max({latest_, e.time_created_ns, e.time_discovered_started_ns.value_or(0),
                          e.time_discovered_completed_ns.value_or(0)});
      if (op_of(e) == "coalesced") coalesced[{e.pg_name, e.collective_seq_id, e.p2p_seq_id}] = e.state;
    }
    FlightEntry const* oldest = nullptr;
    for (FlightEntry const& e : d.entries) {
      Seen seen{&e, {group_of(d, e.pg_name), e.collective_seq_id, -1, -1}, e.state};
      if (auto const whole = coalesced.find({e.pg_name, e.collective_seq_id, e.p2p_seq_id});
          whole != coalesced.end())
        seen.state = whole->second;
      if (e.is_p2p) {
        auto const ends = ends_of(op_of(e), out_.groups[static_cast<std::size_t>(seen.key.group)].ranks);
        if (!ends || seen.state == FlightState::completed) continue;
        seen.key = {seen.key.group, -1, ends->first, ends->second};
      }
      seen_[seen.key].try_emplace(rank, seen);
      if (seen.state == FlightState::completed) continue;
      if (oldest == nullptr || e.record_id < oldest->record_id) {
        oldest = &e;
        out_.held_at[rank] = seen.key;
      }
    }
  }

  HeldCollective collective(HeldKey const& key) const {
    HeldCollective c;
    c.key = key;
    bool const p2p = key.seq < 0 && key.source >= 0;
    FlightGroup const& group = out_.groups[static_cast<std::size_t>(key.group)];
    auto const& seen = seen_.at(key);
    bool any_started = false;
    std::vector<int> scheduled;
    for (int const rank : p2p ? std::vector<int>{key.source, key.destination} : group.ranks) {
      auto const dump = out_.dumps.find(rank);
      auto const at = seen.find(rank);
      if (dump == out_.dumps.end()) {
        c.undumped.push_back(rank);
      } else if (at != seen.end()) {
        c.entries[rank] = at->second.entry;
        any_started = any_started || at->second.state == FlightState::started;
        if (at->second.state == FlightState::completed) continue;
        c.waiting.push_back(rank);
        if (at->second.state == FlightState::scheduled) scheduled.push_back(rank);
      } else {
        GroupProgress const progress = progress_of(*dump->second, group);
        if (p2p || (progress.enqueued != -2 && progress.enqueued < key.seq)) c.absent.push_back(rank);
        if (!p2p && progress.enqueued >= key.seq && progress.completed < key.seq) c.waiting.push_back(rank);
      }
    }
    for (int const rank : scheduled) {
      bool const elsewhere = !(out_.held_at.at(rank) == key);
      if (elsewhere) c.behind.push_back(rank);
      if (!elsewhere && any_started) c.unstarted.push_back(rank);
    }
    compare(c);
    age(c);
    return c;
  }

  void compare(HeldCollective& c) const {
    bool const p2p = c.key.source >= 0;
    std::map<std::string, std::vector<int>> alike;
    for (auto const& [rank, entry] : c.entries)
      alike[p2p ? "" : signature(*entry, !c.waiting.empty())].push_back(rank);
    auto const most = std::max_element(alike.begin(), alike.end(), [](auto const& a, auto const& b) {
      return a.second.size() < b.second.size();
    });
    if (most == alike.end()) return;
    c.op = op_of(*c.entries.at(most->second.front()));
    if (alike.size() == 1) return;
    auto const as_many = std::count_if(alike.begin(), alike.end(),
                                       [&](auto const& a) { return a.second.size() == most->second.size(); });
    for (auto const& [text, ranks] : alike) {
      if (as_many > 1 || text != most->first)
        c.differing.insert(c.differing.end(), ranks.begin(), ranks.end());
      c.difference += fmt::format("{}{}: {}", c.difference.empty() ? "" : "; ", named_ranks(ranks), text);
    }
    std::sort(c.differing.begin(), c.differing.end());
  }

  void age(HeldCollective& c) const {
    for (int const rank : c.waiting) {
      auto const at = c.entries.find(rank);
      if (at == c.entries.end()) continue;
      FlightEntry const& e = *at->second;
      bool const old = e.timeout_ms > 0 && (latest_ - e.time_created_ns) / 1'000'000 >= e.timeout_ms;
      c.timed_out = c.timed_out || e.retired || old;
      if (c.first_created_ns == 0 || e.time_created_ns < c.first_created_ns)
        c.first_created_ns = e.time_created_ns;
    }
  }

  // A desync may pass unnoticed for a while: the first collective of a group, up to where it is held, whose
  // operation differs.
  void earlier_mismatches() {
    std::map<int, std::int64_t> until;
    for (auto const& [key, c] : out_.held) {
      if (key.source < 0) until[key.group] = std::max(until[key.group], key.seq);
    }
    for (auto const& [key, seen] : seen_) {
      auto const end = until.find(key.group);
      if (key.source >= 0 || end == until.end() || key.seq >= end->second || out_.held.contains(key))
        continue;
      std::string_view const first = op_of(*seen.begin()->second.entry);
      bool const differs = std::any_of(seen.begin(), seen.end(),
                                       [&](auto const& s) { return op_of(*s.second.entry) != first; });
      if (differs) out_.held.emplace(key, collective(key));
    }
  }

  DumpWaits out_;
  std::map<GroupKey, int> places_;
  std::map<std::string, int> unnamed_;
  std::map<HeldKey, std::map<int, Seen>> seen_;
  std::int64_t latest_ = 0;
};

}  // namespace

GroupProgress progress_of(FlightDump const& dump, FlightGroup const& group) {
  GroupProgress p;
  bool counts_p2p = false;
  std::string id;
  for (FlightEntry const& e : dump.entries) {
    if (e.pg_name != group.name) continue;
    id = std::to_string(e.pg_id);
    counts_p2p = counts_p2p || e.is_p2p;
    if (e.is_p2p) continue;
    p.enqueued = std::max(p.enqueued, e.collective_seq_id);
    if (e.state == FlightState::completed) p.completed = std::max(p.completed, e.collective_seq_id);
  }
  // Without an entry the number of the group is known where there is one group, and of the default group.
  if (id.empty() && dump.pg_config.size() == 1 && dump.pg_status.size() == 1)
    id = dump.pg_status.begin()->first;
  if (id.empty() && group.name == "0") id = "0";
  auto const status = dump.pg_status.find(id);
  if (status != dump.pg_status.end() && !counts_p2p) {
    p.enqueued = std::max(p.enqueued, status->second.last_enqueued_collective);
    p.completed = std::max(p.completed, status->second.last_completed_collective);
  } else if (p.enqueued < 0 && !dump.entries.empty() && dump.entries.front().record_id > 0) {
    return {-2, -2};
  }
  return p;
}

DumpWaits dump_waits(std::vector<FlightDump> const& dumps) { return Waits(dumps).take(); }

}  // namespace rollcast
