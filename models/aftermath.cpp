#include "models/aftermath.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <tuple>

#include "models/random.hpp"
#include "models/rank_text.hpp"

namespace rollcast {
namespace {

constexpr Seconds kWorthwhile(10);  // a remedy saves at least so much

// One waiting rank and what becomes of it.
struct Fate {
  WaitingRank const* rank = nullptr;
  RankEnd end;
};

std::optional<Seconds> earliest(std::optional<Seconds> a, std::optional<Seconds> b) {
  if (!a) return b;
  if (!b) return a;
  return min(*a, *b);
}

std::string who(JobSize const& job, int pool, std::vector<int> const& ranks) {
  std::string const text = counted_ranks(ranks);
  if (job.pools.size() < 2) return text;
  return fmt::format("{} of {}", text, job.pools[static_cast<std::size_t>(pool)]);
}

class Teller {
 public:
  Teller(Stall const& stall, WatchdogOptions const& watchdog, LauncherOptions const& launcher,
         JobSize const& job, std::uint64_t seed)
      : stall_(stall), watchdog_(watchdog), launcher_(launcher), job_(job), seed_(seed) {}

  Aftermath tell() {
    out_.happenings.push_back(
        {stall_.at, stall_.at, HappeningKind::cause, pool_of_cause(stall_), missing_ranks(), stall_.cause});
    decide_fates();
    decide_end();
    tell_waiting();
    tell_stops();
    tell_fates();
    tell_told();
    tell_end();
    std::stable_sort(out_.happenings.begin() + 1, out_.happenings.end(),
                     [](Happening const& a, Happening const& b) { return a.time < b.time; });
    return std::move(out_);
  }

 private:
  std::vector<int> missing_ranks() const {
    std::vector<int> ranks;
    for (MissingRank const& m : stall_.missing) ranks.push_back(m.rank);
    std::sort(ranks.begin(), ranks.end());
    return ranks;
  }
  StalledGroup const& group_of(WaitingRank const& w) const {
    return stall_.groups.at(static_cast<std::size_t>(w.group));
  }

  void decide_fates() {
    std::set<int> timed;  // pools
    for (std::size_t i = 0; i < stall_.waiting.size(); ++i) {
      WaitingRank const& w = stall_.waiting[i];
      StalledGroup const& g = group_of(w);
      Fate f{&w, {}};
      if (g.timer == GroupTimer::c10d) {
        WatchdogOptions own = watchdog_;
        own.timeout = g.timeout.value_or(watchdog_.timeout);
        f.end = end_of_waiting(own, w.since, Seconds(0), uniform({seed_, Purpose::fault, 0, i}));
        first_timer_ = earliest(first_timer_, f.end.detected);
        timed.insert(w.pool);
      } else if (g.timer == GroupTimer::rpc) {
        Seconds const patience = g.timeout.value_or(watchdog_.rpc_timeout);
        if (!rpc_ || w.since + patience < *rpc_) {
          rpc_ = w.since + patience;
          rpc_patience_ = patience;
        }
      }
      fates_.push_back(f);
    }
    if (first_timer_) tell_others(timed);
    for (Fate const& f : fates_) first_death_ = earliest(first_death_, f.end.dies);
  }
  // Ranks without a timer of their own hear of the first one in their pool: those that wait in another group,
  // and those that stopped and whose process lives.
  void tell_others(std::set<int> const& timed) {
    told_ = end_of_told(watchdog_, *first_timer_);
    for (Fate& f : fates_) {
      if (group_of(*f.rank).timer == GroupTimer::none && timed.contains(f.rank->pool)) f.end = told_;
    }
    for (MissingRank const& m : stall_.missing) {
      if (is_gone(launcher_.kind, m.stop) || waits(m)) continue;
      alive_.push_back(m.rank);
      first_death_ = earliest(first_death_, told_.dies);
    }
    std::sort(alive_.begin(), alive_.end());
  }

  // In a collective that the others do not call.
  bool waits(MissingRank const& m) const {
    return std::any_of(stall_.waiting.begin(), stall_.waiting.end(),
                       [&](WaitingRank const& w) { return w.pool == m.pool && w.rank == m.rank; });
  }

