#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "models/blame.hpp"
#include "models/dump_waits.hpp"
#include "models/rank_text.hpp"

namespace rollcast {
namespace {

// Where following the waiting ranks ends.
struct End {
  BlameKind kind = BlameKind::all_waiting;
  HeldKey at;
  std::vector<int> culprits;
  std::vector<HeldKey> path;  // from where the search began to `at`; of a cycle: once round
};

class Chains {
 public:
  explicit Chains(DumpWaits const& waits) : waits_(waits) {
    for (auto const& [rank, key] : waits_.held_at) starts_.insert(key);
    for (HeldKey const& key : starts_) follow(key);
  }

  // The end to tell, or nothing where no rank is held.
  std::optional<End> first() const {
    std::optional<End> best;
    for (End const& e : ends_) {
      if (!best || before(e, *best)) best = e;
    }
    return best;
  }
  std::size_t ends() const { return ends_.size(); }

 private:
  // A rank that can be named comes before a cycle, that before a collective with everybody in it; then the
  // time.
  bool before(End const& a, End const& b) const {
    auto const order = [this](End const& e) {
      int const kind = e.kind == BlameKind::all_waiting ? 2 : e.kind == BlameKind::order_cycle ? 1 : 0;
      std::int64_t const created = waits_.held.at(e.at).first_created_ns;
      return std::tuple(kind, created, e.at);
    };
    return order(a) < order(b);
  }

  void end(BlameKind kind, HeldKey const& at, std::vector<int> culprits, std::vector<HeldKey> path) {
    for (End const& e : ends_) {
      if (e.at == at && e.kind == kind) return;
    }
    ends_.push_back({kind, at, std::move(culprits), std::move(path)});
  }

  std::optional<HeldKey> earlier_mismatch(HeldKey const& key) const {
    for (auto const& [other, c] : waits_.held) {
      if (key.source < 0 && other.group == key.group && other.source < 0 && other.seq < key.seq &&
          !c.differing.empty())
        return other;
    }
    return std::nullopt;
  }

  void follow(HeldKey const& key) {
    auto const on_path = std::find(path_.begin(), path_.end(), key);
    if (on_path != path_.end()) {
      std::vector<HeldKey> cycle(on_path, path_.end());
      std::rotate(cycle.begin(), std::min_element(cycle.begin(), cycle.end()), cycle.end());
      end(BlameKind::order_cycle, cycle.front(), {}, cycle);
      return;
    }
    if (!done_.insert(key).second) return;
    path_.push_back(key);
    visit(key, waits_.held.at(key));
    path_.pop_back();
  }

  void visit(HeldKey const& key, HeldCollective const& c) {
    if (auto const mismatch = earlier_mismatch(key)) {
      end(BlameKind::mismatch, *mismatch, waits_.held.at(*mismatch).differing, path_);
      return;
    }
    if (!c.differing.empty()) return end(BlameKind::mismatch, key, c.differing, path_);
    std::vector<int> nowhere;
    bool followed = false;
    for (int const rank : c.absent) {
      auto const held = waits_.held_at.find(rank);
      if (held == waits_.held_at.end()) {
        nowhere.push_back(rank);
      } else {
        followed = true;
        follow(held->second);
      }
    }
    if (!nowhere.empty()) return end(BlameKind::missing_rank, key, nowhere, path_);
    // A rank without a dump may have enqueued it; one that waits elsewhere has certainly not.
    if (followed) return;
    if (!c.undumped.empty()) return end(BlameKind::no_dump, key, c.undumped, path_);
    std::set<HeldKey> others;
    for (int const rank : c.behind) others.insert(waits_.held_at.at(rank));
    for (HeldKey const& other : others) follow(other);
    if (!others.empty()) return;
    if (!c.unstarted.empty()) return end(BlameKind::not_started, key, c.unstarted, path_);
    end(BlameKind::all_waiting, key, {}, path_);
  }

  DumpWaits const& waits_;
  std::set<HeldKey> starts_;
  std::set<HeldKey> done_;
  std::vector<HeldKey> path_;
  std::vector<End> ends_;
};

// The innermost frame outside torch.distributed.
std::string caller(FlightEntry const& e) {
  for (FlightFrame const& f : e.frames) {
    if (f.filename.find("torch/distributed") == std::string::npos)
      return fmt::format(", called from {} ({}:{})", f.name, f.filename, f.line);
  }
  return "";
}

class DumpBlame {
 public:
  explicit DumpBlame(std::vector<FlightDump> const& dumps) : waits_(dump_waits(dumps)) {}

  Blame take() {
    Chains const chains(waits_);
    auto const end = chains.first();
    bool const any_late =
        std::any_of(waits_.held.begin(), waits_.held.end(), [](auto const& h) { return h.second.timed_out; });
    if (!end || (end->kind == BlameKind::all_waiting && !any_late)) {
      nothing(!end);
    } else {
      tell(*end, any_late);
      if (chains.ends() > 1)
        out_.certain.push_back(
            fmt::format("the waiting ranks lead to {} places; the first in time is told", chains.ends()));
    }
    standings();
    return std::move(out_);
  }

