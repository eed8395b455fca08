#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "reports/log_fields.hpp"
#include "reports/log_file.hpp"
#include "reports/log_incident.hpp"
#include "reports/log_serving.hpp"

namespace rollcast {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t kSchema = 1;
constexpr std::size_t kLongestLine = std::size_t{16} << 20;
constexpr int kDeepestNesting = 6;
constexpr std::size_t kMostPools = 256;
constexpr std::size_t kMostStaleness = 100'000;
constexpr double kLargestNumber = LogFields::kLargestNumber;
constexpr std::size_t kMostSpares = 1'000'001;
constexpr double kMostFailures = 20'001;  // of a long run: as scenarios allow, and rounding

void order(Seconds start, Seconds end, char const* kind) {
  if (end < start) throw BadRecord{fmt::format("{} record ends before it starts", kind)};
}

constexpr Role kLastRole = Role::process;
constexpr MemoryCategory kLastCategory = MemoryCategory::allocator_cache;
constexpr Phase kLastPhase = Phase::checkpoint;

void read_header(Json const& j, EventLog& log) {
  if (!j.is_object() || !j.contains("format") || j["format"] != "rollcast-log" || !j.contains("schema"))
    throw BadRecord{"not a Rollcast log; rollcast run --log writes one"};
  if (!j["schema"].is_number_unsigned()) throw BadRecord{"the log has no schema number"};
  if (auto const schema = j["schema"].get<std::uint64_t>(); schema != kSchema) {
    throw BadRecord{
        fmt::format("the log has schema {}, this program reads {}; read it with the release that wrote it",
                    schema, kSchema)};
  }
  Json fields = Json::array();
  for (char const* key :
       {"scenario", "seed", "outcome", "outcome_reason", "notes", "measured", "measured_source"}) {
    if (!j.contains(key)) throw BadRecord{fmt::format("the header has no '{}'", key)};
    fields.push_back(j[key]);
  }
  LogFields f(fields, "header");
  log.scenario = f.text();
  Json const& seed = f.next();
  if (!seed.is_number_unsigned()) throw BadRecord{"the header's seed is not a whole number"};
  log.seed = seed.get<std::uint64_t>();
  log.outcome = f.name(Outcome::infeasible, "outcome");
  log.outcome_reason = f.text();
  Json const& notes = f.next();
  for (LogFields n(notes, "notes"); log.notes.size() < notes.size();) log.notes.push_back(n.text());
  for (Json const& m : f.next()) {
    LogFields pair(m, "measured");
    std::string name = pair.text();
    log.measured.emplace_back(std::move(name), pair.number(-kLargestNumber, kLargestNumber));
    pair.finish();
  }
  log.measured_source = f.text();
}

PoolInfo read_pool(LogFields& f) {
  PoolInfo p;
  p.name = f.text();
  p.node = f.text();
  p.gpu = f.text();
  p.gpus = f.small("a number of GPUs");
  p.peak_flops = FlopsPerSecond(f.amount());
  p.memory_bandwidth = BytesPerSecond(f.amount());
  p.capacity = Bytes(f.amount());
  return p;
}

void read_own_prices(Json const& j, OwnPrices& own) {
  LogFields f(j, "own prices");
  own.profile = f.text();
  own.from = f.text();
  own.stack = f.text();
  own.date = f.text();
  Json const& operations = f.next();
  for (LogFields o(operations, "operations"); own.operations.size() < operations.size();)
    own.operations.push_back(o.text());
  f.finish();
}

void read_prices(LogFields& f, EventLog& log) {
  PriceNote& n = log.pools[static_cast<std::size_t>(f.index(log.pools.size(), "a pool of this log"))].prices;
  if (!n.gpu.empty()) throw BadRecord{"prices record: its pool has one already"};
  n.gpu = f.text();
  if (n.gpu.empty()) throw BadRecord{"prices record: it names no GPU"};
  n.basis = f.name(kLastPriceBasis, "basis of prices");
  n.from = f.text();
  n.stack = f.text();
  n.date = f.text();
  n.median = f.amount();
  n.p90 = f.amount();
  n.band = f.text();
  if (f.has_next()) read_own_prices(f.next(), n.own);
}

LedgerLine read_ledger_line(Json const& j) {
  LogFields f(j, "ledger line");
  LedgerLine line;
  line.role = f.name(kLastRole, "role");
  line.category = f.name(kLastCategory, "memory category");
  line.bytes = Bytes(f.amount());
  line.host = f.flag();
  Json const& phases = f.next();
  for (LogFields p(phases, "ledger phases"); line.phases.size() < phases.size();)
    line.phases.push_back(p.name(kLastPhase, "phase"));
  line.formula = f.text();
  line.name = f.text();
  f.finish();
  return line;
}

RankLedger read_ledger(LogFields& f) {
  RankLedger l;
  l.name = f.text();
  l.pipeline_stage = f.small("a pipeline stage");
  l.ranks = f.small("a number of ranks");
  l.capacity = Bytes(f.amount());
  Json const& lines = f.next();
  if (!lines.is_array()) throw BadRecord{"ledger record: its lines are not a list"};
  for (Json const& line : lines) l.lines.push_back(read_ledger_line(line));
  return l;
}

void read_rank_class(LogFields& f, EventLog& log) {
  RankClassInfo c;
  c.name = f.text();
  c.pool = f.index(log.pools.size(), "a pool of this log");
  c.node = f.small("a node");
  Json const& ranks = f.next();
  c.ranks.reserve(ranks.size());
  for (LogFields r(ranks, "ranks"); c.ranks.size() < ranks.size();) c.ranks.push_back(r.small("a rank"));
  if (c.ranks.empty()) throw BadRecord{"rank_class record: no ranks"};
  if (!f.skip_null()) log.ledger_of_class.push_back(f.index(log.ledgers.size(), "a ledger of this log"));
  log.rank_classes.push_back(std::move(c));
}

// What older logs do not tell of a step.
void read_samples(LogFields& f, StepRecord& s) {
  s.generated_samples = f.count("a number of samples");
  s.computed_tokens = f.count("a number of tokens");
  s.useful_tokens = f.count("a number of tokens");
  if (s.useful_tokens > s.computed_tokens) throw BadRecord{"step record: more useful tokens than computed"};
  Json const& staleness = f.next();
  if (!staleness.is_array()) throw BadRecord{"step record: its staleness is not a list"};
  if (staleness.size() > kMostStaleness) throw BadRecord{"step record: its staleness is too long a list"};
  for (LogFields k(staleness, "staleness"); s.staleness.size() < staleness.size();)
    s.staleness.push_back(k.count("a number of samples"));
  if (f.skip_null()) return;
  s.signal_samples = f.count("a number of samples");
  if (*s.signal_samples > s.samples) throw BadRecord{"step record: more samples with a signal than samples"};
}

StepRecord read_step(LogFields& f) {
  StepRecord s;
  s.start = f.time();
  s.end = f.time();
  order(s.start, s.end, "step");
  s.samples = f.count("a number of samples");
  s.prompt_tokens = f.count("a number of tokens");
  s.response_tokens = f.count("a number of tokens");
  s.preemptions = f.count("a number of preemptions");
  if (f.has_next()) read_samples(f, s);
  return s;
}

PhaseWindow read_phase(LogFields& f, EventLog const& log) {
  PhaseWindow w;
  w.pool = f.index(log.pools.size(), "a pool of this log");
  w.step = f.step();
  w.phase = f.name(kLastPhase, "phase");
  w.start = f.time();
  w.end = f.time();
  order(w.start, w.end, "phase");
  return w;
}

Span read_span(LogFields& f, EventLog const& log) {
  Span s;
  s.rank_class = f.index(log.rank_classes.size(), "a rank class of this log");
  s.step = f.step();
  s.stream = f.name(Stream::storage, "stream");
  s.phase = f.name(kLastPhase, "phase");
  s.activity = f.name(Activity::driver, "activity");
  s.label = f.index(log.labels.size(), "a label of this log");
  s.start = f.time();
  s.end = f.time();
  order(s.start, s.end, "span");
  s.flops = Flops(f.amount());
  s.hbm = Bytes(f.amount());
  return s;
}

Counter read_counter(LogFields& f, EventLog const& log) {
  Counter c;
  c.rank_class = f.index(log.rank_classes.size(), "a rank class of this log");
  c.kind = f.name(CounterKind::memory, "counter");
  c.role = f.name(kLastRole, "role");
  c.category = f.name(kLastCategory, "memory category");
  c.time = f.time();
  c.value = f.number(-kLargestNumber, kLargestNumber);
  return c;
}

Handover read_handover(LogFields& f, EventLog const& log) {
  Handover h;
  h.step = f.step();
  h.from_rank_class = f.index(log.rank_classes.size(), "a rank class of this log");
  h.to_rank_class = f.index(log.rank_classes.size(), "a rank class of this log");
  h.sent = f.time();
  h.received = f.time();
  order(h.sent, h.received, "handover");
  h.samples = f.small("a number of samples");
  return h;
}

FailureRecord read_failure(LogFields& f, EventLog const& log) {
  FailureRecord r;
  r.time = f.time();
  r.kind = f.text();
  r.rank = f.small("a rank");
  r.pool = f.index(log.pools.size(), "a pool of this log");
  r.step = f.step();
  r.what = f.text();
  r.bytes = Bytes(f.amount());
  r.limit = Bytes(f.amount());
  return r;
}

OutOfMemory read_figures(Json const& list) {
  LogFields f(list, "oom figures");
  OutOfMemory o;
  for (std::int64_t* v : {&o.requested, &o.block, &o.tried, &o.total, &o.free, &o.non_torch, &o.process,
                          &o.allocated, &o.private_pools, &o.reserved_unallocated})
    *v = f.count("bytes");
  Json const& others = f.next();
  if (!others.is_array()) throw BadRecord{"oom figures: other processes are no list"};
  for (Json const& each : others) {
    LogFields of(each, "process");
    int const pid = of.small("a process");
    o.other_processes.push_back({pid, of.count("bytes")});
    of.finish();
  }
  f.finish();
  return o;
}

OomRecord read_oom(LogFields& f, EventLog const& log) {
  OomRecord o;
  o.kind = f.name(OomKind::host, "kind of memory");
  o.time = f.time();
  o.rank = f.small("a rank");
  o.pool = f.index(log.pools.size(), "a pool of this log");
  o.step = f.step();
  o.phase = f.name(kLastPhase, "phase");
  o.allocation = f.text();
  o.requested = Bytes(f.amount());
  o.free = Bytes(f.amount());
  o.allocated = Bytes(f.amount());
  if (f.has_next() && !f.skip_null()) o.micro_batch = f.small("a micro-batch");
  if (f.has_next() && !f.skip_null()) o.figures = read_figures(f.next());
  if (f.has_next() && !f.skip_null()) o.numa = f.small("a NUMA node");
  return o;
}

LongRunPlan read_long_run(LogFields& f) {
  LongRunPlan p;
  p.every = f.small("a number of steps");
  for (Seconds LongRun::*part :
       {&LongRun::checkpoint, &LongRun::write, &LongRun::detection, &LongRun::relaunch, &LongRun::load})
    p.run.*part = f.time();
  p.run.between_failures = Seconds(f.number(1e-9, kLargestNumber));
  p.run.spares = f.index(kMostSpares, "a number of nodes");
  p.run.replacement = f.time();
  p.run.horizon = f.time();
  if (p.run.horizon > p.run.between_failures * kMostFailures)
    throw BadRecord{"long_run record: more failures than a forecast can have"};
  return p;
}

// Adds the record to the log; true at the end record, which must tell how many came before it.
bool read_record(Json const& j, std::int64_t records, EventLog& log) {
  if (!j.is_array() || j.empty() || !j[0].is_string()) throw BadRecord{"not a record of a Rollcast log"};
  auto const kind = j[0].get<std::string>();
  LogFields f(j, kind.substr(0, 40));
  f.next();
  if (kind == "pool") {
    if (log.pools.size() == kMostPools) throw BadRecord{"more pools than a log can have"};
    log.pools.push_back(read_pool(f));
  } else if (kind == "prices") {
    read_prices(f, log);
  } else if (kind == "label") {
    log.labels.push_back(f.text());
  } else if (kind == "ledger") {
    log.ledgers.push_back(read_ledger(f));
  } else if (kind == "rank_class") {
    read_rank_class(f, log);
  } else if (kind == "long_run") {
    if (log.long_run) throw BadRecord{"a second long_run record"};
    log.long_run = read_long_run(f);
  } else if (kind == "failure") {
    log.failures.push_back(read_failure(f, log));
  } else if (kind == "oom") {
    log.ooms.push_back(read_oom(f, log));
  } else if (kind == "stall") {
    log.stalls.push_back(read_stall(f, log));
  } else if (kind == "happening") {
    log.happenings.push_back(read_happening(f, log));
  } else if (kind == "remedy") {
    log.remedies.push_back(read_remedy(f));
  } else if (kind == "step") {
    log.steps.push_back(read_step(f));
  } else if (kind == "phase") {
    log.phases.push_back(read_phase(f, log));
  } else if (kind == "span") {
    log.spans.push_back(read_span(f, log));
  } else if (kind == "counter") {
    log.counters.push_back(read_counter(f, log));
  } else if (kind == "handover") {
    log.handovers.push_back(read_handover(f, log));
  } else if (kind == "serving") {
    if (log.serving) throw BadRecord{"a second serving record"};
    log.serving = read_serving(f);
  } else if (kind == "adapter_use") {
    read_adapter_use(f, log);
  } else if (kind == "request") {
    read_request(f, log);
  } else if (kind == "end") {
    if (auto const told = f.count("a number of records"); told != records)
      throw BadRecord{fmt::format("the end record tells of {} records, {} came before it", told, records)};
    if (!log.ledger_of_class.empty() && log.ledger_of_class.size() != log.rank_classes.size())
      throw BadRecord{"some rank classes have a ledger and some have none"};
    f.finish();
    return true;
  } else {
    throw BadRecord{fmt::format("'{}' is not a record of a Rollcast log", kind.substr(0, 40))};
  }
  f.finish();
  return false;
}

Json parse_line(std::string_view line) {
  auto const shallow = [](int depth, Json::parse_event_t, Json const&) {
    if (depth > kDeepestNesting) throw BadRecord{"nested deeper than any record"};
    return true;
  };
  Json j = Json::parse(line, shallow, false);
  if (j.is_discarded()) throw BadRecord{"not JSON, or cut off"};
  return j;
}

enum class LineEnd { newline, end_of_file, too_long };

LineEnd read_line(std::streambuf& in, std::string& line) {
  line.clear();
  for (int c = in.sbumpc(); c != std::char_traits<char>::eof(); c = in.sbumpc()) {
    if (c == '\n') return LineEnd::newline;
    if (line.size() == kLongestLine) return LineEnd::too_long;
    line.push_back(static_cast<char>(c));
  }
  return LineEnd::end_of_file;
}

}  // namespace