  // A stop that the launcher, or a worker that misses its heartbeats, sees.
  void notice(MissingRank const& m) {
    std::optional<Seconds> seen = noticed(launcher_, m.stop, m.at);
    if (watchdog_.worker_heartbeat.value > 0 && m.stop != Stop::hangs) {
      Seconds const missed = m.at + watchdog_.worker_heartbeat * watchdog_.missed_heartbeats;
      if (!seen || missed < *seen) {
        seen = missed;
        heartbeat_ = earliest(heartbeat_, missed);
      }
    }
    see(seen, m.pool, m.rank);
  }
  void see(std::optional<Seconds> t, int pool, int rank) {
    if (!t || (seen_ && !(*t < *seen_))) return;
    seen_ = t;
    seen_at_ = {pool, node_of(pool, rank)};
  }
  int node_of(int pool, int rank) const {
    auto const p = static_cast<std::size_t>(pool);
    return p < job_.gpus_per_node.size() && job_.gpus_per_node[p] > 0 ? rank / job_.gpus_per_node[p] : 0;
  }

  // What the launcher does, and what the waiting ranks do by themselves.
  void decide_end() {
    if (stall_.called && (!rpc_ || *stall_.called + watchdog_.rpc_timeout < *rpc_)) {
      rpc_ = *stall_.called + watchdog_.rpc_timeout;
      rpc_patience_ = watchdog_.rpc_timeout;
    }
    for (MissingRank const& m : stall_.missing) notice(m);
    std::optional<Seconds> const own = seen_;
    for (MissingRank const& m : stall_.later) notice(m);
    if (launcher_.kind != LauncherKind::none) {
      if (rpc_) see(noticed(launcher_, Stop::raised, *rpc_), -1, 0);
      for (Fate const& f : fates_)
        if (f.end.dies) see(noticed(launcher_, Stop::exited, *f.end.dies), f.rank->pool, f.rank->rank);
      if (!alive_.empty() && told_.dies)
        see(noticed(launcher_, Stop::exited, *told_.dies), stall_.missing.front().pool, alive_.front());
    }
    out_.detected = earliest(earliest(first_timer_, rpc_), seen_);
    out_.by_watchdog = first_timer_ && !(*out_.detected < *first_timer_);
    out_.stop_is_noticed = own && !(*seen_ < *own);
    if (seen_) out_.ended = all_gone(launcher_, *seen_, job_.nodes);
    if (launcher_.kind != LauncherKind::none) return;
    if (std::optional<Seconds> const last = last_death(); last && (!out_.ended || *last < *out_.ended)) {
      out_.ended = last;
      by_themselves_ = true;
    }
  }
  // Of the waiting ranks; nothing: one of them waits on.
  std::optional<Seconds> last_death() const {
    if (fates_.empty()) return std::nullopt;
    Seconds last = stall_.at;
    for (Fate const& f : fates_) {
      if (!f.end.dies) return std::nullopt;
      last = max(last, *f.end.dies);
    }
    return last;
  }

  // Processes of the node whose failure the launcher saw first are gone before the others.
  bool is_there(int pool, int rank, Seconds t) const {
    if (!happens(t)) return false;
    bool const first_node = seen_ && seen_at_ == std::pair{pool, node_of(pool, rank)};
    return !first_node || t <= *seen_ + launcher_.same_node;
  }
  bool happens(Seconds t) const { return !out_.ended || t <= *out_.ended; }

  // The same of several ranks is one line.
  struct Line {
    Seconds first;
    Seconds last;
    std::vector<int> ranks;
  };
  template <class When>
  std::map<std::pair<int, int>, Line> lines(When const& when) const {
    std::map<std::pair<int, int>, Line> out;  // by pool and group
    for (Fate const& f : fates_) {
      std::optional<Seconds> const t = when(f);
      if (!t || !is_there(f.rank->pool, f.rank->rank, *t)) continue;
      auto const [at, is_new] = out.try_emplace({f.rank->pool, f.rank->group}, Line{*t, *t, {}});
      at->second.first = min(at->second.first, *t);
      at->second.last = max(at->second.last, *t);
      at->second.ranks.push_back(f.rank->rank);
    }
    for (auto& [key, line] : out) std::sort(line.ranks.begin(), line.ranks.end());
    return out;
  }
  template <class When, class Say>
  void tell_each(HappeningKind kind, When const& when, Say const& say) {
    for (auto& [key, line] : lines(when)) {
      StalledGroup const& g = stall_.groups[static_cast<std::size_t>(key.second)];
      std::string what = say(who(job_, key.first, line.ranks), g, line);
      out_.happenings.push_back(
          {line.first, line.last, kind, key.first, std::move(line.ranks), std::move(what)});
    }
  }

