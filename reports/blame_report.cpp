#include "reports/blame_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "models/rank_text.hpp"
#include "reports/json.hpp"
#include "reports/text_layout.hpp"

namespace rollcast {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kSchema = 1;
constexpr int kWidth = 110;
constexpr std::size_t kShownRanks = 64;
constexpr std::size_t kShownLines = 40;
constexpr std::size_t kShownBytes = 160;

std::string sentence(std::string const& text, int indent) {
  return wrapped(words_of(printable(text)), " ", indent, kWidth);
}

std::string list_text(std::string const& title, std::vector<std::string> const& items) {
  if (items.empty()) return "";
  std::string out = "\n" + title + "\n";
  for (std::string const& item : items) out += "  - " + sentence(item, 4);
  return out;
}

std::string seq_text(std::int64_t v) { return v == -2 ? "-" : v < 0 ? "none" : std::to_string(v); }

std::string ranks_text(std::vector<RankStanding> const& ranks) {
  if (ranks.empty()) return "";
  std::string out =
      fmt::format("\n{:<8}{:<13}{:>13}{:>16}  {}\n", "Rank", "", "last enqueued", "last completed", "where");
  // Those that stand out first; the others fill up.
  std::vector<RankStanding> shown = ranks;
  std::stable_partition(shown.begin(), shown.end(), [](RankStanding const& r) {
    return r.part != RankPart::fine && r.part != RankPart::waits;
  });
  if (shown.size() > kShownRanks) shown.resize(kShownRanks);
  std::stable_sort(shown.begin(), shown.end(),
                   [](RankStanding const& a, RankStanding const& b) { return a.rank < b.rank; });
  for (RankStanding const& r : shown) {
    std::string const line =
        fmt::format("{:<8}{:<13}{:>13}{:>16}  {}", r.rank, name_of(r.part), seq_text(r.last_enqueued),
                    seq_text(r.last_completed), printable(r.where));
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  if (ranks.size() > shown.size()) out += fmt::format("... and {} more\n", ranks.size() - shown.size());
  return out;
}

std::string cut(std::string const& text) {
  return printable(text.size() <= kShownBytes ? text : text.substr(0, kShownBytes) + "...");
}

std::string place_text(std::string const& file, int line) {
  return line > 0 ? fmt::format("{}:{}", printable(file), line) : printable(file);
}

std::string rank_text(IncidentFact const& f) {
  if (f.rank < 0) return f.process.empty() ? "" : printable(f.process);
  return fmt::format("rank {}{}", f.rank,
                     f.rank_source == RankSource::group  ? " of its group"
                     : f.rank_source == RankSource::node ? " of its node"
                                                         : "");
}

std::string timeline_text(std::vector<IncidentFact> const& facts) {
  if (facts.empty()) return "";
  std::string out = "\nTimeline\n";
  for (std::size_t i = 0; i < std::min(facts.size(), kShownLines); ++i) {
    IncidentFact const& f = facts[i];
    out += fmt::format("  {:<19} {:<17} {:<12} {}\n", clock_text(f.time), name_of(f.kind), rank_text(f),
                       place_text(f.file, f.line));
    out += fmt::format("      {}\n", cut(f.text));
  }
  if (facts.size() > kShownLines) out += fmt::format("  ... and {} more\n", facts.size() - kShownLines);
  return out;
}

std::string evidence_text(std::vector<BlameEvidence> const& evidence) {
  if (evidence.empty()) return "";
  std::string out = "\nEvidence\n";
  for (std::size_t i = 0; i < std::min(evidence.size(), kShownLines); ++i)
    out += fmt::format("  {}: {}\n", place_text(evidence[i].file, evidence[i].line), cut(evidence[i].text));
  if (evidence.size() > kShownLines) out += fmt::format("  ... and {} more\n", evidence.size() - kShownLines);
  return out;
}

Json known(std::int64_t v, std::int64_t unknown) { return v == unknown ? Json() : Json(v); }

Json fact_json(IncidentFact const& f) {
  return {{"kind", name_of(f.kind)},
          {"seconds", f.time ? Json(nine_digits(f.time->value)) : Json()},
          {"clock", f.time ? Json(clock_text(f.time)) : Json()},
          {"rank", known(f.rank, -1)},
          {"rank_counted_in", f.rank < 0                           ? Json()
                              : f.rank_source == RankSource::group ? Json("group")
                              : f.rank_source == RankSource::node  ? Json("node")
                                                                   : Json("run")},
          {"process", f.process.empty() ? Json() : Json(f.process)},
          {"group", f.group.empty() ? Json() : Json(f.group)},
          {"op", f.op.empty() ? Json() : Json(f.op)},
          {"seq", known(f.seq, -1)},
          {"numel_in", known(f.numel_in, -1)},
          {"timeout_ms", known(f.timeout_ms, -1)},
          {"ran_ms", known(f.ran_ms, -1)},
          {"last_enqueued", known(f.last_enqueued, -2)},
          {"last_completed", known(f.last_completed, -2)},
          {"exit_code", f.exit_code ? Json(*f.exit_code) : Json()},
          {"text", f.text},
          {"file", f.file},
          {"line", f.line}};
}

}  // namespace

std::string_view name_of(FactKind k) {
  switch (k) {
    case FactKind::watchdog_timeout:
      return "watchdog_timeout";
    case FactKind::watchdog_status:
      return "watchdog_status";
    case FactKind::dump_signal:
      return "dump_signal";
    case FactKind::heartbeat_stuck:
      return "heartbeat_stuck";
    case FactKind::out_of_memory:
      return "out_of_memory";
    case FactKind::exception:
      return "exception";
    case FactKind::nccl_warning:
      return "nccl_warning";
    case FactKind::nccl_error:
      return "nccl_error";
    case FactKind::process_abort:
      return "process_abort";
    case FactKind::process_exit:
      return "process_exit";
    case FactKind::launcher_stop:
      return "launcher_stop";
    case FactKind::request_timeout:
      return "request_timeout";
  }
  throw std::logic_error("name_of: no such kind of fact");
}

std::string clock_text(std::optional<Seconds> since_new_year) {
  if (!since_new_year) return "-";
  constexpr std::array<int, 13> before = {0, 31, 60, 91, 121, 152, 182, 213, 244, 274, 305, 335, 366};
  auto const ms_of = std::llround(since_new_year->value * 1000);
  auto const day = static_cast<int>(ms_of / 86'400'000);
  auto const month = std::upper_bound(before.begin(), before.end(), day) - before.begin();
  auto const in_day = ms_of % 86'400'000;
  return fmt::format("{:02}-{:02} {:02}:{:02}:{:02}.{:03}", month,
                     day - before[static_cast<std::size_t>(month - 1)] + 1, in_day / 3'600'000,
                     in_day / 60'000 % 60, in_day / 1000 % 60, in_day % 1000);
}

std::string blame_text(Blame const& b, std::vector<IncidentFact> const& facts) {
  std::string out = sentence(b.verdict, 0) + "\n";
  if (!b.op.empty())
    out += "Collective  " + printable(collective_text(b.op, b.seq, b.group, b.group_desc)) + "\n";
  out += "Culprit     " + (b.culprits.empty() ? "none named" : named_ranks(b.culprits)) + "\n";
  if (!b.waiting.empty()) out += "Waiting     " + named_ranks(b.waiting) + "\n";
  out += list_text("Who waits for whom", b.chain);
  out += ranks_text(b.ranks);
  out += timeline_text(facts);
  out += evidence_text(b.evidence);
  out += list_text("Certain", b.certain);
  out += list_text("Inferred", b.inferred);
  return out + list_text("What would make it surer", b.missing);
}

std::string blame_json(Blame const& b, std::vector<IncidentFact> const& facts) {
  Json ranks = Json::array();
  for (RankStanding const& r : b.ranks) {
    ranks.push_back({{"rank", r.rank},
                     {"part", name_of(r.part)},
                     {"where", r.where},
                     {"last_enqueued", known(r.last_enqueued, -2)},
                     {"last_completed", known(r.last_completed, -2)}});
  }
  Json evidence = Json::array();
  for (BlameEvidence const& e : b.evidence)
    evidence.push_back({{"file", e.file}, {"line", e.line > 0 ? Json(e.line) : Json()}, {"text", e.text}});
  Json timeline = Json::array();
  for (IncidentFact const& f : facts) timeline.push_back(fact_json(f));
  Json const out = {{"schema", kSchema},
                    {"kind", name_of(b.kind)},
                    {"verdict", b.verdict},
                    {"culprits", b.culprits},
                    {"group", b.group.empty() ? Json() : Json(b.group)},
                    {"group_description", b.group_desc.empty() ? Json() : Json(b.group_desc)},
                    {"op", b.op.empty() ? Json() : Json(b.op)},
                    {"seq", known(b.seq, -1)},
                    {"waiting", b.waiting},
                    {"chain", b.chain},
                    {"ranks", std::move(ranks)},
                    {"timeline", std::move(timeline)},
                    {"evidence", std::move(evidence)},
                    {"certain", b.certain},
                    {"inferred", b.inferred},
                    {"missing", b.missing}};
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace rollcast
