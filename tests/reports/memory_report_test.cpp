#include "reports/memory_report.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/models/ledger_jobs.hpp"

namespace rollcast {
namespace {

Scenario scenario(Job const& job) {
  Scenario s;
  s.name = "example";
  s.job = job;
  return s;
}

MemoryForecast forecast(Job const& job) { return forecast_memory(scenario(job)); }

TEST(MemoryReport, FirstLineIsTheVerdict) {
  MemoryForecast const f = forecast(test::colocated_grpo());
  MemoryVerdict const v = memory_verdict(f);
  EXPECT_TRUE(v.fits);
  EXPECT_EQ(v.sentence.rfind("Fits: ", 0), 0U);
  EXPECT_EQ(memory_text(f).rfind(v.sentence + "\n", 0), 0U);
}

// 16 x 8,030,261,248 B alone are 119.7 GiB.
TEST(MemoryReport, TooLargeForTheCard) {
  MemoryForecast const f = forecast(test::plain_job(test::model("llama-3.1-8b"), AlgorithmKind::sft, 1));
  MemoryVerdict const v = memory_verdict(f);
  EXPECT_FALSE(v.fits);
  EXPECT_NE(v.sentence.find("Does not fit: a GPU needs"), std::string::npos) << v.sentence;
  EXPECT_NE(v.sentence.find("in update_actor"), std::string::npos) << v.sentence;
  EXPECT_NE(memory_text(f).find("over by"), std::string::npos);
}

TEST(MemoryReport, EngineThatRefusesToStart) {
  Job job = test::colocated_grpo();
  job.rollout.gpu_memory_utilization = 0.2;  // 15.8 GiB for 15.0 GiB of weights and a step of 4.8 GiB
  MemoryVerdict const v = memory_verdict(forecast(job));
  EXPECT_FALSE(v.fits);
  EXPECT_NE(v.sentence.find("refuses to start"), std::string::npos) << v.sentence;
}

// 27.5 GiB of KV hold 225,000 tokens; one sequence of a million does not fit.
TEST(MemoryReport, EngineThatCannotHoldOneSequence) {
  Job job = test::colocated_grpo();
  job.rollout.max_model_len = 1'000'000;
  MemoryVerdict const v = memory_verdict(forecast(job));
  EXPECT_FALSE(v.fits);
  EXPECT_NE(v.sentence.find("1000000"), std::string::npos) << v.sentence;
}

TEST(MemoryReport, TooLittleHostMemory) {
  Job job = test::colocated_grpo();
  job.cluster.node.host_memory = GiB(100);
  MemoryVerdict const v = memory_verdict(forecast(job));
  EXPECT_FALSE(v.fits);
  EXPECT_NE(v.sentence.find("host memory"), std::string::npos) << v.sentence;
}

TEST(MemoryReport, JsonAgreesWithTheLedger) {
  MemoryForecast const f = forecast(test::colocated_grpo());
  auto const json = nlohmann::json::parse(memory_json(f));
  EXPECT_EQ(json["schema"], 1);
  EXPECT_EQ(json["scenario"], "example");
  EXPECT_EQ(json["fits"], true);
  ASSERT_EQ(json["classes"].size(), f.pools.at(0).ledgers.size());
  EXPECT_EQ(json["kv"]["tokens"], f.kv->blocks * 16);
  for (auto const& c : json["classes"]) {
    std::int64_t largest = 0;
    for (auto const& phase : c["phases"]) {
      double lines = 0;
      double host = 0;
      for (auto const& line : c["lines"]) {
        bool there = line["phases"].empty();
        for (auto const& name : line["phases"]) there = there || name == phase["name"];
        if (there) (line["host"].get<bool>() ? host : lines) += line["bytes"].get<double>();
      }
      double categories = 0;
      for (auto const& bytes : phase["categories"]) categories += bytes.get<double>();
      // Each line is rounded to a byte.
      EXPECT_NEAR(phase["bytes"].get<double>(), lines, 32);
      EXPECT_NEAR(phase["bytes"].get<double>(), categories, 32);
      EXPECT_NEAR(phase["host_bytes"].get<double>(), host, 32);
      largest = std::max(largest, phase["bytes"].get<std::int64_t>());
    }
    EXPECT_EQ(c["peak_bytes"], largest);
    EXPECT_EQ(c["headroom_bytes"], c["capacity_bytes"].get<std::int64_t>() - largest);
  }
}

// 16 engines of one GPU. Every sequence has 127 + 3,969 = 4,096 tokens = 256 pages of 16.
TEST(MemoryReport, SequencesThatTheKvHolds) {
  MemoryForecast const f = forecast(test::colocated_grpo());
  ASSERT_TRUE(f.kv);
  EXPECT_EQ(f.kv->engines, 16);
  EXPECT_DOUBLE_EQ(f.kv->mean_sequence, 4096);
  EXPECT_EQ(f.kv->longest_sequence, 4096);
  EXPECT_EQ(f.kv->holds(4096), f.kv->blocks / 256);
  EXPECT_EQ(f.kv->holds(4097), f.kv->blocks / 257);
  EXPECT_EQ(f.kv->holds(0), 0);
  EXPECT_NE(memory_text(f).find("KV cache of each of 16 engines: "), std::string::npos);
  auto const json = nlohmann::json::parse(memory_json(f));
  EXPECT_EQ(json["kv"]["longest_sequences"], f.kv->blocks / 256);
}

// Three turns have two observations between them.
TEST(MemoryReport, ObservationsCountInTheMeanSequence) {
  Job job = test::colocated_grpo();
  job.score.environment = Environment{.turns = 3, .observation_tokens = 50, .tool = {}};
  EXPECT_DOUBLE_EQ(forecast(job).kv->mean_sequence, 4096 + 2 * 50);
}

TEST(MemoryReport, NoRolloutNoKv) {
  MemoryForecast const f = forecast(test::plain_job(test::model("llama-3.2-1b"), AlgorithmKind::sft, 8));
  EXPECT_FALSE(f.kv);
  EXPECT_TRUE(nlohmann::json::parse(memory_json(f))["kv"].is_null());
  EXPECT_EQ(memory_text(f).find("KV"), std::string::npos);
}

TEST(MemoryReport, EveryLineIsListedOnce) {
  MemoryForecast const f = forecast(test::colocated_grpo());
  std::string const text = memory_text(f);
  std::string const name = "rollout kv_pages: KV pages";
  std::size_t const at = text.find(name);
  ASSERT_NE(at, std::string::npos);
  EXPECT_EQ(text.find(name, at + 1), std::string::npos);
}

TEST(MemoryReport, SameForecastSameBytes) {
  Job const job = test::colocated_grpo();
  EXPECT_EQ(memory_json(forecast(job)), memory_json(forecast(job)));
  EXPECT_EQ(memory_text(forecast(job)), memory_text(forecast(job)));
}

}  // namespace
}  // namespace rollcast