  void tell_waiting() {
    std::string const missing = waited_for();
    tell_each(
        HappeningKind::waits, [](Fate const& f) { return std::optional(f.rank->since); },
        [&](std::string const& ranks, StalledGroup const& g, Line const& l) {
          std::string const others = stops(l.ranks.front()) ? " for the others" : missing;
          return fmt::format("{} wait{} in {} of {}{}", ranks, l.ranks.size() == 1 ? "s" : "",
                             operation_text(g), g.name, others);
        });
  }
  // Ranks that went on elsewhere wait too.
  bool stops(int rank) const {
    return std::any_of(stall_.missing.begin(), stall_.missing.end(),
                       [&](MissingRank const& m) { return m.rank == rank; });
  }
  std::string waited_for() const {
    if (!stall_.cycle.empty()) return {};  // the cause tells it
    if (!stall_.elsewhere.empty()) return " for " + stall_.elsewhere;
    if (stall_.missing.empty()) return ", which the network does not carry";
    return " for " + who(job_, stall_.missing.front().pool, missing_ranks());
  }

  void tell_stops() {
    for (MissingRank const& m : stall_.later) {
      if (!happens(m.at)) continue;
      std::string what =
          who(job_, m.pool, {m.rank}) + (m.stop == Stop::exited ? " is killed" : " raises an exception");
      out_.happenings.push_back({m.at, m.at, HappeningKind::cause, m.pool, {m.rank}, std::move(what)});
    }
    if (!seen_ || !happens(*seen_)) return;
    bool const by_timer = (rpc_ && *rpc_ <= *seen_) || (first_death_ && *first_death_ <= *seen_);
    std::string what =
        fmt::format("{} sees {}", launcher_.kind == LauncherKind::none ? "a peer" : launcher_name(),
                    by_timer ? "the failure" : "the stop");
    if (heartbeat_ && !(*seen_ < *heartbeat_))
      what = fmt::format("{} heartbeats of {} are missed", watchdog_.missed_heartbeats,
                         format(watchdog_.worker_heartbeat));
    out_.happenings.push_back({*seen_, *seen_, HappeningKind::notices, 0, {}, std::move(what)});
  }
  std::string launcher_name() const {
    return launcher_.kind == LauncherKind::ray ? "the driver (ray)" : std::string(name_of(launcher_.kind));
  }

  void tell_fates() {
    tell_each(
        HappeningKind::detects, [](Fate const& f) { return f.end.detected; },
        [&](std::string const& ranks, StalledGroup const& g, Line const&) {
          return fmt::format("watchdog of {}: {} of {} is not done after {}", ranks, operation_text(g),
                             g.name, format(g.timeout.value_or(watchdog_.timeout)));
        });
    tell_each(
        HappeningKind::dumps, [](Fate const& f) { return f.end.dumped; },
        [](std::string const& ranks, StalledGroup const&, Line const&) {
          return ranks + ": flight recorder written";
        });
    tell_each(
        HappeningKind::monitor, [](Fate const& f) { return f.end.monitor; },
        [&](std::string const& ranks, StalledGroup const&, Line const&) {
          return fmt::format("heartbeat monitor of {}: the watchdog is stuck for {}", ranks,
                             format(watchdog_.heartbeat));
        });
    tell_each(
        HappeningKind::aborts, [](Fate const& f) { return f.end.aborted; },
        [](std::string const& ranks, StalledGroup const&, Line const&) {
          return ranks + ": communicators aborted";
        });
    tell_each(
        HappeningKind::dies, [](Fate const& f) { return f.end.dies; },
        [&](std::string const& ranks, StalledGroup const&, Line const& l) {
          bool const monitor = !fates_.empty() && fates_.front().end.by_monitor;
          return fmt::format("{} {} by SIGABRT{}", ranks, l.ranks.size() == 1 ? "ends" : "end",
                             monitor ? " of the heartbeat monitor" : "");
        });
    if (rpc_ && happens(*rpc_))
      out_.happenings.push_back(
          {*rpc_,
           *rpc_,
           HappeningKind::detects,
           0,
           {},
           fmt::format("a call to an engine gives up after {}", format(rpc_patience_))});
  }

