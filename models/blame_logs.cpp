#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "models/blame.hpp"
#include "models/log_stalls.hpp"
#include "models/rank_text.hpp"

namespace rollcast {
namespace {

constexpr int kAbort = -6;        // SIGABRT: the watchdog ends its own process
constexpr int kTerminated = -15;  // SIGTERM: the launcher

bool is_failure(IncidentFact const& f) {
  bool const died = f.kind == FactKind::process_exit && f.exit_code && *f.exit_code != 0 &&
                    *f.exit_code != kAbort && *f.exit_code != kTerminated;
  return died || f.kind == FactKind::out_of_memory || f.kind == FactKind::exception;
}

std::string what_failed(IncidentFact const& f) {
  if (f.kind == FactKind::out_of_memory) return "ran out of memory";
  if (f.kind == FactKind::exception) return "raised an exception";
  return fmt::format("ended with exit code {}", *f.exit_code);
}

std::string subject(IncidentFact const& f) {
  if (f.rank >= 0 && f.rank_source == RankSource::world) return fmt::format("Rank {}", f.rank);
  if (f.rank >= 0) {
    return fmt::format("Rank {} of {}", f.rank,
                       f.rank_source == RankSource::group ? "its group" : "its node");
  }
  return f.process.empty() ? "A rank that the log does not name" : fmt::format("The process {}", f.process);
}

class LogBlame {
 public:
  explicit LogBlame(std::vector<IncidentFact> const& facts) : facts_(facts) {}

  Blame take() {
    collect();
    auto const failure = first_failure();
    if (!stalls_.empty()) place(stalls_.front());
    if (failure) {
      tell_failure(*failure);
    } else if (!stalls_.empty()) {
      tell_stall(stalls_.front());
    } else {
      tell_nothing();
    }
    side_evidence();
    standings();
    return std::move(out_);
  }

 private:
  void collect() {
    stalls_ = log_stalls(facts_);
    bool const any_world = std::any_of(facts_.begin(), facts_.end(), [](IncidentFact const& f) {
      return f.rank_source == RankSource::world;
    });
    // Older versions print the rank inside the group alone, which is the global one in the default group.
    RankSource const counted = any_world ? RankSource::world : RankSource::group;
    for (IncidentFact const& f : facts_) {
      if (f.rank >= 0 && f.rank_source == counted) known_.insert(f.rank);
      if (f.from_rank >= 0) known_.insert(f.from_rank);
      folded_ = folded_ || f.folded;
    }
    if (!any_world && !stalls_.empty())
      out_.inferred.push_back("the lines tell ranks inside their group; taken as those of the whole run");
  }

  // A rank that is itself in the collective has outlived what it failed of.
  bool lives(IncidentFact const& f) const {
    return f.rank >= 0 && !stalls_.empty() && stalls_.front().waits(f.rank);
  }

  // Before the first time-out, by the order of facts_.
  std::optional<IncidentFact> first_failure() {
    for (IncidentFact const& f : facts_) {
      if (f.kind == FactKind::watchdog_timeout) return told_late();
      if (is_failure(f) && !lives(f)) return f;
    }
    return std::nullopt;
  }

  // What stands behind the time-outs and still came first, of ranks that are not in the collective: a signal
  // that the launcher tells afterwards (with a plain exit code a rank may have ended because the others did),
  // and an out-of-memory without a time, which Ray's driver prints when it gets to it.
  std::optional<IncidentFact> told_late() {
    for (IncidentFact const& f : facts_) {
      bool const killed =
          f.kind == FactKind::process_exit && f.first_observed && is_failure(f) && *f.exit_code < 0;
      bool const no_memory =
          f.kind == FactKind::out_of_memory && !f.time && f.rank_source == RankSource::world;
      if ((!killed && !no_memory) || lives(f)) continue;
      late_ = true;
      return f;
    }
    return std::nullopt;
  }

  void place(LogStall const& s) {
    out_.group = s.first.group;
    out_.group_desc = s.first.group_desc;
    out_.op = s.first.op;
    out_.seq = s.first.seq;
    for (auto const& [rank, t] : s.by_rank) {
      out_.evidence.push_back({t.file, t.line, t.text});
    }
    for (int const rank : known_) {
      if (s.waits(rank)) out_.waiting.push_back(rank);
    }
  }

  static std::string name(LogStall const& s) {
    std::string out = collective_text(s.first.op, s.first.seq, s.first.group, s.first.group_desc);
    if (s.first.numel_in >= 0)
      out += fmt::format(", {} element{}", s.first.numel_in, s.first.numel_in == 1 ? "" : "s");
    return out;
  }

