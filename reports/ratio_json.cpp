#include <algorithm>
#include <nlohmann/json.hpp>

#include "reports/json_values.hpp"
#include "reports/ratio_text.hpp"
#include "reports/ratio_verdict.hpp"

namespace rollcast {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kSchema = 1;

Json size_json(RatioSize const& s) {
  return {{"rollout_gpus", s.rollout_gpus}, {"train_gpus", s.train_gpus}};
}

std::optional<double> per_thousand_samples(RatioPoint const& p) {
  if (!p.dollars_per_step) return std::nullopt;
  return 1000 * *p.dollars_per_step / (p.samples_per_second * p.step.value);
}

Json point_json(RatioPoint const& p) {
  auto const [low, high] = std::minmax_element(p.steps.begin(), p.steps.end());
  return {{"rollout_gpus", p.size.rollout_gpus},
          {"train_gpus", p.size.train_gpus},
          {"gpus", p.gpus},
          {"max_staleness", number(p.max_staleness)},
          {"length_factor", number(p.length_factor)},
          {"step_seconds", number(p.step)},
          {"step_seconds_low", number(*low)},
          {"step_seconds_high", number(*high)},
          {"samples_per_second", number(p.samples_per_second)},
          {"tokens_per_second_per_gpu", number(p.tokens_per_second_per_gpu)},
          {"gpu_hours_per_step", number(p.gpu_hours_per_step)},
          {"dollars_per_step", number(p.dollars_per_step)},
          {"dollars_per_thousand_samples", number(per_thousand_samples(p))},
          {"generate_seconds", number(p.generate)},
          {"train_seconds", number(p.train)},
          {"sync_seconds", number(p.sync)},
          {"busy_rollout", number(p.busy_rollout)},
          {"busy_train", number(p.busy_train)},
          {"mean_staleness", number(p.mean_staleness)},
          {"mean_response_tokens", number(p.mean_response_tokens)},
          {"bottleneck", p.bottleneck ? Json(name_of(p.bottleneck->side)) : Json()},
          {"limit", p.bottleneck ? Json(name_of(p.bottleneck->limit)) : Json()}};
}

Json points_json(std::vector<RatioPoint> const& points) {
  Json out = Json::array();
  for (RatioPoint const& p : points) out.push_back(point_json(p));
  return out;
}

Json balance_json(RatioReport const& r) {
  auto const at = report_balance(r);
  auto const longer = at ? std::nullopt : longer_side(r.split);
  if (!at)
    return {{"rollout_per_train", nullptr}, {"rollout_gpus", nullptr},
            {"train_gpus", nullptr},        {"curve", nullptr},
            {"nearest", nullptr},           {"longer", longer ? Json(name_of(*longer)) : Json()}};
  return {{"rollout_per_train", number(at->rollout_per_train)},
          {"rollout_gpus", number(at->rollout_gpus)},
          {"train_gpus", number(at->train_gpus)},
          {"curve", at->of_split ? "split" : "rollout"},
          {"nearest", size_json(nearest_size(at->of_split ? r.split : r.rollout, at->rollout_gpus))},
          {"longer", nullptr}};
}

Json band_json(RatioReport const& r) {
  auto const band = balance_band(r);
  if (!band) return nullptr;
  return {{"low", number(band->low)}, {"high", number(band->high)}, {"lengths", band->lengths}};
}

Json best_json(std::vector<RatioPoint> const& points, std::optional<std::size_t> at) {
  return at ? size_json(points[*at].size) : Json();
}

void add_change(Json& out, RatioChange const& c) {
  out["step"] = number(c.mean);
  out["step_low"] = number(c.low);
  out["step_high"] = number(c.high);
  out["sure"] = c.sure;
}

Json what_if_json(RatioPoint const& base, RatioWhatIf const& w) {
  Json out = {{"what", name_of(w.knob)}, {"from", number(w.from)}, {"to", number(w.to)}};
  add_change(out, step_change(base, w.point));
  out["gpu_hours"] = number(w.point.gpu_hours_per_step / base.gpu_hours_per_step - 1);
  bool const priced = base.dollars_per_step && w.point.dollars_per_step;
  out["dollars"] = priced ? number(*w.point.dollars_per_step / *base.dollars_per_step - 1) : Json();
  return out;
}

Json colocated_json(RatioReport const& r) {
  Json out = {{"point", r.colocated.point ? point_json(*r.colocated.point) : Json()},
              {"sets", r.colocated.sets},
              {"reason", r.colocated.point ? Json() : Json(r.colocated.reason)}};
  if (r.colocated.point && !r.split.empty()) {
    add_change(out, step_change(r.split[*fastest(r.split)], *r.colocated.point));
  } else {
    for (char const* key : {"step", "step_low", "step_high", "sure"}) out[key] = nullptr;
  }
  return out;
}

Json lengths_json(RatioReport const& r) {
  Json out = Json::array();
  for (RatioLengths const& l : r.lengths) {
    auto const fast = fastest(l.split);
    auto const cheap = cheapest(l.split);
    out.push_back({{"length_factor", number(l.factor)},
                   {"mean_response_tokens", fast ? number(l.split[*fast].mean_response_tokens) : Json()},
                   {"balance_rollout_gpus", number(balance_of(r, l))},
                   {"fastest_rollout_gpus", fast ? Json(l.split[*fast].size.rollout_gpus) : Json()},
                   {"cheapest_rollout_gpus", cheap ? Json(l.split[*cheap].size.rollout_gpus) : Json()},
                   {"split", points_json(l.split)},
                   {"rollout", points_json(l.rollout)}});
  }
  return out;
}

Json infeasible_json(RatioReport const& r) {
  Json out = Json::array();
  for (RatioInfeasible const& i : r.infeasible)
    out.push_back({{"curve", i.curve},
                   {"rollout_gpus", i.size.rollout_gpus},
                   {"train_gpus", i.size.train_gpus},
                   {"length_factor", number(i.length_factor)},
                   {"reason", i.reason}});
  return out;
}

Json base_json(RatioReport const& r) {
  if (!r.base) return nullptr;
  Json out = size_json(r.base->size);
  out["from"] = name_of(r.base_from);
  return out;
}

Json changes_json(RatioReport const& r) {
  Json out = Json::array();
  for (RatioWhatIf const& w : r.what_ifs) out.push_back(what_if_json(*r.base, w));
  return out;
}

std::string dump(Json const& j) { return j.dump(2, ' ', false, Json::error_handler_t::replace) + '\n'; }

}  // namespace

