#include "scenarios/scenario.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "scenarios/explain.hpp"
#include "tests/scenarios/example.hpp"

namespace rollcast {
namespace {

TEST(Scenario, ReadsTheExample) {
  ScenarioResult const r = read_scenario_file(example_path(), {});
  ASSERT_TRUE(r.scenario) << format(r.problems);
  Scenario const& s = *r.scenario;
  EXPECT_EQ(s.name, "grpo-8b-colocated");
  EXPECT_EQ(s.job.model.layers, 32);
  EXPECT_EQ(s.job.model.hidden, 4096);
  EXPECT_EQ(s.job.cluster.gpus(), 16);
  EXPECT_EQ(s.job.cluster.node.gpu.name, "h100-sxm");
  EXPECT_EQ(s.job.cluster.fabric.name, "ib-400g");
  EXPECT_EQ(s.job.framework.kind, FrameworkKind::nemo_rl);
  EXPECT_EQ(s.job.algorithm.samples(), 2048);
  EXPECT_EQ(s.job.algorithm.train_batch, 512);
  EXPECT_TRUE(s.job.algorithm.kl_reference);
  EXPECT_EQ(s.job.train.parallel.pp, 2);
  EXPECT_EQ(s.job.train.logprob_micro_batch, 2);
  EXPECT_EQ(s.job.train.recompute, Recompute::full);
  EXPECT_EQ(s.job.rollout.gpu_memory_utilization, 0.6);
  EXPECT_EQ(std::get<FixedLength>(s.job.workload.prompt_tokens.shape).tokens, 127);
  EXPECT_EQ(s.job.workload.response_tokens.max, 3969);
  EXPECT_NEAR(mean(s.job.workload.response_tokens, 0), 1019, 0.5);
  ASSERT_TRUE(s.measured);
  EXPECT_EQ(s.measured->grade, "A");
  ASSERT_EQ(s.measured->values.size(), 2U);
  EXPECT_EQ(s.measured->values[0], std::pair(std::string("step_seconds"), 92.8));
  EXPECT_TRUE(check_simulated(s).empty());
}

TEST(Scenario, PresetFillsWhatTheFileLeavesOpen) {
  ScenarioResult const r = read_example();
  ASSERT_TRUE(r.scenario);
  Job const& job = r.scenario->job;
  // NeMo RL: scoring within the rollout, then sleep; log-probabilities after the advantages; refit and wake
  // last.
  std::vector<Phase> const order = {Phase::generate,     Phase::score,       Phase::sleep,
                                    Phase::advantage,    Phase::old_logprob, Phase::reference,
                                    Phase::update_actor, Phase::weight_sync, Phase::wake};
  EXPECT_EQ(job.framework.order, order);
  EXPECT_TRUE(job.train.distributed_optimizer);
  EXPECT_EQ(job.train.gradients, DType::bf16);  // grad_reduce_in_fp32: false
  EXPECT_EQ(job.train.bucket.value, 80e6);      // 40 million parameters of 2 B
  // 61.06 GB over 26.2 GB/s is 2.33 s of the 2.78 s and 2.85 s measured.
  EXPECT_NEAR(job.framework.sleep_fixed.value, 2.78 - 61.06 / 26.2, 0.01);
  EXPECT_NEAR(job.framework.wake_fixed.value, 2.85 - 61.06 / 26.2, 0.01);
  // vLLM as a library on a card of 70 GiB and more that is no A100.
  EXPECT_EQ(job.rollout.max_num_seqs, 1024);
  EXPECT_EQ(job.rollout.max_num_batched_tokens, 16384);
  Origin const o = origin_of(*r.scenario, "framework.wake_fixed");
  EXPECT_EQ(o.from.rfind("nemo-rl preset: vLLM blog", 0), 0U) << o.from;
}

TEST(Scenario, FileBeatsPresetAndSetBeatsFile) {
  ScenarioResult const r =
      read_example({"framework.wake_fixed=2 s", "train.parallel.tp=2", "train.bucket=40 MB"});
  ASSERT_TRUE(r.scenario) << format(r.problems);
  EXPECT_EQ(r.scenario->job.framework.wake_fixed.value, 2);
  EXPECT_EQ(r.scenario->job.framework.kind, FrameworkKind::nemo_rl);
  EXPECT_EQ(r.scenario->job.train.parallel.tp, 2);
  EXPECT_EQ(r.scenario->job.train.parallel.pp, 2);  // stays from the file
  EXPECT_EQ(origin_of(*r.scenario, "train.parallel.tp").from, "--set train.parallel.tp=2");
  EXPECT_EQ(origin_of(*r.scenario, "train.parallel.pp").from, "example.yaml:10");
  EXPECT_EQ(origin_of(*r.scenario, "train.bucket").from, "--set train.bucket=40 MB");
  EXPECT_EQ(origin_of(*r.scenario, "train.parallel.cp").from, "default");
}

TEST(Scenario, SetTakesMapsAndTheLastOneWins) {
  ScenarioResult const r = read_example(
      {"workload={prompt_tokens: 10, response_tokens: 20}", "train.micro_batch=2", "train.micro_batch=4"});
  ASSERT_TRUE(r.scenario) << format(r.problems);
  EXPECT_EQ(longest(r.scenario->job.workload.response_tokens), 20);
  EXPECT_EQ(r.scenario->job.train.micro_batch, 4);
}

TEST(Scenario, SetErrorsNameTheSet) {
  Problem const unknown = problem_of(read_example({"train.micro_bach=2"}), "train.micro_bach");
  EXPECT_EQ(format(unknown),
            "--set train.micro_bach=2: train.micro_bach: unknown key; did you mean micro_batch?\n");
  Problem const range =
      problem_of(read_example({"rollout.gpu_memory_utilization=1.5"}), "rollout.gpu_memory_utilization");
  EXPECT_EQ(range.file, "--set rollout.gpu_memory_utilization=1.5");
}

TEST(Scenario, AMisplacedKeyIsSentHome) {
  EXPECT_EQ(problem_of(read_example({"train.tp=2"}), "train.tp").remedy, "did you mean train.parallel.tp?");
  EXPECT_EQ(problem_of(read_example({"kl_reference=true"}), "kl_reference").remedy,
            "did you mean algorithm.kl_reference?");
}

TEST(Scenario, InlineNodeGpuAndModel) {
  ScenarioResult const r = read_scenario_text(
      "model: {layers: 2, hidden: 64, heads: 4, intermediate: 256, vocab: 1000, max_context: 4096}\n"
      "cluster:\n"
      "  node:\n"
      "    gpus: 4\n"
      "    gpu: {base: h100-sxm, visible_memory: 40 GiB}\n"
      "    host_memory: 512 GiB\n"
      "    host_memory_bandwidth: 200 GB/s\n"
      "algorithm: {kind: sft, train_batch: 8}\n"
      "workload: {prompt_tokens: 10, response_tokens: 20}\n",
      "inline.yaml", {});
  ASSERT_TRUE(r.scenario) << format(r.problems);
  Job const& job = r.scenario->job;
  EXPECT_EQ(job.model.kv_heads, 4);   // as heads
  EXPECT_EQ(job.model.head_dim, 16);  // 64 / 4
  EXPECT_EQ(job.cluster.node.gpu.visible_memory.value, GiB(40).value);
  EXPECT_EQ(job.cluster.node.gpu.bf16.value, 989e12);  // from the base
  EXPECT_EQ(job.framework.kind, FrameworkKind::none);
  EXPECT_FALSE(job.framework.optimizer_offload);
  EXPECT_EQ(origin_of(*r.scenario, "cluster.node.gpu.visible_memory").from, "inline.yaml:5");
  EXPECT_EQ(origin_of(*r.scenario, "cluster.node.gpu.bf16").from.rfind("catalog h100-sxm", 0), 0U);
}

TEST(Scenario, PartsOfANamedEntryCanBeSet) {
  ScenarioResult const r = read_example(
      {"cluster.node.gpu.visible_memory=60 GiB", "cluster.fabric.latency=9 us", "model.max_context=8192"});
  ASSERT_TRUE(r.scenario) << format(r.problems);
  Job const& job = r.scenario->job;
  EXPECT_EQ(job.cluster.node.gpu.visible_memory.value, GiB(60).value);
  EXPECT_EQ(job.cluster.node.gpu.bf16.value, 989e12);
  EXPECT_EQ(job.cluster.fabric.latency.value, 9e-6);
  EXPECT_EQ(job.cluster.fabric.nic.value, 50e9);
  EXPECT_EQ(job.model.max_context, 8192);
  EXPECT_EQ(origin_of(*r.scenario, "cluster.fabric.nic").from.rfind("catalog ib-400g", 0), 0U);
}

TEST(Scenario, ImpossibleShapesAreRefused) {
  EXPECT_FALSE(read_example({"model.kv_heads=5"}).scenario);
  EXPECT_FALSE(
      read_example({"model.moe={experts: 4, experts_per_token: 8, expert_intermediate: 64}"}).scenario);
}

TEST(Scenario, AnIncompleteInlineMapNamesWhatIsMissing) {
  ScenarioResult const r = read_example({"model={layers: 2, hidden: 64}"});
  EXPECT_EQ(problem_of(r, "model.heads").what, "is missing");
  EXPECT_EQ(problem_of(r, "model.vocab").what, "is missing");
}

std::string short_scenario(std::string const& algorithm, std::string const& train) {
  return "model: llama-3.1-8b\ncluster: {node: hgx-h100}\nalgorithm: " + algorithm +
         "\nworkload: {prompt_tokens: 512, response_tokens: 512}\ntrain: " + train + "\n";
}

TEST(Scenario, EveryAlgorithmAndTrainerReads) {
  struct Case {
    std::string algorithm;
    std::string train;
  };
  for (Case const& c : std::vector<Case>{
           {"{kind: sft, train_batch: 64}", "{trainer: deepspeed, zero_stage: 3}"},
           {"{kind: sft, train_batch: 64, adapter: {kind: lora, rank: 16, targets: [q, v]}}",
            "{trainer: fsdp2}"},
           {"{kind: sft, train_batch: 64, adapter: {kind: qlora, targets: [q, k, v, o, gate, up, down], "
            "double_quantization: true}}",
            "{trainer: fsdp2}"},
           {"{kind: dpo, train_batch: 64}", "{trainer: megatron, distributed_optimizer: true}"},
           {"{kind: ppo, prompts: 64, train_batch: 64, critic: qwen2.5-7b, reward_model: llama-3.1-8b}",
            "{trainer: deepspeed, zero_stage: 2}"},
           {"{kind: grpo, prompts: 8, group_size: 8}",
            "{trainer: fsdp2, offload: {parameters: true, optimizer: true}}"},
       }) {
    ScenarioResult const r = read_scenario_text(short_scenario(c.algorithm, c.train), "m.yaml", {});
    ASSERT_TRUE(r.scenario) << c.algorithm << "\n" << format(r.problems);
    // Only training from host memory is left to the memory ledger.
    EXPECT_EQ(check_simulated(*r.scenario).empty(), c.train.find("offload") == std::string::npos)
        << c.algorithm;
  }
}

// Keys that would do nothing are refused.
TEST(Scenario, AdapterKeysBelongToTheirKind) {
  auto const refused = [](std::string const& adapter, std::string const& train, std::string const& key) {
    ScenarioResult const r = read_scenario_text(
        short_scenario("{kind: sft, train_batch: 64, adapter: " + adapter + "}", train), "m.yaml", {});
    return !r.scenario && format(r.problems).find(key) != std::string::npos;
  };
  EXPECT_TRUE(refused("{kind: lora, unquantized: fp32}", "{trainer: ddp}", "unquantized"));
  EXPECT_TRUE(refused("{kind: lora, weights: fp32}", "{trainer: deepspeed, zero_stage: 2}", "weights"));
  EXPECT_TRUE(refused("{kind: lora}", "{trainer: megatron, foreach_optimizer: true}", "foreach_optimizer"));
  EXPECT_TRUE(refused("{kind: lora}", "{trainer: ddp, foreach_optimizer: true, paged_optimizer: true}",
                      "foreach_optimizer"));
  EXPECT_FALSE(refused("{kind: qlora, quantization: gptq, weights: fp32, unquantized: fp32, dropout: 0.05}",
                       "{trainer: ddp, merged_qkv: true, foreach_optimizer: true}", ""));
}

TEST(Scenario, FillsWhatFollowsFromOtherValues) {
  auto const read = [](std::string const& a, std::string const& t) {
    ScenarioResult const r = read_scenario_text(short_scenario(a, t), "m.yaml", {});
    EXPECT_TRUE(r.scenario) << format(r.problems);
    return r.scenario.value_or(Scenario{});
  };
  Scenario const grpo = read("{kind: grpo, prompts: 8, group_size: 8}", "{trainer: fsdp2}");
  EXPECT_EQ(grpo.job.algorithm.train_batch, 64);
  EXPECT_EQ(origin_of(grpo, "algorithm.train_batch").from, "derived");
  EXPECT_EQ(grpo.job.train.zero_stage, 3);
  EXPECT_FALSE(grpo.job.algorithm.kl_reference);
  EXPECT_TRUE(read("{kind: dpo, train_batch: 64}", "{}").job.algorithm.kl_reference);
  EXPECT_TRUE(read("{kind: ppo, prompts: 64}", "{}").job.algorithm.kl_reference);
}

TEST(Scenario, KeysThatMakeNoSenseForTheAlgorithmAreProblems) {
  ScenarioResult const sft = read_example(
      {"algorithm={kind: sft, train_batch: 64, prompts: 3, kl_reference: true, critic: llama-3.1-8b}",
       "workload.growth_per_step=0.1"});
  for (std::string const key : {"algorithm.prompts", "algorithm.kl_reference", "algorithm.critic", "rollout",
                                "schedule", "workload.growth_per_step"}) {
    EXPECT_EQ(problem_of(sft, key).remedy, "remove the key") << key;
  }
  EXPECT_EQ(sft.problems.size(), 6U) << format(sft.problems);
  EXPECT_EQ(problem_of(read_example({"train.zero_stage=2"}), "train.zero_stage").remedy, "remove the key");
}

TEST(Scenario, KnownButNotSimulatedIsSaid) {
  ScenarioResult const kept = read_example({"score.environment={turns: 2, keep_kv: true}"});
  ASSERT_TRUE(kept.scenario) << format(kept.problems);
  std::vector<Problem> const run = check_simulated(*kept.scenario);
  ASSERT_EQ(run.size(), 1U);
  EXPECT_EQ(run[0].key, "score.environment.keep_kv");
}

// What is wrong with a run stands where it was written, or is said of the file where nothing was written.
TEST(Scenario, EveryProblemOfARunIsAnInputProblemWithItsPlace) {
  auto const problems = [](std::vector<std::string> sets) {
    ScenarioResult const r = read_example(std::move(sets));
    EXPECT_TRUE(r.scenario) << format(r.problems);
    return r.scenario ? format(check_simulated(*r.scenario)) : "";
  };
  std::string const order = "framework.order=[generate, update_actor, checkpoint]";
  EXPECT_EQ(problems({order}), "--set " + order +
                                   ": framework.order: checkpoint is not simulated yet; take it out of the "
                                   "order, and write checkpoint: {every: 1}\n");
  EXPECT_EQ(problems({"framework={}"}), "");
  // 8 x 125,000 GPUs in replicas of 2.
  std::vector<std::string> const many = {"cluster.nodes=125000", "algorithm.prompts=15625",
                                         "algorithm.train_batch=500000"};
  EXPECT_EQ(
      problems(many),
      "example.yaml:10: train.parallel: training with 500000 data-parallel replicas is not simulated yet; "
      "25000 are the most; write more ranks per replica, or fewer nodes\n");
}

TEST(Scenario, AColonNeedsABlank) {
  ScenarioResult const r = read_example({"cluster={node:hgx-h100, nodes: 2}"});
  ASSERT_EQ(r.problems.size(), 1U) << format(r.problems);
  EXPECT_EQ(r.problems[0].key, "cluster.node:hgx-h100");
  EXPECT_EQ(r.problems[0].remedy, "write a blank after the colon: 'node: hgx-h100'");
}

// Bytes are printed as 64-bit integers.
TEST(Scenario, QuantitiesHaveAnUpperEnd) {
  Problem const p = problem_of(read_example({"cluster.node.gpu.visible_memory=1e200 GiB"}),
                               "cluster.node.gpu.visible_memory");
  EXPECT_NE(p.remedy.find("above 0 and at most"), std::string::npos) << p.remedy;
}

TEST(Scenario, MisspeltNamesGetTheNearestOne) {
  EXPECT_NE(problem_of(read_example({"model=llama-3.1-8b-instuct"}), "model").remedy.find("llama-3.1-8b"),
            std::string::npos);
  EXPECT_EQ(problem_of(read_example({"cluster.node=hgx-h10"}), "cluster.node").remedy,
            "did you mean hgx-h100?");
  EXPECT_EQ(problem_of(read_example({"framework=nemo_rl"}), "framework").remedy, "did you mean nemo-rl?");
  EXPECT_NE(problem_of(read_example({"train.recompute=ful"}), "train.recompute").remedy.find("full"),
            std::string::npos);
  EXPECT_NE(problem_of(read_example({"model=meta-llama/Llama-3.1-8B-Instruct"}), "model")
                .remedy.find("llama-3.1-8b"),
            std::string::npos);
}

TEST(Scenario, BillionGpusAreRefusedAtOnce) {
  for (std::string const nodes : {"125000000", "1000000000", "99999999999999999999", "1e30"}) {
    Problem const p = problem_of(read_example({"cluster.nodes=" + nodes}), "cluster.nodes");
    EXPECT_FALSE(p.remedy.empty());
  }
  Problem const p = problem_of(read_example({"cluster.nodes=125000000"}), "cluster.nodes");
  EXPECT_EQ(p.what, "1000000000 GPUs are more than the 1000000 that a forecast takes");
  EXPECT_EQ(p.remedy, "write at most nodes: 125000");
}

TEST(Scenario, OddNumbersAreProblemsNotValues) {
  for (std::string const value : {"nan", ".nan", "inf", "-.inf", "1e400", "-1", "0", "1.5", "0x10", "'4'",
                                  "[4]", "{a: 1}", "~", "", "--4", "99999999999999999999"}) {
    ScenarioResult const r = read_example({"train.micro_batch=" + value});
    ASSERT_EQ(r.problems.size(), 1U) << value << "\n" << format(r.problems);
    EXPECT_EQ(r.problems[0].key, "train.micro_batch");
  }
  ScenarioResult const e = read_example({"train.micro_batch=4e0"});
  ASSERT_TRUE(e.scenario) << format(e.problems);
  EXPECT_EQ(e.scenario->job.train.micro_batch, 4);
}

TEST(Scenario, QuantitiesNeedTheirUnit) {
  Problem const p = problem_of(read_example({"cluster.node.host_memory=80"}), "cluster.node.host_memory");
  EXPECT_NE(p.what.find("GiB"), std::string::npos);
  EXPECT_NE(problem_of(read_example({"framework.wake_fixed=3"}), "framework.wake_fixed").what.find("ms"),
            std::string::npos);
  EXPECT_NE(problem_of(read_example({"cluster.node.gpu.bf16=900 GB/s"}), "cluster.node.gpu.bf16")
                .what.find("TFLOP/s"),
            std::string::npos);
}

TEST(Scenario, MissingBlocksAreNamed) {
  ScenarioResult const r = read_scenario_text("framework: nemo-rl\n", "f.yaml", {});
  for (std::string const key : {"model", "cluster", "algorithm", "workload"}) {
    EXPECT_EQ(problem_of(r, key).what, "is missing");
  }
  EXPECT_EQ(r.problems.size(), 4U) << format(r.problems);
}

TEST(Scenario, ReadsFilesBesideTheScenario) {
  namespace fs = std::filesystem;
  fs::path const folder = fs::path(testing::TempDir()) / "scenario_test";
  fs::create_directories(folder / "tiny");
  std::ofstream(folder / "tiny" / "config.json")
      << R"({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 4,)"
      << R"( "num_key_value_heads": 2, "intermediate_size": 256, "vocab_size": 1000, "max_position_embeddings": 8192})";
  std::ofstream(folder / "catalog.yaml") << "gpus: {h100-sxm: {visible_memory: 70 GiB}}\n";
  std::string const place = (folder / "s.yaml").string();
  for (std::string const& path :
       std::vector<std::string>{"./tiny/config.json", "tiny/", (folder / "tiny/config.json").string()}) {
    ScenarioResult const r = read_scenario_text(example_text(), place, {{"model=" + path}, {}});
    ASSERT_TRUE(r.scenario) << path << "\n" << format(r.problems);
    EXPECT_EQ(r.scenario->job.model.layers, 2);
    EXPECT_EQ(r.scenario->job.model.kv_heads, 2);
  }
  ScenarioResult const none = read_scenario_text(example_text(), place, {{"model=./no/config.json"}, {}});
  EXPECT_NE(problem_of(none, "model").what.find("there is no file"), std::string::npos);

  ScenarioResult const changed =
      read_scenario_text(example_text(), place, {{}, {(folder / "catalog.yaml").string()}});
  ASSERT_TRUE(changed.scenario) << format(changed.problems);
  EXPECT_EQ(changed.scenario->job.cluster.node.gpu.visible_memory.value, GiB(70).value);
  EXPECT_FALSE(read_scenario_text(example_text(), place, {{}, {(folder / "none.yaml").string()}}).scenario);
  fs::remove_all(folder);
}

TEST(Scenario, AFloodOfProblemsIsCut) {
  std::string text = example_text();
  for (int i = 0; i < 1000; ++i) text += "unknown" + std::to_string(i) + ": 1\n";
  ScenarioResult const r = read_scenario_text(text, "f.yaml", {});
  EXPECT_EQ(r.problems.size(), 201U);
  EXPECT_EQ(format(r.problems.back()),
            "f.yaml: more than 200 problems; the others are not shown; start from scenarios/examples\n");
}

TEST(Scenario, ExplainListsEveryValueOnce) {
  ScenarioResult const r = read_example();
  ASSERT_TRUE(r.scenario);
  std::vector<std::string> keys;
  for (Origin const& o : r.scenario->origins) {
    EXPECT_FALSE(o.from.empty()) << o.key;
    keys.push_back(o.key);
  }
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(std::adjacent_find(keys.begin(), keys.end()), keys.end());
  std::string const text = explain(*r.scenario);
  EXPECT_EQ(static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')), keys.size() + 1);
  EXPECT_EQ(text, explain(*read_example().scenario));
}

TEST(Scenario, OptionsOfTheAllocatorAreThoseOfPyTorch) {
  ScenarioResult const r =
      read_example({"train.allocator='expandable_segments:True,garbage_collection_threshold:0.8'"});
  ASSERT_TRUE(r.scenario) << format(r.problems);
  EXPECT_TRUE(r.scenario->job.train.allocator.expandable_segments);
  EXPECT_DOUBLE_EQ(r.scenario->job.train.allocator.garbage_collection_threshold, 0.8);
  EXPECT_NE(problem_of(read_example({"train.allocator=expandable:1"}), "train.allocator").what, "");
  EXPECT_NE(problem_of(read_example({"train.allocator=[1]"}), "train.allocator").what, "");
}

}  // namespace
}  // namespace rollcast
