// Commands on a small scenario that serves; the program runs in processes of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <sstream>

#include "reports/output_file.hpp"
#include "tests/reports/temporary_folder.hpp"

namespace rollcast {
namespace {

using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::json;

constexpr char const* kServe =
    "model: llama-3.2-1b\n"
    "cluster: {node: hgx-h100, nodes: 1}\n"
    "workload: {prompt_tokens: 100, response_tokens: {lognormal: {mean: 50, p95: 120}, max: 200}}\n"
    "rollout: {engine: vllm, parallel: {tp: 4}, max_num_seqs: 32}\n"
    "serve:\n"
    "  requests: 40\n"
    "  arrivals: {poisson: 20}\n"
    "  adapters: {count: 2, variants: [{rank: 8, targets: [q, v]}]}\n"
    "  objective: {ttft: 1 s}\n"
    "measured: {source: a table, requests_per_second: 20, ttft_p99: 0.1}\n";

constexpr char const* kTrain =
    "model: qwen2.5-0.5b\n"
    "cluster: {node: hgx-h100, nodes: 1}\n"
    "framework: nemo-rl\n"
    "algorithm: {kind: grpo, prompts: 8, group_size: 4, train_batch: 32, kl_reference: true}\n"
    "workload: {prompt_tokens: 16, response_tokens: 100}\n"
    "train: {trainer: megatron, micro_batch: 1, logprob_micro_batch: 1}\n"
    "rollout: {engine: vllm, parallel: {tp: 1}, gpu_memory_utilization: 0.6}\n"
    "schedule: synchronous\n";

class ServingCommand : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(write_file(folder_.path("serve.yaml"), kServe), "");
    ASSERT_EQ(write_file(folder_.path("train.yaml"), kTrain), "");
  }

  struct Ended {
    int exit_code = 0;
    std::string text;  // of both streams
  };
  Ended program(std::string const& arguments) const {
    std::string const command =
        "cd '" + folder_.root().string() + "' && '" ROLLCAST_PROGRAM "' " + arguments + " 2>&1";
    std::FILE* const pipe = ::popen(command.c_str(), "r");
    Ended e;
    for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) e.text += static_cast<char>(c);
    e.exit_code = WEXITSTATUS(::pclose(pipe));
    return e;
  }
  std::string content(std::string const& name) const { return content_of(folder_.path(name)); }

  TemporaryFolder folder_;
};

TEST_F(ServingCommand, RunTellsWhatIsServed) {
  Ended const e =
      program("run serve.yaml --requests r.csv --json r.json --csv steps.csv --trace t.json --log r.log");
  ASSERT_EQ(e.exit_code, 0) << e.text;
  EXPECT_THAT(e.text,
              HasSubstr(" requests/s are served on 8 x h100-sxm with 2 adapters in one batch: first "));
  EXPECT_THAT(e.text, HasSubstr("\nLatencies of 40 requests\n"));
  EXPECT_THAT(e.text, HasSubstr("  requests_per_second "));
  EXPECT_THAT(e.text, Not(HasSubstr("One step")));
  Json const json = Json::parse(content("r.json"));
  EXPECT_EQ(json["serving"]["requests"], 40);
  EXPECT_EQ(json["serving"]["adapters"]["used"], 2);
  std::string const rows = content("r.csv");
  EXPECT_EQ(std::count(rows.begin(), rows.end(), '\n'), 41);
  // The log says the same.
  Ended const again = program("report r.log --requests again.csv");
  EXPECT_EQ(again.exit_code, 0);
  EXPECT_EQ(again.text, e.text);
  EXPECT_EQ(content("again.csv"), rows);
}

// All of a request's latency lies between its arrival and its finish, and nobody is answered before coming.
TEST_F(ServingCommand, RequestsAddUpToTheFigures) {
  ASSERT_EQ(program("run serve.yaml --requests r.csv --json r.json --quiet").exit_code, 0);
  std::istringstream rows(content("r.csv"));
  std::string line;
  std::getline(rows, line);
  double latency = 0;
  int requests = 0;
  for (; std::getline(rows, line); ++requests) latency += std::stod(line.substr(line.rfind(',') + 1));
  double const mean = Json::parse(content("r.json"))["serving"]["latency_seconds"]["mean"];
  EXPECT_NEAR(latency / requests, mean, 1e-7 * mean);
}

TEST_F(ServingCommand, CompareRanksByRequestsInTime) {
  Ended const e = program(
      "compare serve.yaml --with serve.adapters.execution=deployments --with "
      "'cluster.nodes=2,serve.adapters.count=40,serve.adapters.execution=deployments' "
      "--seeds 2 --json c.json");
  ASSERT_EQ(e.exit_code, 0) << e.text;
  EXPECT_THAT(e.text, HasSubstr("requests in time"));
  Json const json = Json::parse(content("c.json"));
  EXPECT_EQ(json["unit"], "request in time");
  EXPECT_EQ(json["contenders"][0]["serving"]["requests"], 40);
  EXPECT_EQ(json["contenders"][2]["outcome"], "infeasible");
  EXPECT_TRUE(json["contenders"][2]["serving"]["goodput"].is_null());
}

