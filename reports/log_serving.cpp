#include "reports/log_serving.hpp"

#include <cmath>
#include <iterator>
#include <stdexcept>

namespace rollcast {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostVariants = 10'000;
constexpr std::size_t kMostEngines = 1'000'000;

double finite(double v) {
  if (!std::isfinite(v)) throw std::logic_error("event log holds a number that is not finite");
  return v;
}

std::string line_of(Json const& j) { return j.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n'; }

Json head_of(ServingLog const& s) {
  Json variants = Json::array();
  for (AdapterFacts const& v : s.variants)
    variants.push_back(Json::array({v.rank, v.targets, finite(v.bytes.value), finite(v.rank_bytes.value),
                                    finite(v.cold_load.value), finite(v.merge.value)}));
  ServiceObjective const& o = s.objective;
  return Json::array({"serving", name_of(s.execution), name_of(s.pool), s.adapters, s.slots,
                      finite(s.slot.value), finite(s.wasted.value),
                      Json::array({finite(o.ttft.value), finite(o.tpot.value), finite(o.latency.value)}),
                      variants});
}

Json use_of(AdapterUse const& u) {
  return Json::array({"adapter_use", u.loads, u.storage_loads, u.hits, u.evictions, u.switches,
                      u.peak_resident, u.peak_pages, finite(u.load_time.value), finite(u.exposed.value),
                      finite(u.switch_time.value), finite(u.kernel_time.value), finite(u.distinct_steps),
                      u.steps, finite(u.busy.value), finite(u.moved.value)});
}

ServingLog& serving_of(EventLog& log, char const* kind) {
  if (!log.serving) throw BadRecord{fmt::format("{} record: no serving record came before it", kind)};
  return *log.serving;
}

AdapterFacts read_variant(Json const& list) {
  LogFields f(list, "adapter");
  AdapterFacts v;
  v.rank = f.small("a rank");
  v.targets = f.text();
  v.bytes = Bytes(f.amount());
  v.rank_bytes = Bytes(f.amount());
  v.cold_load = f.time();
  v.merge = f.time();
  f.finish();
  return v;
}

}  // namespace

std::string serving_lines(ServingLog const& s) {
  std::string out = line_of(head_of(s));
  for (AdapterUse const& u : s.engines) out += line_of(use_of(u));
  for (ServedRequest const& r : s.requests) {
    fmt::format_to(std::back_inserter(out), "[\"request\",{},{},{},{},{},{},{}]\n", finite(r.arrival.value),
                   finite(r.first_token.value), finite(r.finish.value), r.prompt_tokens, r.response_tokens,
                   r.adapter, r.engine);
  }
  return out;
}

std::size_t serving_records(ServingLog const& s) { return 1 + s.engines.size() + s.requests.size(); }

ServingLog read_serving(LogFields& f) {
  ServingLog s;
  s.execution = f.name(AdapterExecution::deployments, "execution of adapters");
  s.pool = f.name(AdapterPool::unified, "pool of adapters");
  s.adapters = f.small("a number of adapters");
  s.slots = f.small("a number of slots");
  s.slot = Bytes(f.amount());
  s.wasted = Bytes(f.amount());
  LogFields limits(f.next(), "objective");
  for (Seconds ServiceObjective::*limit :
       {&ServiceObjective::ttft, &ServiceObjective::tpot, &ServiceObjective::latency})
    s.objective.*limit = limits.time();
  limits.finish();
  Json const& variants = f.next();
  if (!variants.is_array() || variants.size() > kMostVariants)
    throw BadRecord{"serving record: its variants are no list, or too long a one"};
  for (Json const& v : variants) s.variants.push_back(read_variant(v));
  return s;
}

void read_adapter_use(LogFields& f, EventLog& log) {
  ServingLog& s = serving_of(log, "adapter_use");
  if (s.engines.size() == kMostEngines) throw BadRecord{"more engines than a log can have"};
  AdapterUse u;
  for (std::int64_t AdapterUse::*count :
       {&AdapterUse::loads, &AdapterUse::storage_loads, &AdapterUse::hits, &AdapterUse::evictions,
        &AdapterUse::switches, &AdapterUse::peak_resident, &AdapterUse::peak_pages})
    u.*count = f.count("a count");
  for (Seconds AdapterUse::*time :
       {&AdapterUse::load_time, &AdapterUse::exposed, &AdapterUse::switch_time, &AdapterUse::kernel_time})
    u.*time = f.time();
  u.distinct_steps = f.amount();
  u.steps = f.count("a number of steps");
  u.busy = f.time();
  u.moved = Bytes(f.amount());
  s.engines.push_back(u);
}

void read_request(LogFields& f, EventLog& log) {
  ServingLog& s = serving_of(log, "request");
  ServedRequest r;
  r.arrival = f.time();
  r.first_token = f.time();
  r.finish = f.time();
  if (r.first_token < r.arrival || r.finish < r.first_token)
    throw BadRecord{"request record: it is answered before it comes, or ends before it starts"};
  r.prompt_tokens = f.small("a number of tokens");
  r.response_tokens = f.small("a number of tokens");
  r.adapter = static_cast<int>(f.whole(s.adapters, "an adapter of this log, or -1", -1));
  r.engine = f.index(s.engines.size(), "an engine of this log");
  s.requests.push_back(r);
}

}  // namespace rollcast
