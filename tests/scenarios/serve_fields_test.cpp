// What `serve:` can say, and what a file that serves cannot.
#include "scenarios/text/serve_fields.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "models/activations.hpp"
#include "models/arrivals.hpp"
#include "models/roles.hpp"
#include "tests/fuzz/scenario_fuzz.hpp"
#include "tests/scenarios/serve_example.hpp"

namespace rollcast {
namespace {

TEST(ServeFields, AJobWithoutATrainer) {
  ScenarioResult const r = read_served();
  ASSERT_TRUE(r.scenario) << format(r.problems);
  Job const& job = r.scenario->job;
  EXPECT_EQ(job.algorithm.kind, AlgorithmKind::serve);
  EXPECT_EQ(job.framework.kind, FrameworkKind::none);
  EXPECT_TRUE(model_roles(job.algorithm).empty());
  EXPECT_EQ(job.rollout.balance, EngineBalance::least_load);
  EXPECT_EQ(job.serve->requests, 100);
  EXPECT_EQ(job.serve->adapters.count, 20);
  EXPECT_EQ(job.serve->adapters.popularity, Popularity::zipf);
  EXPECT_EQ(job.serve->adapters.execution, AdapterExecution::batched);
  EXPECT_TRUE(check_simulated(*r.scenario).empty());
  EXPECT_EQ(origin_of(*r.scenario, "serve.adapters.rank").from, "serve.yaml:8");
  EXPECT_EQ(origin_of(*r.scenario, "serve.adapters.pool").from, "default");
}

TEST(ServeFields, FourKindsOfArrivals) {
  EXPECT_DOUBLE_EQ(served().arrivals.rate, 12);
  Arrivals const bursts = served({"serve.arrivals={bursts: {rate: 3, variation: 4}}"}).arrivals;
  EXPECT_EQ(bursts.kind, ArrivalKind::bursts);
  EXPECT_DOUBLE_EQ(bursts.rate, 3);
  EXPECT_DOUBLE_EQ(bursts.variation, 4);
  Arrivals const closed = served({"serve.arrivals={closed: 64}"}).arrivals;
  EXPECT_EQ(closed.kind, ArrivalKind::closed);
  EXPECT_EQ(closed.users, 64);
}

TEST(ServeFields, AdaptersInWords) {
  for (auto const& [text, popularity] :
       {std::pair("uniform", Popularity::uniform), std::pair("identical", Popularity::identical),
        std::pair("distinct", Popularity::distinct), std::pair("zipf", Popularity::zipf)})
    EXPECT_EQ(served({std::string("serve.adapters.popularity=") + text}).adapters.popularity, popularity);
  EXPECT_DOUBLE_EQ(served({"serve.adapters.popularity={zipf: 0.7}"}).adapters.exponent, 0.7);
  ServedAdapters const a =
      served({"serve.adapters={count: 7, variants: [{rank: 8, targets: [q]}, {rank: 64}], execution: split, "
              "padded_ranks: false, max_rank: 128, fully_sharded: true, pool: fixed, slots: 5, eviction: "
              "popularity, loading: overlapped, prefetch: 3, batch_limit: 4}"})
          .adapters;
  ASSERT_EQ(a.variants.size(), 2U);
  EXPECT_EQ(a.variants[0].rank, 8);
  EXPECT_EQ(a.variants[0].targets, (std::vector<std::string>{"q"}));
  EXPECT_EQ(a.variants[1].rank, 64);
  EXPECT_EQ(a.variants[1].targets, (std::vector<std::string>{"q", "v"}));
  EXPECT_EQ(a.execution, AdapterExecution::split);
  EXPECT_FALSE(a.padded_ranks);
  EXPECT_EQ(a.max_rank, 128);
  EXPECT_TRUE(a.fully_sharded);
  EXPECT_EQ(a.slots, 5);
  EXPECT_EQ(a.eviction, AdapterEviction::popularity);
  EXPECT_EQ(a.loading, AdapterLoading::overlapped);
  EXPECT_EQ(a.prefetch, 3);
  EXPECT_EQ(a.batch_limit, 4);
}

TEST(ServeFields, OrderPatienceAndObjective) {
  ServeOptions const s = served({"serve.order=grouped", "serve.patience=2 s",
                                 "serve.objective={ttft: 2 s, tpot: 100 ms, latency: 30 s}"});
  EXPECT_EQ(s.order, ServeOrder::grouped);
  EXPECT_DOUBLE_EQ(s.patience.value, 2);
  EXPECT_DOUBLE_EQ(s.objective.ttft.value, 2);
  EXPECT_DOUBLE_EQ(s.objective.tpot.value, 0.1);
  EXPECT_DOUBLE_EQ(s.objective.latency.value, 30);
}

TEST(ServeFields, WithoutAdaptersTheBaseModelAnswers) {
  std::string text = serve_text();
  text.erase(text.find("  adapters"));
  ScenarioResult const r = read_scenario_text(text, "serve.yaml", {});
  ASSERT_TRUE(r.scenario) << format(r.problems);
  EXPECT_EQ(r.scenario->job.serve->adapters.execution, AdapterExecution::none);
  for (std::string const key : {"order", "patience"}) {
    Problem const p =
        problem_of(read_scenario_text(text + "  " + key + ": fair\n", "serve.yaml", {}), "serve." + key);
    EXPECT_NE(p.what.find("without adapters"), std::string::npos) << p.what;
  }
}

TEST(ServeFields, BlocksOfTrainingAreRefused) {
  for (std::string const set :
       {"algorithm={kind: grpo, prompts: 8}", "train.micro_batch=2", "schedule=async", "score.workers=2",
        "weight_sync.overlap=false", "validation.every=1", "checkpoint.every=1",
        "reliability={relaunch: 5 min}", "placement={critic: a}", "framework=verl",
        "faults=[{at: 1 s, kill: {rank: 0}}]", "pools={a: {nodes: 1}}"}) {
    ScenarioResult const r = read_served({set});
    ASSERT_EQ(r.problems.size(), 1U) << format(r.problems);
    EXPECT_EQ(r.problems[0].key, set.substr(0, set.find_first_of(".=")));
    EXPECT_EQ(r.problems[0].remedy, "remove the key");
  }
  for (std::string const set : {"rollout.feed=4", "rollout.oversampling=2", "rollout.partial_rollout=true",
                                "rollout.sleep_level=2", "rollout.residue=1 GiB", "rollout.adapter_slots=2",
                                "workload.growth_per_step=0.1", "workload.sibling_correlation=0.1"}) {
    ScenarioResult const r = read_served({set});
    EXPECT_EQ(problem_of(r, set.substr(0, set.find('='))).remedy, "remove the key");
  }
  EXPECT_EQ(problem_of(read_served({"rollout.pool=a"}), "rollout.pool").remedy, "remove the key");
}

struct Refusal {
  std::vector<std::string> sets;
  std::string key;
  std::string what;
};

TEST(ServeFields, MistakesAreNamed) {
  for (Refusal const& r : std::vector<Refusal>{
           {{"serve=x"}, "serve", "a single value in place of a map"},
           {{"serve.arrivals={}"}, "serve.arrivals", "not one kind of arrivals"},
           {{"serve.arrivals.closed=4"}, "serve.arrivals", "not one kind of arrivals"},
           {{"serve.arrivals={poisson: 0}"}, "serve.arrivals.poisson", "0 is out of range"},
           {{"serve.arrivals={poisson: nan}"}, "serve.arrivals.poisson", "'nan' is not a number"},
           {{"serve.arrivals={bursts: {variation: 3}}"}, "serve.arrivals.bursts.rate", "is missing"},
           {{"serve.arrivals={bursts: {rate: 1, variation: -1}}"},
            "serve.arrivals.bursts.variation",
            "-1 is out of range"},
           {{"serve.arrivals={closed: 0}"}, "serve.arrivals.closed", "0 is out of range"},
           {{"serve.arrivals={trace: [1]}"}, "serve.arrivals.trace", "not a file"},
           {{"serve.arrivals={trace: \"\"}"}, "serve.arrivals.trace", ""},
           {{"serve.arrivals={trace: {speed: 2}}"}, "serve.arrivals.trace.file", "is missing"},
           {{"serve.arrivals={trace: {file: x, speed: 0}}"},
            "serve.arrivals.trace.speed",
            "0 is out of range"},
           {{"serve.requests=0"}, "serve.requests", "0 is out of range"},
           {{"serve.adapters.count=0"}, "serve.adapters.count", "0 is out of range"},
           {{"serve.adapters.popularity=ziph"}, "serve.adapters.popularity", "there is no popularity 'ziph'"},
           {{"serve.adapters.popularity={}"}, "serve.adapters.popularity.zipf", "is missing"},
           {{"serve.adapters.rank=0"}, "serve.adapters.rank", "0 is out of range"},
           {{"serve.adapters.variants=[{rank: 8}]"}, "serve.adapters.rank", "variants say it already"},
           {{"serve.adapters={variants: []}"}, "serve.adapters.variants", "not a list of 1 to 64 maps"},
           {{"serve.adapters={variants: [8]}"}, "serve.adapters.variants[0]", "not a map"},
           {{"serve.adapters={variants: [{targets: [z]}]}"},
            "serve.adapters.variants[0].targets",
            "there is no 'z'"},
           {{"serve.adapters.execution=batch"}, "serve.adapters.execution", "there is no 'batch'"},
           {{"serve.objective.ttft=2"}, "serve.objective.ttft", ""},
           {{"serve.ordr=fair"}, "serve.ordr", "unknown key"},
       }) {
    Problem const p = problem_of(read_served(r.sets), r.key);
    if (!r.what.empty()) {
      EXPECT_EQ(p.what, r.what);
    }
    EXPECT_FALSE(p.remedy.empty());
  }
  std::string text = serve_text();
  text.erase(text.find("  arrivals"), text.find("  adapters") - text.find("  arrivals"));
  EXPECT_EQ(problem_of(read_scenario_text(text, "serve.yaml", {}), "serve.arrivals").remedy,
            "write for example arrivals: {poisson: 12}");
}

class ServeTrace : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ / "t.csv") << "arrival,prompt,output,adapter\n0,900,10,b\n2,10,800,a\n3,5,5,b\n";
    std::ofstream(folder_ / "unnamed.csv") << "arrival,prompt,output\n0,900,10\n";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  ScenarioResult read(std::string const& trace, std::vector<std::string> sets = {},
                      std::string const& adapters = "{rank: 8}") {
    std::string const text =
        "model: llama-2-7b\ncluster: {node: hgx-a100, nodes: 1}\nserve: {arrivals: {trace: " + trace +
        "}, adapters: " + adapters + "}\n";
    return read_scenario_text(text, (folder_ / "s.yaml").string(), {std::move(sets), {}});
  }

