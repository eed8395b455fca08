#include <gtest/gtest.h>

#include <chrono>

#include "tests/scenarios/example.hpp"

namespace rollcast {
namespace {

// The example: 2 nodes of 8 GPUs, Llama-3.1-8B (32 layers, 32 heads, 8 KV heads, MLP 14336 = 2^11 x 7), pp 2,
// so 8 replicas; 64 prompts x 32 samples = 2048 samples, 512 per optimizer step; sequences of up to 127 +
// 3969 = 4096.
struct Case {
  std::vector<std::string> sets;
  std::string key;
  std::string what;    // part of it
  std::string remedy;  // part of it
};

TEST(Check, TraysAreAlikeAndStorageIsReached) {
  for (Case const& c : std::vector<Case>{
           {{"cluster.node={base: hgx-h100, trays: 4}"},
            "cluster.node.numa_nodes",
            "2 are not 4 trays",
            "multiple"},
           {{"cluster.node={base: hgx-h100, trays: 3}"},
            "cluster.node.gpus",
            "8 are not 3 trays",
            "multiple"},
           {{"cluster.node={base: hgx-h100, storage_nics: 0}", "cluster.storage_fabric=roce-400g"},
            "cluster.storage_fabric",
            "no cards for it",
            "storage_nics: 2"},
           {{"cluster.storage={read: 90 GB/s}"}, "cluster.storage", "both read and write", "write both"}}) {
    Problem const p = problem_of(read_example(c.sets), c.key);
    EXPECT_NE(p.what.find(c.what), std::string::npos) << p.what;
    EXPECT_NE(p.remedy.find(c.remedy), std::string::npos) << p.remedy;
  }
}

TEST(Check, NamesTheNearestValidValues) {
  for (Case const& c : std::vector<Case>{
           {{"train.parallel.tp=3"}, "train.parallel.tp", "3 ranks do not divide the 32 heads", "tp: 2 or 4"},
           {{"train.parallel.tp=6"}, "train.parallel.tp", "32 heads", "tp: 4 or 8"},
           // tp 16 divides the heads and copies each of 8 KV heads twice; 16 x pp 2 = 32 is more than 16
           // GPUs.
           {{"train.parallel.tp=16"},
            "train.parallel",
            "16 GPUs are not a multiple of tp 16 x pp 2 x cp 1 = 32",
            "tp: 8"},
           {{"train.parallel.cp=3"}, "train.parallel", "= 6", "cp: 2 or 4"},
           {{"train.parallel.pp=64"},
            "train.parallel.pp",
            "64 stages are more than the 32 layers",
            "pp: 32 or less"},
           {{"train.parallel.ep=2"}, "train.parallel.ep", "has no experts", "remove ep"},
           // 63 x 32 = 2016 = 8 x 252 divides among 8 replicas; 512 does not divide it, the divisors of 2016
           // that are multiples of 8 next to 512 are 504 and 672.
           {{"algorithm.prompts=63"},
            "algorithm.train_batch",
            "512 does not divide the 2016 samples",
            "train_batch: 504 or 672"},
           {{"algorithm.prompts=3", "algorithm.group_size=2"},
            "algorithm.prompts",
            "3 prompts x 2 samples",
            "prompts: 4"},
           {{"algorithm.train_batch=500"},
            "algorithm.train_batch",
            "500 does not divide the 2048",
            "train_batch: 256 or 512"},
           {{"algorithm.train_batch=4"},
            "algorithm.train_batch",
            "among 8 data-parallel replicas",
            "train_batch: 8"},
           // 512 / 8 replicas = 64 sequences.
           {{"train.packing=false", "train.micro_batch=3"},
            "train.micro_batch",
            "3 does not divide the 64 sequences",
            "micro_batch: 2 or 4"},
           {{"train.pack_tokens=4000"}, "train.pack_tokens", "can reach 4096 tokens", "pack_tokens: 4096"},
           {{"train.packing=false", "train.pack_tokens=8192"},
            "train.pack_tokens",
            "without packing",
            "packing: true"},
           {{"rollout.parallel.tp=3"}, "rollout.parallel.tp", "32 heads", "tp: 2 or 4"},
           {{"rollout.parallel.tp=32"}, "rollout.parallel", "16 GPUs are not a multiple of tp 32", "tp: 16"},
           {{"cluster.node.gpus=6", "rollout.parallel.tp=4", "train.parallel.pp=1", "algorithm.group_size=36",
             "algorithm.train_batch=576"},
            "rollout.parallel.tp",
            "engines of 4 ranks do not fit into nodes of 6 GPUs",
            "tp: 2"},
           {{"rollout.parallel.pp=33"}, "rollout.parallel.pp", "33 stages", "pp: 32"},
           {{"rollout.max_model_len=4000"}, "rollout.max_model_len", "can reach 4096", "max_model_len: 4096"},
           {{"rollout.max_model_len=200000"}, "rollout.max_model_len", "takes 131072", "131072 or less"},
           {{"rollout.max_num_batched_tokens=512"},
            "rollout.max_num_batched_tokens",
            "1024 sequences",
            "1024 or more"},
           // 127 + 3969 tokens after a preemption at the last one.
           {{"rollout.chunked_prefill=false", "rollout.max_num_batched_tokens=4000"},
            "rollout.max_num_batched_tokens",
            "4096 tokens",
            "4096 or more"},
           // Long enough for every prompt, not for a preempted sequence that computes its response again.
           {{"rollout.chunked_prefill=false", "rollout.max_num_batched_tokens=2048"},
            "rollout.max_num_batched_tokens",
            "reach 4096 tokens",
            "4096 or more"},
           {{"cluster.node.gpu=l40s", "model=qwen2.5-1.5b"},
            "cluster.node.interconnect",
            "needs NVLink, and the card l40s has none",
            "interconnect: pcie"},
           {{"cluster.node.nics=0"}, "cluster.node.nics", "2 nodes without network cards", "nodes: 1"},
           {{"cluster.node.nic=0 Gb/s"}, "cluster.node.nic", "without a rate", "nic: 400 Gb/s"},
           {{"workload.response_tokens={lognormal: {mean: 1019, p95: 2600}}"},
            "workload.response_tokens",
            "no upper end",
            "max"},
           {{"workload.response_tokens=200000"}, "workload.response_tokens", "200127", "max_context"},
           {{"cluster.node.gpu.fp8=0 TFLOP/s", "rollout.weights=fp8"},
            "rollout.weights",
            "has no fp8",
            "bf16"},
           {{"cluster.node.gpu.fp8=0 TFLOP/s", "train.weights=fp8"}, "train.weights", "has no fp8", "bf16"},
       }) {
    ScenarioResult const r = read_example(c.sets);
    Problem const p = problem_of(r, c.key);
    EXPECT_NE(p.what.find(c.what), std::string::npos) << c.sets[0] << "\n" << format(r.problems);
    EXPECT_NE(p.remedy.find(c.remedy), std::string::npos) << c.sets[0] << "\n" << format(r.problems);
    EXPECT_EQ(r.problems.size(), 1U) << format(r.problems);
  }
}

TEST(Check, PointsAtTheKeyInTheFile) {
  std::string text = example_text();
  std::string const from = "parallel: {tp: 1, pp: 2}";
  text.replace(text.find(from), from.size(), "parallel: {tp: 3, pp: 2}");
  Problem const p = problem_of(read_scenario_text(text, "f.yaml", {}), "train.parallel.tp");
  EXPECT_EQ(p.line, 10);
  EXPECT_EQ(p.column, 43);  // "train: {trainer: megatron, parallel: {tp: 3"
}

TEST(Check, KvHeadsAreCutOrCopied) {
  // 8 KV heads: tp 1, 2, 4, 8 cut them, 16 and 32 copy each 2 and 4 times.
  for (int tp : {1, 2, 4, 8, 16}) {
    ScenarioResult const r = read_example({"rollout.parallel.tp=" + std::to_string(tp)});
    EXPECT_TRUE(r.scenario) << tp << format(r.problems);
  }
  // 12 KV heads of 24: tp 8 divides the heads, and neither divides 12 nor is a multiple of it.
  ScenarioResult const r = read_example({"model.heads=24", "model.kv_heads=12", "rollout.parallel.tp=8"});
  EXPECT_NE(problem_of(r, "rollout.parallel.tp").what.find("12 KV heads"), std::string::npos)
      << format(r.problems);
}

// The example's 32 heads on 14 GPUs, seven of each node; Qwen2.5-7B has 28.
TEST(Check, UlyssesSharesQueryHeads) {
  std::vector<std::string> const sets = {"train.context_parallel=ulysses", "train.parallel.pp=1"};
  auto const with = [&](std::vector<std::string> const& more) {
    std::vector<std::string> all = sets;
    all.insert(all.end(), more.begin(), more.end());
    return read_example(all);
  };
  EXPECT_TRUE(with({"train.parallel.cp=8"}).scenario);
  EXPECT_TRUE(with({"model=qwen2.5-7b", "train.parallel.cp=4"}).scenario);
  Problem const p = problem_of(with({"model=qwen2.5-7b", "train.parallel.cp=8"}), "train.parallel.cp");
  EXPECT_NE(p.what.find("8 ranks of Ulysses do not divide the 28 heads"), std::string::npos) << p.what;
  EXPECT_NE(p.remedy.find("cp: 4"), std::string::npos) << p.remedy;
  // Beside tp 4 a rank has seven heads.
  Problem const beside = problem_of(with({"model=qwen2.5-7b", "train.parallel.tp=4", "train.parallel.cp=2"}),
                                    "train.parallel.cp");
  EXPECT_NE(beside.what.find("beside tp 4"), std::string::npos) << beside.what;
  // A ring cuts tokens alone.
  EXPECT_TRUE(read_example({"model=qwen2.5-7b", "train.parallel.pp=1", "train.parallel.cp=8"}).scenario);
}

TEST(Check, ExpertParallelDividesExpertsAndReplicas) {
  // Qwen3-30B-A3B: 128 experts. 16 GPUs, pp 1: 16 data-parallel ranks.
  std::vector<std::string> const sets = {"model=qwen3-30b-a3b", "train.parallel.pp=1"};
  auto const with_ep = [&](int ep) {
    std::vector<std::string> all = sets;
    all.push_back("train.parallel.ep=" + std::to_string(ep));
    return read_example(all);
  };
  EXPECT_TRUE(with_ep(8).scenario) << format(with_ep(8).problems);
  EXPECT_EQ(problem_of(with_ep(3), "train.parallel.ep").remedy, "write ep: 2 or 4");
  EXPECT_EQ(problem_of(with_ep(32), "train.parallel.ep").remedy, "write ep: 16");
}

// 16 GPUs, one stage, 128 experts of width 768: etp x ep divides 16, whatever tp and cp are.
TEST(Check, ExpertsHaveAGridOfTheirOwn) {
  auto const with = [](std::string const& parallel, std::vector<std::string> more = {}) {
    more.push_back("model=qwen3-30b-a3b");
    more.push_back("train.parallel=" + parallel);
    return read_example(more);
  };
  std::string const sequence = "train.sequence_parallel=true";
  ScenarioResult const spread = with("{tp: 4, pp: 1, cp: 2, ep: 16, etp: 1}", {sequence});
  ASSERT_TRUE(spread.scenario) << format(spread.problems);
  EXPECT_EQ(expert_data_parallel(spread.scenario->job), 1);
  EXPECT_TRUE(with("{tp: 4, pp: 1, ep: 8, etp: 2}", {sequence}).scenario);
  EXPECT_EQ(problem_of(with("{tp: 4, pp: 1, ep: 8, etp: 4}", {sequence}), "train.parallel.ep").remedy,
            "write ep: 4");
  EXPECT_EQ(problem_of(with("{tp: 4, pp: 1, ep: 2, etp: 3}", {sequence}), "train.parallel.etp").remedy,
            "write etp: 2 or 4");
  EXPECT_EQ(problem_of(with("{tp: 4, pp: 1, ep: 4, etp: 1}", {"train.sequence_parallel=false"}),
                       "train.sequence_parallel")
                .remedy,
            "write sequence_parallel: true");
}

// NeMo-RL's default with expert parallelism is 1; a model without experts has no use for the keys.
TEST(Check, WhereTheExpertGridComesFrom) {
  ScenarioResult const r = read_example(
      {"model=qwen3-30b-a3b", "train.parallel={tp: 4, pp: 1, ep: 8}", "train.sequence_parallel=true"});
  ASSERT_TRUE(r.scenario) << format(r.problems);
  EXPECT_EQ(r.scenario->job.train.parallel.etp, 1);
  EXPECT_EQ(problem_of(read_example({"train.parallel.etp=1"}), "train.parallel.etp").remedy, "remove etp");
  EXPECT_EQ(problem_of(read_example({"train.expert_dispatch=deepep"}), "train.expert_dispatch").remedy,
            "remove the key");
  EXPECT_EQ(problem_of(read_example({"model=qwen3-30b-a3b", "train.expert_dispatch=deepep"}),
                       "train.expert_dispatch")
                .remedy,
            "remove the key, or write ep above 1");
}

TEST(Check, DeepSpeedPipelinesOnlyWithLowStages) {
  ScenarioResult const r = read_example({"train={trainer: deepspeed, zero_stage: 3, parallel: {pp: 2}}"});
  EXPECT_EQ(r.problems.size(), 1U) << format(r.problems);
  EXPECT_NE(problem_of(r, "train.zero_stage").remedy.find("zero_stage: 1"), std::string::npos);
}

// 64 samples over 8 GPUs, one a micro-batch: 8 micro-batches a step.
TEST(Check, OptimizerOptionsThatWouldBeIgnored) {
  auto const read = [](std::string const& train, std::string const& algorithm = "train_batch: 64") {
    return read_scenario_text(
        "model: llama-3.1-8b\ncluster: {node: hgx-h100}\nalgorithm: {kind: sft, " + algorithm +
            "}\nworkload: {prompt_tokens: 512, response_tokens: 512}\ntrain: {" + train + "}\n",
        "f.yaml", {});
  };
  EXPECT_NE(problem_of(read("trainer: fsdp2, optimizer_in_backward: true"), "train.optimizer_in_backward")
                .what.find("accumulates 8 micro-batches"),
            std::string::npos);
  EXPECT_TRUE(read("trainer: fsdp2, optimizer_in_backward: true, micro_batch: 8").scenario);
  problem_of(read("trainer: megatron, optimizer_in_backward: true"), "train.optimizer_in_backward");
  problem_of(read("trainer: fsdp2, optimizer_in_backward: true, micro_batch: 8, offload: {optimizer: true}"),
             "train.optimizer_in_backward");
  problem_of(read("trainer: fsdp2, optimizer_in_backward: true, micro_batch: 8",
                  "train_batch: 64, adapter: {kind: lora, rank: 8, targets: [q]}"),
             "train.optimizer_in_backward");
  problem_of(read("trainer: fsdp2, paged_optimizer: true"), "train.paged_optimizer");
  EXPECT_TRUE(read("trainer: ddp, paged_optimizer: true").scenario);
  problem_of(read("trainer: ddp, paged_optimizer: true, offload: {optimizer: true}"),
             "train.paged_optimizer");
  problem_of(read("trainer: megatron, parallel: {pp: 2}, offload: {activations: true}"),
             "train.offload.activations");
  problem_of(read("trainer: megatron, shifted_labels: true"), "train.shifted_labels");
  problem_of(read("trainer: ddp, cross_entropy: chunked, shifted_labels: true"), "train.shifted_labels");
  EXPECT_TRUE(read("trainer: ddp, shifted_labels: true").scenario);
}

TEST(Check, DpoCountsPairs) {
  // 64 pairs over 8 GPUs: 8 pairs, 16 sequences per replica; a micro-batch of 3 does not divide 16.
  std::string const text =
      "model: llama-3.1-8b\ncluster: {node: hgx-h100}\nalgorithm: {kind: dpo, train_batch: 64}\n"
      "workload: {prompt_tokens: 512, response_tokens: 512}\ntrain: {micro_batch: 16}\n";
  EXPECT_TRUE(read_scenario_text(text, "f.yaml", {}).scenario);
  EXPECT_EQ(problem_of(read_scenario_text(text, "f.yaml", {{"train.micro_batch=3"}, {}}), "train.micro_batch")
                .remedy,
            "write micro_batch: 2 or 4");
}

TEST(Check, LargeNumbersAreAnsweredAtOnce) {
  auto const start = std::chrono::steady_clock::now();
  // 999,983 is prime, 2000 x 999,983 samples: the answer must not be searched sample by sample.
  ScenarioResult const a =
      read_example({"algorithm.prompts=999983", "algorithm.group_size=2000", "algorithm.train_batch=3"});
  EXPECT_EQ(problem_of(a, "algorithm.train_batch").remedy, "write train_batch: 8");
  read_example({"train.parallel={tp: 1, pp: 1, cp: 1000000}"});
  read_example({"cluster.nodes=124999", "train.parallel={tp: 1, pp: 31, cp: 999983}"});
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), 1.0);
}

// Whatever small layout is asked for: either it is accepted and divides, or a remedy that names values names
// good ones.
TEST(Check, RemediesWork) {
  for (int tp = 1; tp <= 9; ++tp) {
    for (int pp = 1; pp <= 5; ++pp) {
      auto const read = [&](int t) {
        return read_example(
            {"train.parallel.tp=" + std::to_string(t), "train.parallel.pp=" + std::to_string(pp)});
      };
      ScenarioResult const r = read(tp);
      if (r.scenario) {
        EXPECT_EQ(16 % (tp * pp), 0);
        continue;
      }
      for (Problem const& p : r.problems) {
        std::size_t const at = p.remedy.find("tp: ");
        if (p.key != "train.parallel" || at == std::string::npos) continue;
        EXPECT_TRUE(read(std::stoi(p.remedy.substr(at + 4))).scenario) << format(p);
      }
    }
  }
}

}  // namespace
}  // namespace rollcast
