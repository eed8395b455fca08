#include "reports/log_incident.hpp"

namespace rollcast {
namespace {

using Json = nlohmann::ordered_json;

Json or_null(std::optional<Seconds> const& t) { return t ? Json(t->value) : Json(); }

std::vector<int> read_ranks(LogFields& f) {
  Json const& list = f.next();
  if (!list.is_array()) throw BadRecord{"a list of ranks is none"};
  std::vector<int> ranks;
  for (LogFields r(list, "ranks"); ranks.size() < list.size();) ranks.push_back(r.small("a rank"));
  return ranks;
}

std::optional<Seconds> read_time(LogFields& f) {
  if (f.skip_null()) return std::nullopt;
  return f.time();
}

}  // namespace

Json log_record(StallRecord const& r) {
  return Json::array({"stall", r.time.value, name_of(r.kind), r.pool, r.cause, r.group, r.operation,
                      r.sequence ? Json(*r.sequence) : Json(), r.waiting_ranks, r.missing_ranks,
                      or_null(r.enqueued), or_null(r.detected), or_null(r.killed),
                      r.gpu_seconds_lost ? Json(*r.gpu_seconds_lost) : Json()});
}

Json log_record(Happening const& h) {
  return Json::array({"happening", h.time.value, h.until.value, name_of(h.kind), h.pool, h.ranks, h.what});
}

Json log_record(Remedy const& r) { return Json::array({"remedy", r.what, r.ended.value, r.saved.value}); }

StallRecord read_stall(LogFields& f, EventLog const& log) {
  StallRecord r;
  r.time = f.time();
  r.kind = f.name(StallKind::deadlock, "kind of stall");
  r.pool = f.index(log.pools.size(), "a pool of this log");
  r.cause = f.text();
  r.group = f.text();
  r.operation = f.text();
  if (!f.skip_null()) r.sequence = f.count("a number of collectives");
  r.waiting_ranks = read_ranks(f);
  r.missing_ranks = read_ranks(f);
  r.enqueued = read_time(f);
  r.detected = read_time(f);
  r.killed = read_time(f);
  if (!f.skip_null()) r.gpu_seconds_lost = f.amount();
  return r;
}

Happening read_happening(LogFields& f, EventLog const& log) {
  Happening h;
  h.time = f.time();
  h.until = f.time();
  if (h.until < h.time) throw BadRecord{"happening record ends before it starts"};
  h.kind = f.name(HappeningKind::ends, "kind of happening");
  h.pool = f.index(log.pools.size(), "a pool of this log");
  h.ranks = read_ranks(f);
  h.what = f.text();
  return h;
}

Remedy read_remedy(LogFields& f) {
  Remedy r;
  r.what = f.text();
  r.ended = f.time();
  r.saved = f.time();
  return r;
}

}  // namespace rollcast