  std::filesystem::path const folder_ = std::filesystem::path(testing::TempDir()) / "serve_trace_test";
};

TEST_F(ServeTrace, BringsLengthsAndAdapters) {
  ScenarioResult const r = read("{file: t.csv, speed: 2}");
  ASSERT_TRUE(r.scenario) << format(r.problems);
  Job const& job = r.scenario->job;
  EXPECT_EQ(job.serve->requests, 0);
  EXPECT_DOUBLE_EQ(job.serve->arrivals.speed, 2);
  EXPECT_EQ(job.serve->adapters.count, 2);
  EXPECT_EQ(origin_of(*r.scenario, "serve.adapters.count").from, "derived");
  EXPECT_EQ(job.serve->arrivals.trace.size(), 3U);
  EXPECT_EQ(longest_sequence(job), 910);  // the longest row, not the longest prompt with the longest answer
  EXPECT_DOUBLE_EQ(mean(job.workload.prompt_tokens, 0), 305);  // (900 + 10 + 5) / 3
  EXPECT_EQ(origin_of(*r.scenario, "workload.prompt_tokens").from, "trace t.csv");
}

TEST_F(ServeTrace, IsCutAfterItsFirstRequests) {
  ScenarioResult const r = read("t.csv", {"serve.requests=1"});
  ASSERT_TRUE(r.scenario) << format(r.problems);
  EXPECT_EQ(r.scenario->job.serve->arrivals.trace.size(), 1U);
  EXPECT_DOUBLE_EQ(mean(r.scenario->job.workload.response_tokens, 0), 10);
}