  void tell_failure(IncidentFact const& f) {
    out_.kind = BlameKind::first_failure;
    IncidentFact named = f;
    std::vector<int> const silent = stalls_.empty() ? std::vector<int>{} : silent_ranks(stalls_.front());
    if (f.rank < 0 && silent.size() == 1) {
      named.rank = silent.front();
      named.rank_source = RankSource::world;
      out_.inferred.push_back(
          fmt::format("the log does not name the rank that {}; rank {} alone does not report the time-out",
                      what_failed(f), named.rank));
    }
    if (named.rank >= 0) out_.culprits = {named.rank};
    out_.verdict = fmt::format("{} {}", subject(named), what_failed(f));
    if (!stalls_.empty()) {
      LogStall const& s = stalls_.front();
      std::string const others = out_.waiting.empty() ? "others" : named_ranks(out_.waiting);
      out_.verdict +=
          fmt::format(" first; {} then waited in {} until the watchdog ended them.", others, name(s));
      bool const surely = f.time && s.first.time && !late_;
      (surely ? out_.certain : out_.inferred)
          .push_back(late_ ? "it is told after the time-outs, but of a rank that is not in the collective: "
                             "taken as first"
                           : fmt::format("it {} before the first time-out was told", what_failed(f)));
      if (f.time && s.first.time && !(f.after > s.begin()))
        out_.certain.push_back("that was before the collective that timed out was enqueued");
    } else {
      out_.verdict += "; no collective timed out.";
    }
    if (named.rank >= 0 && named.rank_source != RankSource::world)
      out_.inferred.push_back("the number of the rank counts inside its group or node");
    if (named.rank < 0)
      out_.missing.push_back(
          "the log of each rank in a file of its own (torchrun --log-dir, ranks as prefix)");
    if (!f.time)
      out_.missing.push_back(
          "times on the lines of the exception: its place is taken from the lines around it");
    out_.evidence.insert(out_.evidence.begin(), {f.file, f.line, f.text});
    failure_ = named;
  }

  // Ranks 0 to the highest seen that do not report this time-out; none where the launcher folds lines.
  std::vector<int> silent_ranks(LogStall const& s) const {
    std::vector<int> out;
    if (folded_) return out;
    int const most = known_.empty() ? -1 : *known_.rbegin();
    for (int rank = 0; rank <= most && out.size() <= known_.size(); ++rank) {
      if (!s.waits(rank)) out.push_back(rank);
    }
    return out;
  }

  void tell_stall(LogStall const& s) {
    std::string const waiters =
        out_.waiting.empty() ? "ranks that the log does not name" : named_ranks(out_.waiting);
    std::string const timed = fmt::format("{} timed out in {} after {} ms (limit {} ms)", waiters, name(s),
                                          s.first.ran_ms, s.first.timeout_ms);
    if (different_ops(s, timed)) return;
    for (auto const& [rank, last] : s.enqueued) {
      if (rank >= 0 && last < s.first.seq) out_.culprits.push_back(rank);
    }
    std::vector<int> const silent = silent_ranks(s);
    if (!out_.culprits.empty()) {
      out_.kind = BlameKind::missing_rank;
      out_.verdict = fmt::format("{} {} not enqueued it: {}.", capital(named_ranks(out_.culprits)),
                                 out_.culprits.size() == 1 ? "has" : "have", timed);
      out_.certain.push_back(
          "its last enqueued work in that group is below the sequence number that timed out");
    } else if (silent.size() == 1) {
      out_.kind = BlameKind::missing_rank;
      out_.culprits = silent;
      out_.verdict = fmt::format("Rank {} is the one to look at: {}, and it alone does not report that.",
                                 silent.front(), timed);
      out_.inferred.push_back(fmt::format(
          "of ranks 0-{} it alone is silent: it has not enqueued the collective, or its log is not here",
          *known_.rbegin()));
    } else {
      out_.kind = BlameKind::all_waiting;
      out_.verdict = fmt::format("{}; which rank they wait for these lines do not say.", capital(timed));
      if (folded_) {
        out_.inferred.push_back("Ray folds equal lines of several processes: who is silent cannot be seen");
        out_.missing.push_back("the log with RAY_DEDUP_LOGS=0");
      } else if (silent.empty()) {
        out_.inferred.push_back(
            "all ranks that these files know report it: the network, a GPU or NCCL itself, or a rank beyond "
            "these files");
      } else {
        out_.inferred.push_back(
            fmt::format("of ranks 0-{} several do not report it: outside the group, not in it when it "
                        "timed out, or without a log here",
                        *known_.rbegin()));
      }
    }
    for (IncidentFact const& f : facts_) {
      if (f.kind == FactKind::watchdog_timeout) break;
      if (f.kind != FactKind::request_timeout) continue;
      out_.inferred.push_back(
          "a request outside of NCCL took too long before that; it may be what a rank waited for");
      break;
    }
    out_.certain.push_back(fmt::format("the watchdog's clock starts when a rank enqueues: {} had", waiters));
    out_.missing.push_back(
        "flight recorder dumps of all ranks (TORCH_NCCL_TRACE_BUFFER_SIZE=2000, "
        "TORCH_NCCL_DUMP_ON_TIMEOUT=1)");
    if (s.first.group.empty())
      out_.missing.push_back("the line with last enqueued and last completed work, which names the group");
    if (!out_.culprits.empty())
      out_.missing.push_back(fmt::format("the log and a stack of {}", named_ranks(out_.culprits)));
  }