 private:
  HeldCollective const& held(HeldKey const& key) const { return waits_.held.at(key); }

  std::string name(HeldKey const& key) const {
    FlightGroup const& g = waits_.groups[static_cast<std::size_t>(key.group)];
    return collective_text(held(key).op, key.seq, g.name, g.desc);
  }

  void nothing(bool empty) {
    out_.kind = BlameKind::nothing_stuck;
    out_.verdict = empty ? "Nothing is stuck in these dumps: every collective in them is completed."
                         : "Nothing is stuck in these dumps: what is unfinished is entered by every rank and "
                           "within its time limit.";
    out_.missing.push_back("dumps taken while the run hangs");
  }

  void place(HeldKey const& key) {
    FlightGroup const& g = waits_.groups[static_cast<std::size_t>(key.group)];
    HeldCollective const& c = held(key);
    out_.group = g.name;
    out_.group_desc = g.desc;
    out_.op = c.op;
    out_.seq = key.seq;
    out_.waiting = c.waiting;
    blamed_ = key;
  }

  // What the ranks of `at` that are to blame have done last, each in its dump.
  void evidence_of(HeldCollective const& c, std::vector<int> const& culprits) {
    for (auto const& [rank, entry] : c.entries) {
      FlightDump const& d = *waits_.dumps.at(rank);
      char const* const state = entry->state == FlightState::completed ? "completed"
                                : entry->state == FlightState::started ? "started"
                                                                       : "scheduled";
      out_.evidence.push_back(
          {d.source, 0,
           fmt::format("rank {}: record {}, {} {}{}", rank, entry->record_id,
                       collective_text(entry->profiling_name, c.key.seq, entry->pg_name, ""), state,
                       entry->retired && entry->state != FlightState::completed ? ", timed out" : "")});
    }
    for (int const rank : culprits) {
      auto const dump = waits_.dumps.find(rank);
      if (dump == waits_.dumps.end() || c.entries.contains(rank)) continue;
      if (dump->second->entries.empty()) {
        out_.evidence.push_back({dump->second->source, 0, fmt::format("rank {}: no record at all", rank)});
        continue;
      }
      FlightEntry const& last = dump->second->entries.back();
      std::int64_t const seq = last.is_p2p ? -1 : last.collective_seq_id;
      out_.evidence.push_back(
          {dump->second->source, 0,
           fmt::format("rank {}: its last record is {} {}{}", rank, last.record_id,
                       collective_text(last.profiling_name, seq, last.pg_name, last.pg_desc), caller(last))});
    }
  }

  void chain_of(End const& e) {
    bool const cycle = e.kind == BlameKind::order_cycle;
    for (std::size_t i = 0; i < e.path.size(); ++i) {
      bool const last = i + 1 == e.path.size();
      if (last && !cycle) break;
      HeldKey const& next = e.path[last ? 0 : i + 1];
      HeldCollective const& c = held(e.path[i]);
      std::vector<int> by;
      for (auto const* ranks : {&c.absent, &c.behind}) {
        for (int const rank : *ranks) {
          if (waits_.held_at.contains(rank) && waits_.held_at.at(rank) == next) by.push_back(rank);
        }
      }
      out_.chain.push_back(
          fmt::format("{} needs {}, held at {}", name(e.path[i]), named_ranks(by), name(next)));
      if (cycle) out_.culprits.insert(out_.culprits.end(), by.begin(), by.end());
    }
    std::sort(out_.culprits.begin(), out_.culprits.end());
    out_.culprits.erase(std::unique(out_.culprits.begin(), out_.culprits.end()), out_.culprits.end());
  }