TEST_F(ServeTrace, AsksForItsOwnAdapters) {
  EXPECT_TRUE(read("unnamed.csv", {}, "{count: 5, popularity: distinct}").scenario);
  EXPECT_EQ(problem_of(read("t.csv", {}, "{count: 1}"), "serve.adapters.count").remedy, "write 2 or more");
  EXPECT_EQ(problem_of(read("t.csv", {}, "{popularity: uniform}"), "serve.adapters.popularity").what,
            "the trace names the adapters of its requests");
}

// A request of the base model has no engine where each has an adapter.
TEST_F(ServeTrace, MayAskForTheBaseModel) {
  std::ofstream(folder_ / "some.csv") << "arrival,prompt,output,adapter\n0,9,1,a\n1,9,1,\n";
  ScenarioResult const r = read("some.csv");
  ASSERT_TRUE(r.scenario) << format(r.problems);
  EXPECT_EQ(serve_requests(*r.scenario->job.serve, r.scenario->job.workload, 1)[1].adapter, -1);
  EXPECT_TRUE(check_simulated(*r.scenario).empty());
  EXPECT_EQ(problem_of(read("some.csv", {}, "{execution: deployments}"), "serve.adapters.execution").what,
            "some requests of the trace ask for the base model, and every engine has an adapter");
}

