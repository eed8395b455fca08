#include "models/collective_order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <queue>
#include <stdexcept>

namespace rollcast {
namespace {

constexpr int kNone = -1;
constexpr std::size_t kMostLinks = 4;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

enum class State : char { pending, started, done };

// One collective on one rank.
struct Op {
  int rank = 0;
  int instance = 0;
  Seconds duration = {};
  int before[3] = {kNone, kNone, kNone};  // in the stream, in the communicator, by an event
  int next_follower[3] = {kNone, kNone, kNone};
  int first_follower = kNone;  // index of a (op, slot) pair: op * 3 + slot
  int unmet = 0;
  State state = State::pending;
  Seconds since = {};
};

// One collective over all members.
struct Instance {
  int communicator = 0;
  int sequence = 0;
  std::vector<int> ops = {};  // of each member; kNone: never issued
  int started = 0;
  Seconds longest = {};
};

class Runner {
 public:
  explicit Runner(CollectivePrograms const& p) : p_(p), ready_(p.ranks.size()), running_(p.ranks.size()) {
    find_members();
    std::size_t all = 0;
    for (RankProgram const& r : p.ranks) all += r.issued.size();
    ops_.reserve(all);
    names_.reserve(all);
    for (std::size_t r = 0; r < p.ranks.size(); ++r) add_rank(static_cast<int>(r));
  }

  CollectiveRun run() {
    for (std::size_t r = 0; r < p_.ranks.size(); ++r) start_what_may(static_cast<int>(r));
    std::vector<int> touched;
    while (!ends_.empty()) {
      now_ = ends_.top().first;
      touched.clear();
      while (!ends_.empty() && !(now_ < ends_.top().first)) {
        finish(ends_.top().second, touched);
        ends_.pop();
      }
      std::sort(touched.begin(), touched.end());
      touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
      for (int rank : touched) start_what_may(rank);
    }
    CollectiveRun r{.end = now_};
    collect_stalled(r);
    if (!r.finishes) find_cycle(r);
    return r;
  }

 private:
  struct Membership {
    int communicator = 0;
    int position = 0;
    int issued = 0;
    int last = kNone;
  };

  void find_members() {
    members_.resize(p_.ranks.size());
    instances_of_.resize(p_.communicators.size());
    for (std::size_t c = 0; c < p_.communicators.size(); ++c) {
      std::vector<int> const& members = p_.communicators[c].members;
      for (std::size_t i = 0; i < members.size(); ++i) {
        if (members[i] < 0 || at(members[i]) >= p_.ranks.size())
          throw std::logic_error("a member of a communicator that is no rank");
        members_[at(members[i])].push_back({static_cast<int>(c), static_cast<int>(i)});
      }
    }
  }

  Membership& membership(int rank, int communicator) {
    std::vector<Membership>& of_rank = members_[at(rank)];
    auto const m = std::lower_bound(of_rank.begin(), of_rank.end(), communicator,
                                    [](Membership const& a, int c) { return a.communicator < c; });
    if (m == of_rank.end() || m->communicator != communicator)
      throw std::logic_error("a collective of a communicator that the rank is no member of");
    return *m;
  }

  void depend(int op, int slot, int before) {
    if (before == kNone) return;
    Op& mine = ops_[at(op)];
    mine.before[slot] = before;
    mine.next_follower[slot] = ops_[at(before)].first_follower;
    ops_[at(before)].first_follower = op * 3 + slot;
    ++mine.unmet;
  }

  void add_rank(int rank) {
    RankProgram const& program = p_.ranks[at(rank)];
    if (program.concurrent && *program.concurrent < 1) throw std::logic_error("a rank without a place");
    int const first = static_cast<int>(ops_.size());
    first_op_.push_back(first);
    std::vector<std::pair<int, int>> last_of_stream;  // few streams: a list
    for (IssuedCollective const& c : program.issued) {
      int const op = static_cast<int>(ops_.size());
      if (c.after >= op - first || c.name < 0 || at(c.name) >= p_.names.size())
        throw std::logic_error("a collective that refers to none");
      Membership& m = membership(rank, c.communicator);
      int const instance = instance_of(c.communicator, m.issued++);
      ops_.push_back({.rank = rank, .instance = instance, .duration = c.duration});
      names_.push_back(c.name);
      instances_[at(instance)].ops[at(m.position)] = op;
      auto stream = std::find_if(last_of_stream.begin(), last_of_stream.end(),
                                 [&](auto const& s) { return s.first == c.stream; });
      if (stream == last_of_stream.end())
        stream = last_of_stream.insert(last_of_stream.end(), {c.stream, kNone});
      depend(op, 0, stream->second);
      depend(op, 1, m.last);
      depend(op, 2, c.after < 0 ? kNone : first + c.after);
      stream->second = m.last = op;
      if (ops_[at(op)].unmet == 0) ready_[at(rank)].push(op);
    }
  }

  int instance_of(int communicator, int sequence) {
    std::vector<int>& all = instances_of_[at(communicator)];
    if (at(sequence) == all.size()) {
      all.push_back(static_cast<int>(instances_.size()));
      std::size_t const members = p_.communicators[at(communicator)].members.size();
      instances_.push_back({communicator, sequence, std::vector<int>(members, kNone)});
    }
    return all[at(sequence)];
  }

  void start_what_may(int rank) {
    RankProgram const& program = p_.ranks[at(rank)];
    auto& ready = ready_[at(rank)];
    while (!ready.empty() && (!program.concurrent || running_[at(rank)] < *program.concurrent)) {
      Op& op = ops_[at(ready.top())];
      ready.pop();
      op.state = State::started;
      op.since = now_;
      ++running_[at(rank)];
      Instance& i = instances_[at(op.instance)];
      i.longest = max(i.longest, op.duration);
      if (at(++i.started) == i.ops.size()) ends_.push({now_ + i.longest, op.instance});
    }
  }

