#include "reports/json_schema.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "reports/analysis.hpp"
#include "reports/blame_report.hpp"
#include "reports/contest_report.hpp"
#include "reports/json.hpp"
#include "reports/memory_report.hpp"
#include "reports/resume_report.hpp"
#include "reports/uncertainty.hpp"
#include "reports/validation_report.hpp"
#include "reports/weights_report.hpp"
#include "tests/reports/small_log.hpp"
#include "tests/reports/small_serving_log.hpp"

namespace rollcast {
namespace {

using Json = nlohmann::ordered_json;

// Paths of the leaves, as the document writes them.
void collect(Json const& j, std::string const& path, std::set<std::string>& out) {
  if (j.is_array()) {
    if (j.empty()) out.insert(path + "[]");
    for (Json const& item : j) collect(item, path + "[]", out);
  } else if (j.is_object()) {
    for (auto const& [key, value] : j.items()) {
      std::string name = key;
      if (path == "utilization" || path == "memory" || path == "prices") name = "<pool>";
      if (path.ends_with(".idle_by_cause")) name = "<cause>";
      if (path.ends_with(".ledger")) name = "<role.category>";
      if (path.ends_with(".categories")) name = "<category>";
      collect(value, path.empty() ? name : path + "." + name, out);
    }
  } else {
    out.insert(path);
  }
}

std::set<std::string> written(std::string const& json) {
  std::set<std::string> out;
  collect(Json::parse(json), "", out);
  return out;
}

std::set<std::string> listed(std::string const& document) {
  std::set<std::string> out;
  for (std::size_t at = document.find("| `"); at != std::string::npos; at = document.find("| `", at + 1))
    out.insert(document.substr(at + 3, document.find('`', at + 3) - at - 3));
  return out;
}

TEST(JsonSchema, ListsExactlyTheKeysOfARun) {
  EventLog incident = small_log_with_oom();
  StallRecord stall;
  stall.waiting_ranks = stall.missing_ranks = {0};
  incident.stalls = {stall};
  incident.happenings.emplace_back().ranks = {0};
  incident.remedies.emplace_back();
  Uncertainty drawn;
  drawn.figures = {{{}, {}, Band()}};
  drawn.effects.emplace_back();
  std::set<std::string> keys = written(json_text(analyse(incident), &drawn));
  keys.merge(written(json_text(analyse(small_log_of_a_long_run()))));
  std::set<std::string> const serving = written(json_text(analyse(small_serving_log())));
  std::copy_if(serving.begin(), serving.end(), std::inserter(keys, keys.end()),
               [](std::string const& key) { return key.starts_with("serving."); });
  // Of a completed run these lists are empty.
  for (char const* empty : {"oom[]", "failures[]", "stalls[]", "incident"}) keys.erase(empty);
  EXPECT_EQ(listed(run_json_markdown()), keys);
}

TEST(JsonSchema, ListsExactlyTheKeysOfAMemoryForecast) {
  std::string const example = ROLLCAST_SOURCE_DIR "/scenarios/examples/grpo-8b-colocated.yaml";
  ScenarioResult const read = read_scenario_file(example, {});
  ASSERT_TRUE(read.scenario) << format(read.problems);
  MemoryForecast f = forecast_memory(*read.scenario);
  f.longest_fitting = 4096;
  f.changes = {{{"train.recompute=full"}, GiB(1), 0.5}};
  EXPECT_EQ(listed(memory_json_markdown()), written(memory_json(f)));
}

TEST(JsonSchema, ListsExactlyTheKeysOfAWeightsForecast) {
  std::string const example = ROLLCAST_SOURCE_DIR "/scenarios/examples/grpo-8b-colocated.yaml";
  ScenarioResult const read = read_scenario_file(example, {{"rollout.weights=fp8"}, {}});
  ASSERT_TRUE(read.scenario) << format(read.problems);
  WeightsResult const r = forecast_weights(*read.scenario, {});
  ASSERT_TRUE(r.forecast) << r.error;
  EXPECT_EQ(listed(weights_json_markdown()), written(weights_json(*r.forecast)));
}

TEST(JsonSchema, ListsExactlyTheKeysOfAResumedCheckpoint) {
  ScenarioResult const read =
      read_scenario_file(ROLLCAST_SOURCE_DIR "/scenarios/examples/dpo-8b-fsdp.yaml", {});
  ASSERT_TRUE(read.scenario) << format(read.problems);
  ResumeForecast const f = forecast_resume(*read.scenario, *read.scenario);
  EXPECT_EQ(listed(resume_json_markdown()), written(resume_json(f)));
}

TEST(JsonSchema, ListsExactlyTheKeysOfAComparison) {
  ContenderRun const run = contender_run(small_log(), Job(), {});
  Contender const a{"a", "a.yaml", {"train.parallel.tp=2"}, "work", {run}};
  Contender b = a;
  b.name = "b";
  b.work = "other work";
  for (PathShare& p : b.runs[0].critical_path) p.seconds *= 2;
  Contest c = contest({a, b}, {1}, 2, 1000);
  c.drawn = DrawnSpeed{9, 9, {1, 1, 1}, 0};
  std::set<std::string> keys = written(contest_json(c));
  Contender serving = a, slower = a;
  slower.name = "b";
  serving.runs = {contender_run(small_serving_log(), Job(), {})};
  EventLog with_loads = small_serving_log();
  with_loads.serving->engines[0].exposed = seconds(1.5);
  slower.runs = {contender_run(with_loads, Job(), {})};
  std::set<std::string> const of_serving = written(contest_json(contest({serving, slower}, {1}, 1, 1000)));
  std::copy_if(of_serving.begin(), of_serving.end(), std::inserter(keys, keys.end()), [](auto const& key) {
    return key.starts_with("contenders[].serving.") || key.starts_with("serving_why[].");
  });
  EXPECT_EQ(listed(compare_json_markdown()), keys);
}

TEST(JsonSchema, ListsExactlyTheKeysOfABlame) {
  Blame b;
  b.culprits = b.waiting = {0};
  b.chain = b.certain = b.inferred = b.missing = {"text"};
  b.ranks.resize(1);
  b.evidence.resize(1);
  EXPECT_EQ(listed(blame_json_markdown()), written(blame_json(b, {IncidentFact()})));
}

TEST(JsonSchema, ListsExactlyTheKeysOfAValidation) {
  MeasuredQuantity const step{"step_seconds", 10, 11, std::nullopt, "", {10, 11}};
  ValidationCase const a{"a", "source", "A", "work", false, {step}, ""};
  ValidationCase b = a;
  b.quantities[0].measured = 20;
  b.expected = "oom";
  b.unmet = {"outcome: expected oom, got completed"};
  EXPECT_EQ(listed(validate_json_markdown()), written(validation_json(validate({a, b}, {"c"}))));
}

}  // namespace
}  // namespace rollcast
