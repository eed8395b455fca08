#include "scenarios/check_serve.hpp"

#include <gtest/gtest.h>

#include "tests/scenarios/serve_example.hpp"

namespace rollcast {
namespace {

struct Refusal {
  std::vector<std::string> sets;
  std::string key;
  std::string what;
  std::string remedy;
};

TEST(CheckServe, WhatCannotBe) {
  for (Refusal const& r : std::vector<Refusal>{
           {{"rollout.engine=hf"},
            "rollout.engine",
            "hf generates whole batches and serves no requests",
            "write engine: vllm"},
           {{"rollout.balance=contiguous"},
            "rollout.balance",
            "contiguous deals out a batch, and requests come one by one",
            "write balance: least_load or round_robin"},
           {{"rollout.balance=by_group"},
            "rollout.balance",
            "by_group deals out a batch, and requests come one by one",
            ""},
           {{"rollout.speculative={draft_tokens: 2}"},
            "rollout.speculative",
            "drafting beside adapters is not simulated yet",
            "remove the key"},
           {{"serve.order=fair", "serve.patience=2 s"},
            "serve.patience",
            "where all wait for long, the order of arrival would undo the fair one",
            "remove one of the two"},
           {{"rollout.kv=static", "serve.adapters.pool=unified"},
            "serve.adapters.pool",
            "static KV has no pages for adapters",
            "write pool: fixed, or rollout.kv: paged"},
           {{"serve.adapters.targets=[q, gate]", "model={base: llama-2-7b, gated_mlp: false}"},
            "serve.adapters.targets",
            "llama-2-7b has no gate_proj",
            "write some of q, k, v, o, up, down"},
           {{"serve.adapters={variants: [{rank: 8}, {targets: [gate]}]}",
             "model={base: llama-2-7b, gated_mlp: false}"},
            "serve.adapters.variants[1].targets",
            "llama-2-7b has no gate_proj",
            ""},
           // 20 engines of 2 ranks are 40 GPUs, 5 nodes of 8.
           {{"serve.adapters.execution=deployments", "rollout.parallel.tp=2"},
            "serve.adapters.execution",
            "20 adapters need an engine each, and 8 GPUs hold 4 of 2",
            "write cluster.nodes: 5 (40 GPUs) or more, or adapters.count: 4 or less"},
           {{"serve.adapters.max_rank=7"},
            "serve.adapters.max_rank",
            "an adapter has rank 8",
            "write max_rank: 8 or more"},
           {{"serve.adapters.pool=unified", "serve.adapters.slots=4"},
            "serve.adapters.slots",
            "a unified pool has no slots",
            "remove the key, or write pool: fixed"},
           {{"serve.adapters.pool=unified", "serve.adapters.pool_bytes=4 GB"},
            "serve.adapters.pool_bytes",
            "a unified pool has no slots",
            ""},
           {{"serve.adapters.slots=4", "serve.adapters.pool_bytes=4 GB"},
            "serve.adapters.pool_bytes",
            "the pool has slots or bytes",
            "remove one of the two"},
           {{"serve.adapters.execution=merged", "serve.adapters.slots=1"},
            "serve.adapters.slots",
            "the merged adapter is taken out again with its own factors, beside the next one's",
            "write slots: 2 or more"},
           {{"serve.adapters.prefetch=4"},
            "serve.adapters.prefetch",
            "steps wait for their adapters, and nothing is loaded ahead",
            "write loading: overlapped, or remove the key"},
           {{"serve.adapters.slots=4", "serve.adapters.batch_limit=5"},
            "serve.adapters.batch_limit",
            "more adapters than the 4 slots",
            "write batch_limit: 4 or less"},
           {{"serve.adapters.storage=shared"},
            "serve.adapters.storage",
            "the hosts hold all adapters",
            "remove the key, or write host_adapters"},
           {{"serve.adapters.storage=shared", "serve.adapters.host_adapters=5"},
            "serve.adapters.storage",
            "the cluster has no shared file system",
            ""},
           {{"serve.adapters.host_adapters=5"},
            "serve.adapters.storage",
            "the node hgx-a100 has no drives",
            "give it nvme_read and nvme_write, write storage: shared, or host_adapters: 0"},
           {{"serve.adapters.host_adapters=5", "cluster.node={base: hgx-a100, nvme_read: 25 GB/s}"},
            "serve.adapters.storage",
            "the node hgx-a100 has no drives",
            ""},
           {{"workload.response_tokens={lognormal: {mu: 5, sigma: 1}}"},
            "workload.response_tokens",
            "the lengths have no upper end",
            ""},
           {{"workload.response_tokens=4000"},
            "workload.response_tokens",
            "prompt and response can reach 4512 tokens, llama-2-7b takes 4096",
            ""},
           {{"rollout.max_model_len=600"},
            "rollout.max_model_len",
            "prompt and response can reach 640 tokens",
            ""},
           {{"rollout.parallel.tp=3"},
            "rollout.parallel.tp",
            "3 ranks do not divide the 32 heads of llama-2-7b",
            ""},
       }) {
    Problem const p = problem_of(read_served(r.sets), r.key);
    EXPECT_EQ(p.what, r.what);
    if (!r.remedy.empty()) {
      EXPECT_EQ(p.remedy, r.remedy);
    }
  }
}

TEST(CheckServe, WhatCan) {
  for (std::vector<std::string> const& sets : std::vector<std::vector<std::string>>{
           {"serve.adapters.execution=deployments", "serve.adapters.count=8",
            "serve.adapters.host_adapters=2"},
           {"serve.adapters.execution=none", "rollout.speculative={draft_tokens: 2}"},
           {"serve.adapters.pool=unified", "serve.adapters.loading=overlapped", "serve.adapters.prefetch=4"},
           {"serve.adapters.pool_bytes=4 GB"},
           {"serve.adapters.batch_limit=5"},
           {"serve.adapters.host_adapters=5",
            "cluster.node={base: hgx-a100, nvme_read: 25 GB/s, nvme_write: 12 GB/s}"},
           {"serve.adapters.host_adapters=20"},
           {"rollout.engine=sglang"},
           {"rollout.balance=round_robin"},
           {"rollout.parallel.tp=8", "serve.adapters.max_rank=64"}}) {
    ScenarioResult const r = read_served(sets);
    EXPECT_TRUE(r.scenario) << format(r.problems);
    if (r.scenario) {
      EXPECT_TRUE(check_simulated(*r.scenario).empty());
    }
  }
}

TEST(CheckServe, AdaptersMayComeFromASharedFileSystem) {
  ScenarioResult const r = read_served({"serve.adapters.host_adapters=5", "serve.adapters.storage=shared",
                                        "cluster.storage={read: 20 GB/s, write: 10 GB/s}"});
  ASSERT_TRUE(r.scenario) << format(r.problems);
  EXPECT_TRUE(check_simulated(*r.scenario).empty());
  // Without an adapter that comes from there it would be ignored.
  ScenarioResult const unused = read_served({"cluster.storage={read: 20 GB/s, write: 10 GB/s}"});
  ASSERT_TRUE(unused.scenario);
  EXPECT_EQ(check_simulated(*unused.scenario).size(), 1U);
}

}  // namespace
}  // namespace rollcast
