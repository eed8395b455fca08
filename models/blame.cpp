#include "models/blame.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <tuple>

namespace rollcast {
namespace {

// What the dumps add to a first cause that the logs know: the collective, who waits, the ranks.
void add_dumps(Blame& b, Blame const& dumps) {
  b.evidence.insert(b.evidence.end(), dumps.evidence.begin(), dumps.evidence.end());
  b.chain = dumps.chain;
  if (!dumps.op.empty()) {
    b.group = dumps.group;
    b.group_desc = dumps.group_desc;
    b.op = dumps.op;
    b.seq = dumps.seq;
    b.waiting = dumps.waiting;
  }
  if (dumps.culprits == b.culprits && !b.culprits.empty()) {
    b.certain.push_back("the dumps name the same rank: " + dumps.verdict);
  } else if (dumps.kind != BlameKind::nothing_stuck) {
    b.inferred.push_back("the dumps by themselves say: " + dumps.verdict);
  }
  b.missing.insert(b.missing.end(), dumps.missing.begin(), dumps.missing.end());
  std::vector<RankStanding> ranks = dumps.ranks;
  for (RankStanding const& r : b.ranks) {
    auto const same =
        std::find_if(ranks.begin(), ranks.end(), [&r](RankStanding const& o) { return o.rank == r.rank; });
    if (same == ranks.end()) {
      ranks.push_back(r);
    } else if (r.part == RankPart::failed) {
      same->part = r.part;
      same->where = r.where;
    }
  }
  std::sort(ranks.begin(), ranks.end(),
            [](RankStanding const& a, RankStanding const& c) { return a.rank < c.rank; });
  b.ranks = std::move(ranks);
}

}  // namespace

std::string_view name_of(BlameKind k) {
  switch (k) {
    case BlameKind::first_failure:
      return "first_failure";
    case BlameKind::missing_rank:
      return "missing_rank";
    case BlameKind::no_dump:
      return "no_dump";
    case BlameKind::mismatch:
      return "mismatch";
    case BlameKind::not_started:
      return "not_started";
    case BlameKind::order_cycle:
      return "order_cycle";
    case BlameKind::all_waiting:
      return "all_waiting";
    case BlameKind::nothing_stuck:
      return "nothing_stuck";
    case BlameKind::no_collective:
      return "no_collective";
  }
  throw std::logic_error("name_of: no such kind of blame");
}

std::string_view name_of(RankPart p) {
  switch (p) {
    case RankPart::fine:
      return "fine";
    case RankPart::waits:
      return "waits";
    case RankPart::missing:
      return "missing";
    case RankPart::differs:
      return "differs";
    case RankPart::not_started:
      return "not_started";
    case RankPart::no_dump:
      return "no_dump";
    case RankPart::failed:
      return "failed";
  }
  throw std::logic_error("name_of: no such part of a rank");
}

std::vector<IncidentFact> in_order(std::vector<IncidentFact> facts) {
  std::sort(facts.begin(), facts.end(), [](IncidentFact const& a, IncidentFact const& b) {
    if (a.after < b.after) return true;
    if (b.after < a.after) return false;
    return std::tie(a.file, a.line) < std::tie(b.file, b.line);
  });
  return facts;
}

std::string capital(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

std::string collective_text(std::string const& op, std::int64_t seq, std::string const& group,
                            std::string const& desc) {
  std::string out = op.empty() ? "a collective" : op;
  if (seq >= 0) out += fmt::format(" seq {}", seq);
  if (!group.empty()) out += fmt::format(" of group {}", group);
  if (!desc.empty() && desc != "undefined") out += fmt::format(" ({})", desc);
  return out;
}

Blame blame(std::vector<FlightDump> const& dumps, std::vector<IncidentFact> const& facts) {
  std::vector<IncidentFact> const ordered = in_order(facts);
  if (dumps.empty()) return blame_logs(ordered);
  Blame from_dumps = blame_dumps(dumps);
  if (ordered.empty()) return from_dumps;
  Blame from_logs = blame_logs(ordered);
  // Dumps of a few ranks leave many to suspect; the logs may name one of them.
  bool const narrower = from_dumps.kind == BlameKind::no_dump && !from_logs.culprits.empty() &&
                        from_logs.culprits.size() < from_dumps.culprits.size() &&
                        std::includes(from_dumps.culprits.begin(), from_dumps.culprits.end(),
                                      from_logs.culprits.begin(), from_logs.culprits.end());
  if (from_logs.kind == BlameKind::first_failure || narrower ||
      (from_dumps.kind == BlameKind::nothing_stuck && !from_logs.op.empty())) {
    add_dumps(from_logs, from_dumps);
    return from_logs;
  }
  from_dumps.evidence.insert(from_dumps.evidence.end(), from_logs.evidence.begin(), from_logs.evidence.end());
  if (!from_logs.op.empty()) from_dumps.certain.push_back("the watchdog's lines: " + from_logs.verdict);
  return from_dumps;
}

}  // namespace rollcast