  // One number, but different operations or sizes: the ranks have lost step.
  bool different_ops(LogStall const& s, std::string const& timed) {
    std::map<std::string, std::vector<int>> alike;
    for (auto const& [rank, t] : s.by_rank) {
      bool const uneven = t.op.starts_with("ALLTOALL") || t.op.starts_with("ALL_TO_ALL") ||
                          t.op == "GATHER" || t.op == "SCATTER";
      alike[uneven ? t.op : fmt::format("{} {} elements", t.op, t.numel_in)].push_back(rank);
    }
    if (alike.size() < 2) return false;
    auto const most = std::max_element(alike.begin(), alike.end(), [](auto const& a, auto const& b) {
      return a.second.size() < b.second.size();
    });
    std::string words;
    auto const as_many = std::count_if(alike.begin(), alike.end(),
                                       [&](auto const& a) { return a.second.size() == most->second.size(); });
    for (auto const& [text, ranks] : alike) {
      if (as_many > 1 || text != most->first)
        out_.culprits.insert(out_.culprits.end(), ranks.begin(), ranks.end());
      words += fmt::format("{}{}: {}", words.empty() ? "" : "; ", named_ranks(ranks), text);
    }
    std::sort(out_.culprits.begin(), out_.culprits.end());
    out_.kind = BlameKind::mismatch;
    out_.verdict = fmt::format("The ranks entered different collectives under one number: {}. {}.", words,
                               capital(timed));
    (s.first.group.empty() ? out_.inferred : out_.certain)
        .push_back("operation or size differs at one sequence number of one group");
    if (s.first.group.empty())
      out_.missing.push_back("the group of each line: two groups may have the same number");
    return true;
  }

  void tell_nothing() {
    auto const has = [this](auto const& is) { return std::any_of(facts_.begin(), facts_.end(), is); };
    bool const nccl = has([](IncidentFact const& f) {
      return f.kind == FactKind::heartbeat_stuck || f.kind == FactKind::dump_signal ||
             f.kind == FactKind::nccl_error || f.kind == FactKind::nccl_warning ||
             f.kind == FactKind::watchdog_status;
    });
    auto const request = std::find_if(facts_.begin(), facts_.end(), [](IncidentFact const& f) {
      return f.kind == FactKind::request_timeout;
    });
    out_.missing.push_back("the log of every rank from before the hang");
    if (nccl) {
      out_.kind = BlameKind::all_waiting;
      out_.verdict =
          "NCCL or its watchdog speaks in these lines, but none names a collective that timed out.";
      out_.missing.push_back("flight recorder dumps of all ranks");
      return;
    }
    out_.kind = BlameKind::no_collective;
    if (facts_.empty()) {
      out_.verdict =
          "These files hold no line of a time-out, an exception or NCCL: they name nobody, and NCCL is not "
          "to blame "
          "by them.";
      return;
    }
    out_.verdict =
        "No collective timed out in these files, and NCCL does not speak in them: NCCL is not to blame.";
    out_.certain.push_back("there is no line of the watchdog, of its monitor or of NCCL");
    if (request != facts_.end()) {
      out_.verdict += " A request outside of NCCL took too long.";
      out_.evidence.push_back({request->file, request->line, request->text});
    } else {
      out_.inferred.push_back(
          "a run that hangs without them waits outside of collectives: in the driver, a reward, an engine or "
          "a disk");
    }
    out_.missing.push_back("a stack of the driver and of one rank while it hangs (py-spy dump)");
  }

  void side_evidence() {
    for (IncidentFact const& f : facts_) {
      if (f.kind == FactKind::nccl_warning || f.kind == FactKind::heartbeat_stuck ||
          f.kind == FactKind::nccl_error || (f.kind == FactKind::process_exit && f.first_observed))
        out_.evidence.push_back({f.file, f.line, f.text});
    }
  }

  void standings() {
    std::set<int> ranks = known_;
    ranks.insert(out_.culprits.begin(), out_.culprits.end());
    for (int const rank : ranks) {
      RankStanding s;
      s.rank = rank;
      if (!stalls_.empty()) {
        LogStall const& stall = stalls_.front();
        if (stall.by_rank.contains(rank) || stall.waits(rank))
          s.part = RankPart::waits, s.where = name(stall);
        if (auto const e = stall.enqueued.find(rank); e != stall.enqueued.end()) s.last_enqueued = e->second;
        if (auto const c = stall.completed.find(rank); c != stall.completed.end())
          s.last_completed = c->second;
      }
      if (std::binary_search(out_.culprits.begin(), out_.culprits.end(), rank)) {
        s.part = out_.kind == BlameKind::mismatch        ? RankPart::differs
                 : out_.kind == BlameKind::first_failure ? RankPart::failed
                                                         : RankPart::missing;
        if (failure_) s.where = what_failed(*failure_);
      }
      out_.ranks.push_back(std::move(s));
    }
  }

  std::vector<IncidentFact> const& facts_;
  std::set<int> known_;
  bool folded_ = false;
  bool late_ = false;
  std::vector<LogStall> stalls_;
  std::optional<IncidentFact> failure_;
  Blame out_;
};

}  // namespace

Blame blame_logs(std::vector<IncidentFact> const& facts) { return LogBlame(facts).take(); }

}  // namespace rollcast