std::string ratio_json(RatioReport const& r) {
  bool const marked = r.base && r.base->bottleneck;
  return dump(
      {{"schema", kSchema},
       {"scenario", r.scenario},
       {"steps", r.steps},
       {"seeds", r.seeds},
       {"schedule", name_of(r.schedule)},
       {"pools",
        {{"train", {{"name", r.pools.train}, {"node", r.train_node}, {"gpu", r.train_gpu}}},
         {"rollout", {{"name", r.pools.rollout}, {"node", r.rollout_node}, {"gpu", r.rollout_gpu}}}}},
       {"base", base_json(r)},
       {"verdict", ratio_verdict(r)},
       {"balance", balance_json(r)},
       {"band", band_json(r)},
       {"knee",
        {{"rollout_gpus", knee(r.rollout) ? Json(*knee(r.rollout)) : Json()}, {"least_gain", kLeastGain}}},
       {"bottleneck", marked ? Json({{"side", name_of(r.base->bottleneck->side)},
                                     {"limit", name_of(r.base->bottleneck->limit)}})
                             : Json()},
       {"changes", changes_json(r)},
       {"fastest", best_json(r.split, fastest(r.split))},
       {"cheapest", best_json(r.split, cheapest(r.split))},
       {"colocated", colocated_json(r)},
       {"curves",
        {{"split", points_json(r.split)},
         {"rollout", points_json(r.rollout)},
         {"train", points_json(r.train)},
         {"total", points_json(r.totals)},
         {"staleness", points_json(r.staleness)}}},
       {"lengths", lengths_json(r)},
       {"infeasible", infeasible_json(r)}});
}

std::string ratio_csv(RatioReport const& r) {
  std::string out;
  auto const add = [&](std::string const& curve, RatioPoint const& p) {
    Json const values = point_json(p);
    if (out.empty()) {
      out = "curve";
      for (auto const& [key, value] : values.items()) out += "," + key;
      out += '\n';
    }
    out += curve;
    for (auto const& [key, value] : values.items()) {
      out += ',';
      if (value.is_string()) out += value.get<std::string>();
      if (value.is_number()) out += value.dump();
    }
    out += '\n';
  };
  auto const add_all = [&](std::string const& curve, std::vector<RatioPoint> const& points) {
    for (RatioPoint const& p : points) add(curve, p);
  };
  for (RatioLengths const& l : r.lengths) add_all("split", l.split);
  for (RatioLengths const& l : r.lengths) add_all("rollout", l.rollout);
  add_all("train", r.train);
  add_all("total", r.totals);
  add_all("staleness", r.staleness);
  if (r.colocated.point) add("colocated", *r.colocated.point);
  return out;
}

}  // namespace rollcast