LogResult read_log(std::istream& in, std::string const& name) {
  EventLog log;
  std::string line;
  std::int64_t number = 0;
  bool ended = false;
  auto const problem = [&](std::string const& what) {
    return LogResult{std::nullopt, fmt::format("{}:{}: {}", name, number, what)};
  };
  try {
    for (LineEnd end = LineEnd::newline; end == LineEnd::newline;) {
      end = read_line(*in.rdbuf(), line);
      if (end == LineEnd::end_of_file && line.empty()) break;
      ++number;
      if (end == LineEnd::too_long) return problem("not a Rollcast log: a line is longer than 16 MiB");
      if (ended) return problem("something follows the end record");
      Json const j = parse_line(line);
      if (number == 1) {
        read_header(j, log);
      } else {
        ended = read_record(j, number - 2, log);
      }
    }
  } catch (BadRecord const& bad) {
    if (number == 1 && bad.what.find("schema") == std::string::npos)
      return problem("not a Rollcast log; rollcast run --log writes one");
    return problem(bad.what);
  }
  if (number == 0) return {std::nullopt, name + ": the file is empty; rollcast run --log writes a log"};
  if (!ended) return problem("the log stops here without an end record: the file is cut");
  return {std::move(log), {}};
}

LogResult read_log_file(std::string const& path) {
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in) return {std::nullopt, fmt::format("{}: cannot read: {}", path, std::strerror(errno))};
  in.peek();
  if (in.bad()) return {std::nullopt, fmt::format("{}: cannot read: {}", path, std::strerror(errno))};
  in.clear();
  return read_log(in, path);
}

}  // namespace rollcast
