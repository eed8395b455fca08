#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "reports/json.hpp"
#include "reports/weights_report.hpp"

namespace rollcast {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kSchema = 1;

Json links_json(LinkBytes const& b) {
  return {{"same_gpu", b.at(SyncLink::same_gpu)},
          {"node", b.at(SyncLink::node)},
          {"network", b.at(SyncLink::network)},
          {"total", b.total()}};
}

Json largest_json(std::vector<LinkBytes> const& ranks) {
  std::size_t const rank = busiest_rank(ranks);
  return {{"rank", rank}, {"bytes", ranks[rank].to_others()}};
}

Json groups_json(std::vector<LinkBytes> const& ranks) {
  Json out = Json::array();
  for (RankGroup const& g : equal_ranks(ranks))
    out.push_back({{"ranks", g.ranks}, {"bytes", links_json(g.bytes)}});
  return out;
}

Json nodes_json(SyncTraffic const& t) {
  Json out = Json::array();
  for (auto const& [nodes, bytes] : t.node_pairs)
    out.push_back({{"from", nodes.first}, {"to", nodes.second}, {"bytes", bytes}});
  return out;
}

Json fp8_json(WeightsForecast const& f) {
  SyncTraffic const& t = f.traffic;
  if (t.blocks == 0) return nullptr;
  return {{"scaling", f.map.payload.scaling == Fp8Scaling::tensor ? "tensor" : "block"},
          {"scale_bytes", t.scale_bytes},
          {"blocks", t.blocks},
          {"cut_by_trainer", t.blocks_cut_by_trainer},
          {"cut_by_engines", t.blocks_cut_by_engines}};
}

Json copies_json(WeightsForecast const& f, TensorDetail const& d) {
  Json out = Json::array();
  for (RankCopy const& c : d.copies) {
    out.push_back({{"source_rank", c.source_rank},
                   {"destination_rank", c.destination_rank},
                   {"link", name_of(c.link)},
                   {"what", what_text(f.map.model, d.tensor, c.what.rows, c.what.columns)},
                   {"first_row", c.what.rows.first},
                   {"rows", c.what.rows.count},
                   {"first_column", c.what.columns.first},
                   {"columns", c.what.columns.count},
                   {"source_offset", c.what.source_offset},
                   {"source_stride", c.what.source_stride},
                   {"destination_offset", c.what.destination_offset},
                   {"destination_stride", c.what.destination_stride},
                   {"bytes", c.bytes}});
  }
  return out;
}

Json details_json(WeightsForecast const& f) {
  Json out = Json::array();
  for (TensorDetail const& d : f.details) {
    out.push_back({{"tensor", full_name(d.tensor)},
                   {"rows", d.tensor.tensor.rows},
                   {"columns", d.tensor.tensor.columns},
                   {"element_bytes", d.tensor.element_bytes},
                   {"source", d.source.stored},
                   {"destination", d.destination.stored},
                   {"copies", copies_json(f, d)}});
  }
  return out;
}

Json wire_json(std::vector<WireNeed> const& needs) {
  Json out = Json::array();
  for (WireNeed const& w : needs) {
    out.push_back({{"link", name_of(w.link)},
                   {"seconds", nine_digits(w.time.value)},
                   {"busiest", w.busiest},
                   {"bytes", w.bytes}});
  }
  return out;
}

}  // namespace

std::string weights_json(WeightsForecast const& f) {
  SyncTraffic const& t = f.traffic;
  RolloutLayout const& engines = f.map.rollout;
  Json const out = {{"schema", kSchema},
                    {"scenario", f.scenario},
                    {"payload", f.map.payload.factors ? "adapter" : "weights"},
                    {"colocated", f.colocated},
                    {"train_ranks", f.map.train.ranks},
                    {"rollout_ranks", engines.ranks},
                    {"engines", engines.ranks / (engines.parallel.tp * engines.parallel.pp)},
                    {"tensors", t.tensors},
                    {"tensor_bytes", t.whole_bytes},
                    {"copies", t.copies},
                    {"bytes", links_json(t.total)},
                    {"largest_sender", largest_json(t.sent)},
                    {"largest_receiver", largest_json(t.received)},
                    {"sent", groups_json(t.sent)},
                    {"received", groups_json(t.received)},
                    {"node_pairs", nodes_json(t)},
                    {"fp8", fp8_json(f)},
                    {"detail_engine", f.engine},
                    {"detail", details_json(f)},
                    {"wire", wire_json(f.wire)}};
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace rollcast