TEST_F(ServeTrace, Refusals) {
  EXPECT_NE(problem_of(read("none.csv"), "serve.arrivals.trace").what.find("there is no such file"),
            std::string::npos);
  EXPECT_EQ(problem_of(read("t.csv", {"workload={prompt_tokens: 5, response_tokens: 5}"}), "workload").what,
            "the trace holds the lengths");
  EXPECT_EQ(
      problem_of(read("t.csv", {"model={base: llama-2-7b, max_context: 900}"}), "serve.arrivals.trace").what,
      "prompt and response can reach 910 tokens, llama-2-7b takes 900");
  EXPECT_EQ(problem_of(read("t.csv", {"rollout.max_model_len=909"}), "rollout.max_model_len").what,
            "prompt and response can reach 910 tokens");
  EXPECT_TRUE(read("t.csv", {"rollout.max_model_len=910"}).scenario);
}

// The family serves the same requests to the same adapters; all that differs is how, and on how many GPUs.
TEST(ServeFields, TheFilesOfServingAreGood) {
  std::vector<Job> family;
  int files = 0;
  for (auto const& entry : std::filesystem::directory_iterator(ROLLCAST_SOURCE_DIR "/scenarios/serving")) {
    if (entry.path().extension() != ".yaml") continue;
    ++files;
    ScenarioResult const r = read_scenario_file(entry.path().string(), {});
    ASSERT_TRUE(r.scenario) << format(r.problems);
    EXPECT_TRUE(check_simulated(*r.scenario).empty()) << entry.path();
    if (r.scenario->name.starts_with("64-adapters")) family.push_back(r.scenario->job);
  }
  EXPECT_EQ(files, 6);
  ASSERT_EQ(family.size(), 5U);
  auto const key = [](Job const& j) {
    std::string text = j.model.name;
    for (ServeRequest const& r : serve_requests(*j.serve, j.workload, 1)) {
      text += ' ' + std::to_string(r.arrival.value) + ' ' + std::to_string(r.prompt_tokens) + ' ' +
              std::to_string(r.response_tokens) + ' ' + std::to_string(r.adapter);
    }
    for (AdapterVariant const& v : j.serve->adapters.variants)
      text += ' ' + std::to_string(v.rank) + ' ' + std::to_string(v.targets.size());
    return text;
  };
  for (Job const& j : family) EXPECT_EQ(key(j), key(family.front()));
}

TEST(ServeFields, BrokenFilesComeBackInWords) {
  std::string const text = serve_text();
  for (std::size_t n = 0; n < text.size(); ++n) ASSERT_NO_THROW(fuzz_scenario(text.substr(0, n), {})) << n;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    std::string mutant = text;
    for (std::uint64_t k = 0; k < 1 + i % 4; ++k) {
      std::uint64_t const bits = random_bits({9, Purpose::jitter, static_cast<std::uint32_t>(k), i});
      mutant[bits % mutant.size()] ^= static_cast<char>(1U << ((bits >> 40U) % 8));
    }
    ASSERT_NO_THROW(fuzz_scenario(mutant, {})) << mutant;
  }
  for (std::string const set :
       {"serve=", "serve=[]", "serve.arrivals=[]", "serve.arrivals.trace=", "serve.arrivals={trace: .}",
        "serve.adapters=[]", "serve.adapters.variants={}", "serve.adapters.variants=[[]]",
        "serve.adapters.count=1e6", "serve.requests=1e7", "serve.adapters.popularity=[]",
        "serve.adapters.popularity={zipf: 1e3}", "rollout.parallel.tp=0", "cluster.nodes=0"})
    ASSERT_NO_THROW(fuzz_scenario(text, {{set}, {}})) << set;
}

}  // namespace
}  // namespace rollcast