  // Ranks that stopped and whose process lives.
  void tell_told() {
    if (alive_.empty()) return;
    int const pool = stall_.missing.front().pool;
    if (told_.dumped && happens(*told_.dumped))
      out_.happenings.push_back({*told_.dumped, *told_.dumped, HappeningKind::dumps, pool, alive_,
                                 who(job_, pool, alive_) + ": told of the timeout, flight recorder written"});
    if (told_.dies && happens(*told_.dies))
      out_.happenings.push_back({*told_.dies, *told_.dies, HappeningKind::dies, pool, alive_,
                                 who(job_, pool, alive_) + ": ended by the heartbeat monitor"});
  }

  void tell_end() {
    if (!out_.ended) return;
    std::string const what =
        seen_ && !by_themselves_
            ? fmt::format("{} has ended all processes of the job",
                          launcher_.kind == LauncherKind::none ? "the job's own check" : launcher_name())
            : "nobody waits any more";
    out_.happenings.push_back({*out_.ended, *out_.ended, HappeningKind::ends, 0, {}, what});
  }

  Stall const& stall_;
  WatchdogOptions const& watchdog_;
  LauncherOptions const& launcher_;
  JobSize const& job_;
  std::uint64_t seed_;
  std::vector<Fate> fates_;
  std::optional<Seconds> first_timer_, rpc_, first_death_, seen_;
  std::optional<Seconds> heartbeat_;
  std::pair<int, int> seen_at_ = {-1, -1};  // pool and node of the failure that is seen first
  bool by_themselves_ = false;              // the job ends with the last waiting rank
  Seconds rpc_patience_;
  RankEnd told_;
  std::vector<int> alive_;  // stopped, told of the first timer
  Aftermath out_;
};

}  // namespace

std::string_view name_of(HappeningKind k) {
  switch (k) {
    case HappeningKind::cause:
      return "cause";
    case HappeningKind::waits:
      return "waits";
    case HappeningKind::notices:
      return "notices";
    case HappeningKind::detects:
      return "detects";
    case HappeningKind::dumps:
      return "dumps";
    case HappeningKind::monitor:
      return "monitor";
    case HappeningKind::aborts:
      return "aborts";
    case HappeningKind::dies:
      return "dies";
    case HappeningKind::ends:
      return "ends";
  }
  throw std::logic_error("no such HappeningKind");
}

Aftermath aftermath(Stall const& stall, WatchdogOptions const& watchdog, LauncherOptions const& launcher,
                    JobSize const& job, std::uint64_t seed) {
  return Teller(stall, watchdog, launcher, job, seed).tell();
}

std::vector<Remedy> remedies(Stall const& stall, WatchdogOptions const& watchdog,
                             LauncherOptions const& launcher, JobSize const& job, std::uint64_t seed) {
  std::optional<Seconds> const ended = aftermath(stall, watchdog, launcher, job, seed).ended;
  std::vector<Remedy> out;
  auto const consider = [&](std::string what, WatchdogOptions const& w, LauncherOptions const& l) {
    std::optional<Seconds> const sooner = aftermath(stall, w, l, job, seed).ended;
    if (!sooner || (ended && *ended - *sooner < kWorthwhile)) return;
    // Where it would not have ended at all, what is saved has no bound.
    out.push_back({std::move(what), *sooner, ended ? *ended - *sooner : Seconds(0)});
  };
  constexpr Seconds kShort(600);
  if (watchdog.timeout > kShort) {
    WatchdogOptions w = watchdog;
    w.timeout = kShort;
    consider("watchdog.timeout: 600 s", w, launcher);
  }
  if (launcher.kind == LauncherKind::none) {
    LauncherOptions l = launcher;
    l.kind = LauncherKind::torchrun;
    consider("launcher.kind: torchrun (or any that ends the job with its first process)", watchdog, l);
  }
  if (!(watchdog.worker_heartbeat.value > 0)) {
    WatchdogOptions w = watchdog;
    w.worker_heartbeat = ms(5);
    consider("watchdog.worker_heartbeat: 5 ms (workers notice a dead peer themselves)", w, launcher);
  }
  std::stable_sort(out.begin(), out.end(),
                   [](Remedy const& a, Remedy const& b) { return a.ended < b.ended; });
  return out;
}

}  // namespace rollcast
