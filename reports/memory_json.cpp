#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "reports/json.hpp"
#include "reports/memory_report.hpp"

namespace rollcast {
namespace {

using Json = nlohmann::ordered_json;

constexpr int schema = 1;

std::int64_t whole(Bytes b) { return std::llround(b.value); }

Json names(std::vector<Phase> const& phases) {
  Json out = Json::array();
  for (Phase p : phases) out.push_back(name_of(p));
  return out;
}

Json phase_json(RankLedger const& l, Phase p) {
  Json categories = Json::object();
  for (LedgerLine const& line : l.lines) {
    if (Bytes const sum = category_total(l, p, line.category); sum.value > 0) {
      categories[std::string(name_of(line.category))] = whole(sum);
    }
  }
  return {{"name", name_of(p)},
          {"bytes", whole(total(l, p))},
          {"host_bytes", whole(total(l, p, true))},
          {"categories", categories}};
}

Json line_json(LedgerLine const& line) {
  return {{"name", line.name},          {"role", name_of(line.role)}, {"category", name_of(line.category)},
          {"bytes", whole(line.bytes)}, {"host", line.host},          {"phases", names(line.phases)},
          {"formula", line.formula}};
}

Json class_json(PoolMemory const& pool, RankLedger const& l) {
  MemoryPeak const top = peak(l);
  Json table = Json::array();
  for (Phase p : pool.phases) table.push_back(phase_json(l, p));
  Json lines = Json::array();
  for (LedgerLine const& line : l.lines) lines.push_back(line_json(line));
  return {{"name", l.name},
          {"pool", pool.name},
          {"pipeline_stage", l.pipeline_stage},
          {"ranks", l.ranks},
          {"capacity_bytes", whole(l.capacity)},
          {"peak_bytes", whole(top.bytes)},
          {"peak_phase", name_of(top.phase)},
          {"headroom_bytes", whole(l.capacity - top.bytes)},
          {"host_peak_bytes", whole(peak(l, true).bytes)},
          {"phases", table},
          {"lines", lines}};
}

Json kv_json(std::optional<KvForecast> const& kv) {
  if (!kv) return nullptr;
  return {{"engines", kv->engines},
          {"blocks", std::max<std::int64_t>(0, kv->blocks)},
          {"block_tokens", kv->block_tokens},
          {"tokens", kv->tokens()},
          {"bytes_per_token", whole(kv->bytes_per_token)},
          {"mean_sequence", nine_digits(kv->mean_sequence)},
          {"longest_sequence", kv->longest_sequence},
          {"mean_sequences", kv->holds(kv->mean_sequence)},
          {"longest_sequences", kv->holds(static_cast<double>(kv->longest_sequence))}};
}

Json host_json(PoolMemory const& pool) {
  MemoryPeak const host = host_peak(pool.ledgers, pool.cluster);
  return {{"pool", pool.name},
          {"capacity_bytes", whole(pool.cluster.node.host_memory)},
          {"peak_bytes", whole(host.bytes)},
          {"peak_phase", name_of(host.phase)}};
}

Json changes_json(std::optional<std::vector<MemoryChange>> const& changes) {
  if (!changes) return nullptr;
  Json out = Json::array();
  for (MemoryChange const& c : *changes) {
    out.push_back({{"sets", c.sets},
                   {"headroom_bytes", whole(c.headroom)},
                   {"gpu_hours_per_step", c.gpu_hours ? Json(*c.gpu_hours) : Json()}});
  }
  return out;
}

}  // namespace

std::string memory_json(MemoryForecast const& f) {
  MemoryVerdict const verdict = memory_verdict(f);
  Json classes = Json::array();
  Json hosts = Json::array();
  for (PoolMemory const& pool : f.pools) {
    for (RankLedger const& l : pool.ledgers) classes.push_back(class_json(pool, l));
    hosts.push_back(host_json(pool));
  }
  Json const out = {{"schema", schema},
                    {"scenario", f.scenario},
                    {"fits", verdict.fits},
                    {"verdict", verdict.sentence},
                    {"classes", classes},
                    {"kv", kv_json(f.kv)},
                    {"longest_fitting_sequence", f.longest_fitting ? Json(*f.longest_fitting) : Json()},
                    {"hosts", hosts},
                    {"changes", changes_json(f.changes)}};
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace rollcast
