// The claims of scenarios/questions/README.md, by facts of the JSON of the commands that it gives. What a
// claim is compared with (issues, arithmetic) is in the comments; forecasts are held within the rounding of
// the page.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "reports/child_process.hpp"
#include "reports/commands/commands.hpp"
#include "reports/memory_report.hpp"
#include "scenarios/scenario.hpp"
#include "tests/reports/run_command.hpp"

namespace rollcast {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;

std::string const folder = ROLLCAST_SOURCE_DIR "/scenarios/questions/";
constexpr double gib = 1024.0 * 1024 * 1024;

std::vector<std::string> words(std::string const& verb, std::string const& scenario,
                               std::vector<std::string> const& sets) {
  std::vector<std::string> all = {verb, folder + scenario + ".yaml"};
  for (std::string const& s : sets) all.insert(all.end(), {"--set", s});
  return all;
}

json memory(std::string const& scenario, std::vector<std::string> const& sets = {}) {
  std::vector<std::string> all = words("memory", scenario, sets);
  all.insert(all.end(), {"--json", "-"});
  CommandRun const r = run_command(&add_memory_command, all);
  EXPECT_EQ(r.exit_code, 0) << r.err;
  return json::parse(r.out);
}

// What the command says before it looks for changes that would fit, which takes seconds.
MemoryForecast forecast(std::string const& scenario, std::vector<std::string> const& sets = {}) {
  ScenarioOptions options;
  options.sets = sets;
  ScenarioResult const r = read_scenario_file(folder + scenario + ".yaml", options);
  if (!r.scenario) throw std::runtime_error(format(r.problems));
  return forecast_memory(*r.scenario);
}

bool fits(std::string const& scenario, std::vector<std::string> const& sets = {}) {
  return memory_verdict(forecast(scenario, sets)).fits;
}

json run(std::string const& scenario, std::vector<std::string> const& sets = {}, int steps = 1) {
  std::vector<std::string> all = words("run", scenario, sets);
  all.insert(all.end(), {"--steps", std::to_string(steps), "--quiet", "--json", "-"});
  std::string out;
  ChildEnd const end = run_child(ROLLCAST_PROGRAM, all, [&out](std::string_view line) {
    out.append(line).append("\n");
    return true;
  });
  EXPECT_EQ(end.exit_code, 0) << end.error;
  return json::parse(out);
}

json const& class_of(json const& m, std::string const& pool) {
  for (json const& c : m["classes"]) {
    if (c["pool"] == pool) return c;
  }
  throw std::runtime_error("no pool " + pool);
}

// GiB on a GPU in a phase; of one category where it is named.
double held(json const& m, std::string const& phase, std::string const& category = "",
            std::string const& pool = "") {
  for (json const& p : class_of(m, pool)["phases"]) {
    if (p["name"] != phase) continue;
    if (category.empty()) return p["bytes"].get<double>() / gib;
    return p["categories"].value(category, 0.0) / gib;
  }
  throw std::runtime_error("no phase " + phase);
}

std::string line_formula(json const& m, std::string const& pool, std::string const& category) {
  for (json const& l : class_of(m, pool)["lines"]) {
    if (l["category"] == category) return l["formula"];
  }
  throw std::runtime_error("no line of " + category);
}

double seconds(json const& r, std::string const& phase) {
  double sum = 0;
  for (json const& p : r["phases"]) {
    if (p["name"] == phase) sum += p["mean_seconds"].get<double>();
  }
  return sum;
}

double step(json const& r) { return r["step_seconds"]["mean"]; }

std::string page() {
  std::ifstream file(folder + "README.md");
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

TEST(Questions, EveryScenarioIsReadAndOnThePage) {
  std::string const text = page();
  for (auto const& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".yaml") continue;
    ScenarioResult const read = read_scenario_file(entry.path().string(), {});
    EXPECT_TRUE(read.scenario) << format(read.problems);
    std::string const name = entry.path().stem().string();
    bool const row_of_table = name.rfind("q11-verl-table-", 0) == 0;
    EXPECT_THAT(text, HasSubstr(row_of_table ? "q11-verl-table-*.yaml" : name + ".yaml"));
  }
}

TEST(Questions, EveryQuestionHasItsHeading) {
  std::string const text = page();
  for (int q = 1; q <= 22; ++q) {
    if (q == 14) continue;  // there is none
    EXPECT_THAT(text, HasSubstr("\n## " + std::to_string(q) + ". "));
  }
}

// 2 x 70.6e9 x (2 + 2) B on eight cards are 65.7 GiB each before engine and activations; Adam of both in host
// memory is 2 x 70.6e9 x 12 B = 1.54 TiB.
TEST(Questions, Q01SeventyBillionNeedTwoNodes) {
  std::string const q = "q01-openrlhf-635-70b-ppo-minimum";
  json const one = memory(q, {"cluster.nodes=1"});
  EXPECT_EQ(one["fits"], false);
  EXPECT_GT(one["hosts"][0]["peak_bytes"].get<double>(), 1.54 * 1024 * gib);
  EXPECT_GT(one["hosts"][0]["peak_bytes"], one["hosts"][0]["capacity_bytes"]);
  EXPECT_EQ(memory(q, {"cluster.nodes=2"})["fits"], true);
}

// What nobody explains is not explained here: it fits. The reference alone on 32 GPUs wastes them.
TEST(Questions, Q02NothingComesNearAndTheReferenceCanMove) {
  std::string const q = "q02-openrlhf-776-70b-grpo-nine-nodes";
  json const m = memory(q);
  EXPECT_EQ(m["fits"], true);
  EXPECT_LT(held(m, "reference", "", "reference"), 20);
  json const apart = run(q);
  json const beside = run(
      q, {"placement.reference=actor", "cluster.nodes=5", "pools={actor: {nodes: 4}, engine: {nodes: 1}}"});
  EXPECT_EQ(beside["outcome"], "completed");
  EXPECT_NEAR(step(beside) / step(apart), 1.06, 0.01);
}

// 15.7e9 parameters x 16 B / 4 GPUs = 58.5 GiB of states.
TEST(Questions, Q03ZeRO3OnFourGpusLeavesNoRoomForLogits) {
  std::string const q = "q03-openrlhf-392-16b-zero-3";
  json const m = memory(q);
  EXPECT_EQ(m["fits"], false);
  double states = 0;
  for (char const* c : {"weights", "gradients", "master_weights", "optimizer_states"})
    states += held(m, "update_actor", c, "actor");
  EXPECT_NEAR(states, 15.7e9 * 16 / 4 / gib, 0.1);
  json const r = run(q);
  EXPECT_EQ(r["outcome"], "oom");
  EXPECT_EQ(r["oom"][0]["phase"], "update_actor");
  EXPECT_EQ(memory(q, {"train.offload.optimizer=true"})["fits"], true);
}

// Four models of 8e9 x 2 B = 14.9 GiB on each card; the critic and the reward model have no head: 57.9 GiB
// > 47.5.
TEST(Questions, Q04InfeasibleAtZeRO2FeasibleAtZeRO3) {
  std::string const q = "q04-openrlhf-858-8b-ppo-48gb";
  json const two = memory(q);
  EXPECT_EQ(two["fits"], false);
  EXPECT_NEAR(held(two, "generate", "weights"), 57.9, 0.1);
  EXPECT_EQ(memory(q, {"train.zero_stage=3"})["fits"], true);
  json const host = memory(q, {"train.zero_stage=3", "framework.reference_on_host=true"});
  EXPECT_EQ(host["fits"], true);
  EXPECT_NEAR(host["classes"][0]["headroom_bytes"].get<double>() / gib, 20.8, 0.1);
}

// Masters and Adam of 14.8e9 and of the critic's 14.0e9 parameters: 28.8e9 x 12 B / 8 = 40.2 GiB stay beside
// the engine.
TEST(Questions, Q05FitsOnceTheStatesLeave) {
  std::string const q = "q05-verl-40-14b-ppo-eight-a100";
  json const m = memory(q);
  EXPECT_EQ(m["fits"], false);
  EXPECT_NEAR(held(m, "generate", "master_weights") + held(m, "generate", "optimizer_states"), 40.2, 0.1);
  EXPECT_EQ(memory(q, {"framework.optimizer_offload=true", "framework.parameters_offload=true"})["fits"],
            true);
  EXPECT_EQ(memory(q, {"rollout.gpu_memory_utilization=0.4"})["fits"], true);
}

TEST(Questions, Q06EachKnobMovesItsPhase) {
  std::string const q = "q06-verl-477-memory-knobs";
  json const base = memory(q);
  auto const moved = [&](std::string const& set, char const* phase) {
    return held(memory(q, {set}), phase) - held(base, phase);
  };
  EXPECT_LT(moved("train.micro_batch=8", "update_actor"), -2);
  EXPECT_DOUBLE_EQ(moved("train.micro_batch=8", "old_logprob"), 0);
  EXPECT_LT(moved("train.logprob_micro_batch=8", "old_logprob"), -4);
  EXPECT_DOUBLE_EQ(moved("train.logprob_micro_batch=8", "update_actor"), 0);
  // A tenth of the card of 79.1 GiB.
  EXPECT_NEAR(moved("rollout.gpu_memory_utilization=0.3", "generate"), -7.91, 0.01);
  std::string const longer = "workload.response_tokens={lognormal: {mean: 300, p95: 800}, max: 2048}";
  EXPECT_GT(moved(longer, "old_logprob"), 6);
  EXPECT_DOUBLE_EQ(moved(longer, "generate"), 0);
  EXPECT_LT(memory(q, {longer})["kv"]["longest_sequences"], base["kv"]["longest_sequences"]);
}

TEST(Questions, Q07NamesPhaseAllocationAndCure) {
  std::string const q = "q07-verl-1014-oom-guide";
  json const m = memory(q);
  EXPECT_EQ(m["fits"], false);
  EXPECT_EQ(m["classes"][0]["peak_phase"], "generate");
  EXPECT_GT(held(m, "generate", "kv_pages"), 50);
  EXPECT_EQ(m["changes"].size(), 3U);
  json const host = memory(q, {"framework.optimizer_offload=true", "framework.parameters_offload=true",
                               "cluster.node.host_memory=192 GiB"});
  EXPECT_THAT(host["verdict"].get<std::string>(), HasSubstr("host memory"));
}

TEST(Questions, Q08OneEngineForEachGpu) {
  std::string const q = "q08-verl-1058-replicas";
  EXPECT_EQ(memory(q)["kv"]["engines"], 8);
  EXPECT_EQ(memory(q, {"rollout.parallel.tp=8"})["kv"]["engines"], 1);
  json const small = run(q);
  json const large = run(q, {"rollout.parallel.tp=8"});
  EXPECT_GT(seconds(large, "generate"), 3 * seconds(small, "generate"));
  EXPECT_GT(small["utilization"]["all"]["busy_fraction"], 0.95);
  json const one = run("q08-verl-1058-one-engine");
  EXPECT_GT(one["utilization"]["train"]["idle_by_cause"]["phase_wait"], 0.6);
}

// 1,024 samples x 100 ms = 102.4 s.
TEST(Questions, Q09TheDriverIsTheBubbleAndGoes) {
  std::string const q = "q09-verl-1194-idle-half-the-time";
  json const slow = run(q);
  EXPECT_LT(slow["utilization"]["all"]["busy_fraction"], 0.5);
  EXPECT_GT(slow["utilization"]["all"]["idle_by_cause"]["driver"], 0.5);
  json const fast = run(q, {"score.workers=32", "score.overlap=true"});
  EXPECT_NEAR(step(slow) - step(fast), 102.4, 2);
}

TEST(Questions, Q10SmallerEnginesUseMoreBandwidth) {
  std::string const q = "q10-verl-4743-dapo-low-utilization";
  json const four = run(q);
  json const one = run(q, {"rollout.parallel.tp=1"});
  EXPECT_LT(four["utilization"]["all"]["mbu"], 0.2);
  EXPECT_GT(one["utilization"]["all"]["mbu"], 2 * four["utilization"]["all"]["mbu"].get<double>());
  EXPECT_LT(step(one), 0.6 * step(four));
}

// verl's rows of least GPUs: they fit, half as many do not.
TEST(Questions, Q11LeastGpusOfFullTraining) {
  EXPECT_TRUE(fits("q11-verl-table-7b-grpo-2-h800"));
  EXPECT_FALSE(fits("q11-verl-table-7b-grpo-2-h800", {"cluster.node.gpus=1", "rollout.parallel.tp=1"}));
  EXPECT_TRUE(fits("q11-verl-table-14b-grpo-4-h800"));
  EXPECT_FALSE(fits("q11-verl-table-14b-grpo-4-h800", {"cluster.node.gpus=2", "rollout.parallel.tp=2"}));
  EXPECT_TRUE(fits("q11-verl-table-32b-grpo-8-h20"));
  EXPECT_FALSE(fits("q11-verl-table-32b-grpo-8-h20",
                    {"cluster.node.gpus=4", "train.parallel.tp=4", "rollout.parallel.tp=4"}));
  EXPECT_EQ(run("q11-verl-table-72b-grpo-32-h20")["outcome"], "completed");
  // A miss that the page admits.
  EXPECT_FALSE(fits("q11-verl-table-72b-grpo-32-h800"));
}

// The largest batches of LoRA: within 1.75 times of the published ones, the 7B row apart. A batch counts
// where the trainer's phases hold it, at 400 tokens a sequence.
TEST(Questions, Q11LargestBatchesOfLora) {
  struct Row {
    char const* name;
    int published;
  };
  for (Row const& row : {Row{"0.5b-lora-1", 116}, Row{"1.5b-lora-1", 128}, Row{"3b-lora-1", 62},
                         Row{"14b-lora-2", 58}, Row{"32b-lora-4", 45}, Row{"72b-lora-8", 22}}) {
    auto const holds = [&](double batch) {
      std::string const tokens = "=" + std::to_string(static_cast<int>(400 * batch));
      MemoryForecast const f = forecast(
          std::string("q11-verl-table-") + row.name + "-h100",
          {"train.tokens_per_micro_batch" + tokens, "train.logprob_tokens_per_micro_batch" + tokens});
      RankLedger const& l = f.pools.at(0).ledgers.at(0);
      return std::max({total(l, Phase::old_logprob), total(l, Phase::reference),
                       total(l, Phase::update_actor)}) <= l.capacity;
    };
    EXPECT_TRUE(holds(row.published / 1.75)) << row.name;
    EXPECT_FALSE(holds(row.published * 1.75)) << row.name;
  }
}

// Measured: 38.23 s with 8 engines' GPUs, 39.92 s with 16 (repeated: 4.2 % less), 23.4 % (15.8 %) more
// GPU-hours.
TEST(Questions, Q12MoreEnginesCostAndBringNothing) {
  std::string const q = "q12-marin-1963-split";
  json const eight = run(q, {}, 5);
  json const sixteen = run(q, {"pools.rollout.gpus=16", "cluster.nodes=6"}, 5);
  EXPECT_NEAR(step(sixteen) / step(eight), 1, 0.05);
  EXPECT_NEAR(sixteen["gpu_hours_per_step"].get<double>() / eight["gpu_hours_per_step"].get<double>(), 1.16,
              0.02);
  EXPECT_GT(eight["utilization"]["train"]["idle_by_cause"]["phase_wait"], 0.7);
}

TEST(Questions, Q13ApartIsFasterWithLongAndShortTails) {
  std::string const even = "workload.response_tokens={lognormal: {mean: 4000, p95: 6000}, max: 27000}";
  EXPECT_NEAR(step(run("q13-areal-168-colocated", {}, 5)) / step(run("q13-areal-168-apart", {}, 5)), 1.29,
              0.02);
  EXPECT_NEAR(step(run("q13-areal-168-colocated", {even}, 5)) / step(run("q13-areal-168-apart", {even}, 5)),
              1.27, 0.02);
}

TEST(Questions, Q15GraphsAreInsideFrom021On) {
  std::string const q = "q15-vllm-17549-gpu-memory-utilization";
  auto const formula = [&](std::string const& version) {
    return line_formula(memory(q, {"rollout.version=" + version}), "engine", "kv_pages");
  };
  EXPECT_THAT(formula("0.8.5"), HasSubstr("- context"));
  EXPECT_THAT(formula("0.10.0"), testing::Not(HasSubstr("context")));
  EXPECT_THAT(formula("0.10.0"), testing::Not(HasSubstr("CUDA graphs")));
  EXPECT_THAT(formula("0.25.1"), HasSubstr("- CUDA graphs"));
}

// Measured: 178,880 tokens in vLLM, 367,404 in SGLang. The first is a miss by 61 % that the page admits.
TEST(Questions, Q16TokensOfVllmAndSglang) {
  std::string const q = "q16-vllm-21348-vllm-and-sglang";
  json const sglang = memory(q, {"rollout.engine=sglang", "rollout.gpu_memory_utilization=0.93"});
  EXPECT_NEAR(sglang["kv"]["tokens"].get<double>() / 367404, 1, 0.01);
  json const vllm = memory(q);
  EXPECT_EQ(vllm["kv"]["bytes_per_token"],
            94 * 1 * 128 * 2 * 2);  // layers, KV heads of a rank, width, K and V, bytes
  EXPECT_NEAR(vllm["kv"]["tokens"].get<double>() / 178880, 1.61, 0.01);
}

TEST(Questions, Q17GraphsOnTopDoNotFitExplicitPagesDo) {
  std::string const q = "q17-vllm-26300-explicit-kv";
  EXPECT_EQ(memory(q)["fits"], false);
  json const bytes = memory(q, {"rollout.kv_cache_bytes=59 GiB"});
  EXPECT_EQ(bytes["fits"], true);
  EXPECT_NEAR(held(bytes, "generate", "kv_pages", "engine"), 59, 0.01);
}

// 64 layers x 8 KV heads x 128 x 2 x 2 B = 256 KiB a token, half of it on each of two ranks; 108,432 / 33,792
// = 3.2.
TEST(Questions, Q18KvOfThirtyTwoThousandTokens) {
  std::string const q = "q18-rllm-93-32b-32k";
  json const m = memory(q);
  EXPECT_EQ(2 * m["kv"]["bytes_per_token"].get<int>(), 256 * 1024);
  EXPECT_EQ(m["kv"]["engines"], 16);
  EXPECT_EQ(m["kv"]["longest_sequences"], 3);
  EXPECT_EQ(m["kv"]["mean_sequences"], 15);
  json const wide = memory(q, {"rollout.parallel.tp=4"});
  EXPECT_GT(wide["kv"]["tokens"].get<double>(), 4 * m["kv"]["tokens"].get<double>());
  json const two = run(q);
  EXPECT_GT(two["preemptions"], 0);
  EXPECT_LT(step(run(q, {"rollout.parallel.tp=4"})), step(two) / 3);
}

// The issue: sequence parallelism over 4 dies, 8 is impossible with 28 heads, 14 works; xtuner issue 755:
// over 7 it dies.
TEST(Questions, Q19HeadsDivideAndLogitsDecide) {
  std::string const q = "q19-longpo-4-128k-dpo";
  EXPECT_EQ(memory(q)["fits"], false);
  EXPECT_EQ(memory(q, {"train.cross_entropy=linear"})["fits"], true);
  CommandRun const eight = run_command(&add_memory_command, words("memory", q, {"train.parallel.cp=8"}));
  EXPECT_EQ(eight.exit_code, 2);
  EXPECT_THAT(eight.err, HasSubstr("do not divide the 28 heads"));
  EXPECT_THAT(eight.err, HasSubstr("cp: 4"));
  EXPECT_EQ(memory(q, {"train.parallel.cp=7", "cluster.node.gpus=7", "algorithm.train_batch=7"})["fits"],
            false);
  EXPECT_EQ(memory(q, {"train.parallel.cp=14", "cluster.node.gpus=7", "cluster.nodes=2"})["fits"], true);
  EXPECT_EQ(memory("q19-longpo-4-mistral")["fits"], true);
}

TEST(Questions, Q20TwoCardsOfFortyAreEnoughAndSlow) {
  std::string const q = "q20-verl-tool-34-3b-minimum";
  json const two = run(q);
  EXPECT_EQ(two["outcome"], "completed");
  EXPECT_GT(step(two), 2 * step(run(q, {"cluster.node.gpus=8"})));
  EXPECT_EQ(memory("q20-verl-tool-34-24gb")["fits"], false);
}

// 8 sequences x 512 tokens x 151,936 x 4 B = 2.32 GiB a copy, five of them.
TEST(Questions, Q21TheLogitsAreLargerThanTheModel) {
  std::string const q = "q21-trl-3678-small-model";
  json const m = memory(q);
  EXPECT_EQ(m["fits"], false);
  EXPECT_NEAR(held(m, "update_actor", "logits"), 5 * 8 * 512 * 151936.0 * 4 / gib, 0.01);
  EXPECT_GT(held(m, "update_actor", "logits"), 5 * held(m, "update_actor", "weights"));
  EXPECT_EQ(memory(q, {"train.cross_entropy=linear", "train.recompute=full"})["fits"], true);
}

// Adam of 7.6e9 parameters on four GPUs: 7.6e9 x 8 B / 4 = 14.2 GiB.
TEST(Questions, Q22WhatTheStatesHoldAndWhatTheirCopiesTake) {
  std::string const q = "q22-verl-5282-optimizer-around-the-step";
  json const m = memory(q);
  EXPECT_NEAR(held(m, "update_actor", "optimizer_states"), 14.2, 0.05);
  json const host = memory(q, {"train.offload.optimizer=true"});
  EXPECT_NEAR(held(host, "update_actor"), held(m, "update_actor") - 14.2, 0.05);
  EXPECT_EQ(m["classes"][0]["peak_phase"], "generate");
  json const pinned = run(q);
  json const pageable = run(q, {"framework.pinned_copies=false"});
  EXPECT_NEAR(step(pageable) - step(pinned), 2.9, 0.1);
}

}  // namespace
}  // namespace rollcast