TEST_F(ServingCommand, CompareRefusesWhatCannotBeCompared) {
  Ended const e = program("compare serve.yaml train.yaml");
  EXPECT_EQ(e.exit_code, 2);
  EXPECT_THAT(e.text, HasSubstr("some contenders serve requests and others train"));
  EXPECT_EQ(program("compare serve.yaml --with serve.requests=50 --run-steps 10").exit_code, 2);
}

TEST_F(ServingCommand, SweepHasColumnsOfServing) {
  Ended const e = program("sweep serve.yaml --vary serve.adapters.count=1,4 --csv s.csv --out s.sqlite");
  ASSERT_EQ(e.exit_code, 0) << e.text;
  EXPECT_THAT(e.text, HasSubstr("Most requests in time per second"));
  EXPECT_THAT(content("s.csv"), HasSubstr(",requests_per_second,"));
  Ended const again = program("sweep serve.yaml --vary serve.adapters.count=1,4 --csv t.csv --out s.sqlite");
  EXPECT_THAT(again.text, HasSubstr("0 simulated now"));
  EXPECT_EQ(content("t.csv"), content("s.csv"));
}

TEST_F(ServingCommand, RatioAndPlanSayWhyNot) {
  Ended const ratio = program("ratio serve.yaml");
  EXPECT_EQ(ratio.exit_code, 2);
  EXPECT_THAT(ratio.text, HasSubstr("serve: nothing is trained"));
  Ended const weights = program("weights serve.yaml");
  EXPECT_EQ(weights.exit_code, 2);
  EXPECT_THAT(weights.text, HasSubstr("nothing is trained: no weights are sent"));
  Ended const plan = program("plan serve.yaml");
  EXPECT_EQ(plan.exit_code, 2);
  EXPECT_THAT(plan.text, HasSubstr("serve: plan searches layouts of a trainer"));
}

// The number of slots that the refusal names is one that `memory` has tried.
TEST_F(ServingCommand, MemoryTriesTheSlotsThatFit) {
  Ended const e = program("memory serve.yaml --set serve.adapters.slots=1000000");
  ASSERT_EQ(e.exit_code, 0) << e.text;
  std::string const before = "at most ";
  std::size_t const at = e.text.find(before);
  ASSERT_NE(at, std::string::npos) << e.text;
  std::string const most = e.text.substr(at + before.size(), e.text.find(' ', at + before.size()) - at - 8);
  EXPECT_THAT(e.text, HasSubstr("--set serve.adapters.slots=" + most + " "));
  EXPECT_THAT(e.text, Not(HasSubstr("--set train.")));
  Ended const sized = program("memory serve.yaml --set 'serve.adapters.pool_bytes=1 TB'");
  EXPECT_THAT(sized.text, HasSubstr("--set serve.adapters.pool_bytes="));
}

// A million adapters of rank 64: 16 x 64 x (2 x 2,048 + 2,048 + 512) x 2 B = 13.6 MB each, 2 TiB hold
// 161,319.
TEST_F(ServingCommand, MemoryTriesTheAdaptersThatAHostHolds) {
  Ended const e = program(
      "memory serve.yaml --set 'serve.adapters={count: 1000000, rank: 64, targets: [q, v], slots: 4}'");
  ASSERT_EQ(e.exit_code, 0) << e.text;
  EXPECT_THAT(e.text, HasSubstr("--set serve.adapters.host_adapters=161319 "));
}

TEST_F(ServingCommand, RequestsAreOfRunsThatServe) {
  Ended const e = program("run train.yaml --steps 1 --requests r.csv");
  EXPECT_EQ(e.exit_code, 2);
  EXPECT_THAT(e.text, HasSubstr("--requests: this run serves no requests"));
}

TEST_F(ServingCommand, DrawsAndValidationHaveRatesAndLatencies) {
  Ended const drawn = program("run serve.yaml --draws 9");
  ASSERT_EQ(drawn.exit_code, 0) << drawn.text;
  EXPECT_THAT(drawn.text, HasSubstr("\n  ttft_p99 "));
  EXPECT_THAT(drawn.text, HasSubstr("  The mean latency when one kind of price"));
  Ended const valid = program("validate .");
  EXPECT_EQ(valid.exit_code, 0) << valid.text;
  EXPECT_THAT(valid.text, HasSubstr("  requests_per_second "));
}

}  // namespace
}  // namespace rollcast