  void tell(End const& e, bool any_late) {
    HeldCollective const& c = held(e.at);
    out_.kind = e.kind;
    place(e.at);
    out_.culprits = e.culprits;
    chain_of(e);
    std::string const what = name(e.at);
    std::string const who = named_ranks(out_.culprits);
    std::string const waiters = named_ranks(c.waiting);
    bool const one = out_.culprits.size() == 1;
    char const* const has = one ? "has" : "have";
    switch (e.kind) {
      case BlameKind::missing_rank:
        out_.verdict = fmt::format("{} {} not enqueued {}, for which {} {}.", capital(who), has, what,
                                   waiters, c.waiting.size() == 1 ? "waits" : "wait");
        out_.certain.push_back(
            fmt::format("{} {} not enqueued it and {} no other collective unfinished", who, has, has));
        out_.inferred.push_back(
            "what a rank does outside its collectives (own code, a stuck call, saving, dead) its dump does "
            "not say");
        if (c.absent.size() > c.waiting.size())
          out_.inferred.push_back(
              fmt::format("more ranks are missing than wait: {} may have entered one collective too many "
                          "(unequal numbers of micro-batches)",
                          waiters));
        out_.missing.push_back(fmt::format("a stack of {} while it hangs (py-spy dump), and its log", who));
        break;
      case BlameKind::no_dump:
        out_.verdict = fmt::format("{} left no dump here; {} {} in {} for {}.", capital(who), waiters,
                                   c.waiting.size() == 1 ? "waits" : "wait", what, one ? "it" : "them");
        out_.certain.push_back("every member with a dump has enqueued it");
        out_.inferred.push_back(
            one ? "that rank was dead or stuck too deep to dump; or its file is not among these"
                : "these ranks were dead or stuck too deep to dump, one of them first; or their files are "
                  "not "
                  "among these");
        out_.missing.push_back(fmt::format("the dumps and logs of {}", who));
        break;
      case BlameKind::mismatch:
        out_.verdict = fmt::format("The ranks of {} entered different collectives: {}.", what, c.difference);
        out_.certain.push_back("operation, sizes or types differ at one sequence number");
        out_.inferred.push_back(c.differing.size() == c.entries.size()
                                    ? "none is in the majority: which of them is wrong the dumps do not say"
                                    : fmt::format("{} {} in the minority", who, one ? "is" : "are"));
        out_.missing.push_back(
            "the frames of that record on both sides (TORCH_NCCL_TRACE_CPP_STACK, pickled dumps)");
        break;
      case BlameKind::not_started:
        out_.verdict = fmt::format("{} {} enqueued {} but not started it on the GPU; others have.",
                                   capital(who), has, what);
        out_.inferred.push_back(
            "the stream of that rank is held by other work: a kernel, a copy or a collective without a "
            "record");
        out_.missing.push_back(fmt::format("what the GPU of {} runs", who));
        break;
      case BlameKind::order_cycle:
        out_.verdict = fmt::format(
            "A cycle: {} {} in different orders on {}, and each waits for the other.", name(e.path.front()),
            e.path.size() == 2 ? fmt::format("and {} were issued", name(e.path.back()))
                               : fmt::format("and {} other collectives were issued", e.path.size() - 1),
            who);
        out_.certain.push_back(
            "no rank of the cycle is free: each is held at the collective that another has not come to");
        out_.inferred.push_back("a collective holds back those that its rank enqueued later");
        break;
      default:
        out_.verdict = fmt::format(
            "{} is entered by all its ranks alike and not through on {}: no rank is missing.", what, waiters);
        out_.certain.push_back("operation, sizes and types agree");
        out_.inferred.push_back(
            "the network, a GPU or NCCL itself; or work without a record before it on a stream");
        out_.missing.push_back("NCCL_DEBUG=WARN output, Xid lines of dmesg, counters of the network");
        break;
    }
    if (!any_late) {
      out_.verdict += " No time limit had passed yet.";
      out_.inferred.push_back("the dumps may show a run under way, in which these ranks are merely behind");
      out_.missing.push_back("dumps taken later");
    }
    evidence_of(c, out_.culprits);
    std::vector<int> undumped;
    for (FlightGroup const& g : waits_.groups) {
      for (int const rank : g.ranks) {
        if (!waits_.dumps.contains(rank)) undumped.push_back(rank);
      }
    }
    std::sort(undumped.begin(), undumped.end());
    undumped.erase(std::unique(undumped.begin(), undumped.end()), undumped.end());
    if (!undumped.empty() && e.kind != BlameKind::no_dump)
      out_.missing.push_back(fmt::format("the dumps of {}", named_ranks(undumped)));
  }

  void standings() {
    std::set<int> ranks;
    for (auto const& [rank, dump] : waits_.dumps) ranks.insert(rank);
    for (FlightGroup const& g : waits_.groups) ranks.insert(g.ranks.begin(), g.ranks.end());
    for (int const rank : ranks) {
      RankStanding s;
      s.rank = rank;
      auto const dump = waits_.dumps.find(rank);
      auto const at = waits_.held_at.find(rank);
      bool const blamed = std::binary_search(out_.culprits.begin(), out_.culprits.end(), rank);
      if (at != waits_.held_at.end()) {
        s.part = RankPart::waits;
        s.where = name(at->second);
      }
      if (dump == waits_.dumps.end()) {
        s.part = RankPart::no_dump;
      } else if (blamed && out_.kind == BlameKind::missing_rank) {
        s.part = RankPart::missing;
      } else if (blamed && out_.kind == BlameKind::mismatch) {
        s.part = RankPart::differs;
      } else if (blamed && out_.kind == BlameKind::not_started) {
        s.part = RankPart::not_started;
      }
      if (dump != waits_.dumps.end() && blamed_.group >= 0) {
        FlightGroup const& g = waits_.groups[static_cast<std::size_t>(blamed_.group)];
        if (std::binary_search(g.ranks.begin(), g.ranks.end(), rank)) {
          GroupProgress const p = progress_of(*dump->second, g);
          s.last_enqueued = p.enqueued;
          s.last_completed = p.completed;
        }
      }
      out_.ranks.push_back(std::move(s));
    }
  }

  DumpWaits waits_;
  Blame out_;
  HeldKey blamed_;
};

}  // namespace

Blame blame_dumps(std::vector<FlightDump> const& dumps) { return DumpBlame(dumps).take(); }

}  // namespace rollcast