  void finish(int instance, std::vector<int>& touched) {
    for (int op : instances_[at(instance)].ops) {
      Op& mine = ops_[at(op)];
      mine.state = State::done;
      --running_[at(mine.rank)];
      touched.push_back(mine.rank);
      for (int f = mine.first_follower; f != kNone; f = ops_[at(f / 3)].next_follower[f % 3]) {
        if (--ops_[at(f / 3)].unmet == 0) ready_[at(mine.rank)].push(f / 3);
      }
    }
  }

  void collect_stalled(CollectiveRun& r) const {
    for (std::vector<int> const& of_communicator : instances_of_) {
      for (int instance : of_communicator) {
        Instance const& i = instances_[at(instance)];
        if (i.started == 0 || at(i.started) == i.ops.size()) continue;
        r.finishes = false;
        StalledCollective s{.communicator = i.communicator, .sequence = i.sequence};
        for (std::size_t m = 0; m < i.ops.size(); ++m) {
          int const rank = p_.communicators[at(i.communicator)].members[m];
          int const op = i.ops[m];
          if (op == kNone) {
            s.missing.push_back(rank);
          } else if (ops_[at(op)].state == State::pending) {
            s.queued.push_back(rank);
          } else {
            if (s.waiting.empty()) s.name = names_[at(op)];
            s.waiting.push_back({rank, ops_[at(op)].since});
            r.end = max(r.end, ops_[at(op)].since);
          }
        }
        r.stalled.push_back(std::move(s));
      }
    }
  }

  // The started collective that keeps a pending one of the same rank from starting.
  int holder(int op) const {
    for (;;) {
      Op const& mine = ops_[at(op)];
      if (mine.state == State::started) return op;
      int unmet = kNone;
      for (int before : mine.before) {
        if (unmet == kNone && before != kNone && ops_[at(before)].state != State::done) unmet = before;
      }
      if (unmet == kNone) break;  // no place
      op = unmet;
    }
    int in_its_place = first_op_[at(ops_[at(op)].rank)];
    while (ops_[at(in_its_place)].state != State::started) ++in_its_place;
    return in_its_place;
  }

  // The next step of a walk from a started collective: what holds the first member that has not started it.
  // kNone: that member never issues it.
  int next(int op) const {
    for (int other : instances_[at(ops_[at(op)].instance)].ops) {
      if (other == kNone) return kNone;
      if (ops_[at(other)].state == State::pending) return holder(other);
    }
    throw std::logic_error("a collective that all have started does not end");
  }

  void find_cycle(CollectiveRun& r) const {
    std::vector<int> walk_of(ops_.size(), 0);
    int walk = 0;
    for (std::size_t first = 0; first < ops_.size(); ++first) {
      if (ops_[first].state != State::started || walk_of[first] != 0) continue;
      ++walk;
      int op = static_cast<int>(first);
      while (op != kNone && walk_of[at(op)] == 0) {
        walk_of[at(op)] = walk;
        op = next(op);
      }
      if (op == kNone || walk_of[at(op)] != walk) continue;
      int const start = op;
      do {
        int const after = next(op);
        Instance const& i = instances_[at(ops_[at(op)].instance)];
        r.cycle.push_back(
            {ops_[at(op)].rank, i.communicator, i.sequence, names_[at(op)], ops_[at(after)].rank});
        op = after;
      } while (op != start);
      return;
    }
  }

  CollectivePrograms const& p_;
  std::vector<std::vector<Membership>> members_;
  std::vector<std::vector<int>> instances_of_;  // of each communicator
  std::vector<Instance> instances_;
  std::vector<Op> ops_;        // rank after rank, in the order of their issue
  std::vector<int> names_;     // of ops_
  std::vector<int> first_op_;  // of each rank
  std::vector<std::priority_queue<int, std::vector<int>, std::greater<>>> ready_;
  std::vector<int> running_;
  using End = std::pair<Seconds, int>;
  struct Later {
    bool operator()(End const& a, End const& b) const {
      return b.first < a.first || (!(a.first < b.first) && b.second < a.second);
    }
  };
  std::priority_queue<End, std::vector<End>, Later> ends_;
  Seconds now_;
};

}  // namespace

CollectiveRun run_collectives(CollectivePrograms const& p) { return Runner(p).run(); }

std::string stall_sentence(CollectivePrograms const& p, CollectiveRun const& r) {
  auto const in = [&](int rank, int name, int communicator) {
    return fmt::format("{} is in {} ({})", p.ranks[at(rank)].name, p.names[at(name)],
                       p.communicators[at(communicator)].name);
  };
  std::string out;
  for (std::size_t i = 0; i < std::min(kMostLinks, r.cycle.size()); ++i) {
    CycleLink const& l = r.cycle[i];
    out += fmt::format("{}{} and waits for {}", i == 0 ? "" : ", ", in(l.rank, l.name, l.communicator),
                       p.ranks[at(l.waits_for)].name);
  }
  if (r.cycle.size() > kMostLinks) out += fmt::format(", and so on, a circle of {}", r.cycle.size());
  if (!r.cycle.empty() || r.finishes) return out;
  for (StalledCollective const& s : r.stalled) {
    if (s.missing.empty()) continue;
    return fmt::format("{} and waits for {}, which never issues it",
                       in(s.waiting.front().rank, s.name, s.communicator),
                       p.ranks[at(s.missing.front())].name);
  }
  throw std::logic_error("a stall without a circle and without a missing rank");
}

}  // namespace rollcast
