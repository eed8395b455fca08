#include "reports/flight_record_json.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "reports/pickle.hpp"

namespace rollcast {
namespace {

using Json = nlohmann::json;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

FlightDump full_dump() {
  FlightDump d;
  d.rank = 3;
  d.source = "nccl_trace_rank_3";
  d.pg_config = {{"0", {"0", "default_pg", {0, 1, 2, 3}}}, {"7", {"7", "tp", {2, 3}}}};
  d.pg_status = {{"0", {2, -1, 1}}, {"1", {1, 1, 1}}};
  FlightEntry e;
  e.frames = {{"all_reduce", "torch/distributed/distributed_c10d.py", 2696}, {"main", "train.py", 40}};
  e.record_id = 5;
  e.pg_id = 0;
  e.pg_name = "0";
  e.pg_desc = "default_pg";
  e.collective_seq_id = 2;
  e.p2p_seq_id = 1;
  e.op_id = 9;
  e.profiling_name = "nccl:all_reduce";
  e.time_created_ns = 1'733'000'000'123'456'789;
  e.timeout_ms = 600'000;
  e.input_sizes = {{3, 4}, {}};
  e.input_dtypes = {"Float", "Int"};
  e.output_sizes = {{3, 4}};
  e.output_dtypes = {"Float"};
  e.retired = true;
  d.entries.push_back(e);
  e.record_id = 6;
  e.state = FlightState::completed;
  e.duration_ms = 0.25;
  e.time_discovered_started_ns = e.time_created_ns + 1;
  e.time_discovered_completed_ns = e.time_created_ns + 2;
  e.is_p2p = true;
  d.entries.push_back(e);
  return d;
}

FlightDump read(std::string const& content, std::string const& name = "nccl_trace_rank_3") {
  FlightRecordResult const r = read_flight_record(content, name);
  EXPECT_THAT(r.problems, IsEmpty());
  return r.dump.value_or(FlightDump());
}

std::vector<std::string> problems(Json const& json, std::string const& name = "nccl_trace_rank_3") {
  return read_flight_record(json.dump(), name).problems;
}

TEST(FlightRecordJson, WhatIsWrittenIsReadBack) {
  FlightDump const d = full_dump();
  std::string const json = flight_record_json(d);
  FlightDump const back = read(json);
  EXPECT_EQ(flight_record_json(back), json);
  // Not by the text alone: the fields of the two entries.
  EXPECT_EQ(back.rank, 3);
  EXPECT_EQ(back.pg_config.at("7").ranks, (std::vector<int>{2, 3}));
  EXPECT_EQ(back.pg_status.at("0").last_started_collective, -1);
  ASSERT_THAT(back.entries, SizeIs(2));
  FlightEntry const& e = back.entries[0];
  EXPECT_EQ(e.frames[1].line, 40);
  EXPECT_EQ(e.time_created_ns, 1'733'000'000'123'456'789);
  EXPECT_EQ(e.input_sizes, (FlightSizes{{3, 4}, {}}));
  EXPECT_FALSE(e.time_discovered_started_ns);
  EXPECT_FALSE(e.duration_ms);
  EXPECT_TRUE(e.retired);
  EXPECT_EQ(back.entries[1].state, FlightState::completed);
  EXPECT_DOUBLE_EQ(back.entries[1].duration_ms.value_or(0), 0.25);
  EXPECT_TRUE(back.entries[1].is_p2p);
}

TEST(FlightRecordJson, ThePickleHoldsTheSame) {
  FlightDump const d = full_dump();
  EXPECT_EQ(flight_record_json(read(flight_record_pickle(d))), flight_record_json(d));
}

TEST(FlightRecordJson, TheFormsDifferAsPyTorchsDo) {
  FlightDump d = full_dump();
  d.entries[0].frames.clear();
  Json const json = Json::parse(flight_record_json(d));
  Json const pickle = *from_pickle(flight_record_pickle(d)).value;
  EXPECT_EQ(json["pg_status"]["0"]["last_enqueued_collective"], "2");
  EXPECT_EQ(pickle["pg_status"]["0"]["last_enqueued_collective"], 2);
  EXPECT_EQ(json["entries"][0]["time_discovered_started_ns"], 0);
  EXPECT_TRUE(pickle["entries"][0]["time_discovered_started_ns"].is_null());
  EXPECT_FALSE(json["entries"][0].contains("frames"));
  EXPECT_TRUE(pickle["entries"][0]["frames"].is_array());
  EXPECT_EQ(json["pg_config"]["0"]["ranks"], "[0, 1, 2, 3]");
  EXPECT_EQ(json["entries"][0]["process_group"], Json({"0", "default_pg"}));
  d.entries.clear();
  EXPECT_FALSE(Json::parse(flight_record_json(d)).contains("entries"));
}

TEST(FlightRecordJson, TheNameTellsTheRank) {
  std::string const json = flight_record_json(full_dump());
  EXPECT_EQ(read(json, "/tmp/nccl_trace_rank_12").rank, 12);
  EXPECT_EQ(read(json, "dumps.v2/rank7.json").rank, 7);
  EXPECT_EQ(flight_record_name(12), "nccl_trace_rank_12");
  EXPECT_THAT(
      read_flight_record(json, "dump.json").problems,
      ElementsAre("dump.json: the name does not end in a rank; name it as PyTorch does: nccl_trace_rank_3"));
}

TEST(FlightRecordJson, WhatOlderVersionsLackMayBeMissing) {
  Json json = Json::parse(flight_record_json(full_dump()));
  json["version"] = "2.1";
  json.erase("pg_status");
  for (char const* key :
       {"op_id", "p2p_seq_id", "timeout_ms", "is_p2p", "input_dtypes", "output_dtypes", "frames"})
    json["entries"][0].erase(key);
  json["entries"][0]["thread_name"] = "main";  // of newer ones
  EXPECT_THAT(problems(json), IsEmpty());
}

TEST(FlightRecordJson, EveryProblemIsToldWithItsPlace) {
  Json json = Json::parse(flight_record_json(full_dump()));
  json["entries"][0]["state"] = "sleeping";
  json["entries"][0]["record_id"] = 1.5;
  json["entries"][1]["process_group"] = "0";
  json["entries"][1].erase("collective_seq_id");
  json["entries"][1]["input_sizes"] = {{"x"}};
  json["pg_config"]["7"]["ranks"] = "[2, -3]";
  json["pg_status"]["0"]["last_enqueued_collective"] = "many";
  EXPECT_THAT(
      problems(json),
      ElementsAre("nccl_trace_rank_3: /pg_config/7/ranks: is not a list of ranks, as in \"[0, 1]\"",
                  "nccl_trace_rank_3: /pg_status/0/last_enqueued_collective: is not a whole number",
                  "nccl_trace_rank_3: /entries/0/record_id: is not a whole number",
                  "nccl_trace_rank_3: /entries/0/state: is not scheduled, started or completed",
                  "nccl_trace_rank_3: /entries/1/process_group: is not a list",
                  "nccl_trace_rank_3: /entries/1/process_group: is not a pair of name and description",
                  "nccl_trace_rank_3: /entries/1/collective_seq_id: is missing",
                  "nccl_trace_rank_3: /entries/1/input_sizes/0: is not a list of whole numbers"));
}

TEST(FlightRecordJson, RefusesHostileInput) {
  auto const first = [](std::string const& content) {
    FlightRecordResult const r = read_flight_record(content, "nccl_trace_rank_0");
    EXPECT_FALSE(r.dump);
    return r.problems.empty() ? std::string() : r.problems.front();
  };
  EXPECT_THAT(first("{\"entries\": ["), HasSubstr("not JSON"));
  EXPECT_THAT(first("{\"version\": \"3.0\"}"), HasSubstr("version '3.0' is not read; 2.x is"));
  EXPECT_THAT(first("[]"), HasSubstr("expected an object"));
  EXPECT_THAT(first(std::string(100'000, '[')), HasSubstr("nested more than 64 deep"));
  EXPECT_THAT(first("{\"version\": \"2.4\", \"entries\": {}}"), HasSubstr("/entries: is not a list"));
  EXPECT_THAT(first("{\"version\": \"2.4\", \"entries\": [18446744073709551615]}"),
              HasSubstr("/entries/0: is not an object"));
  EXPECT_THAT(first("{\"version\": \"2.4\", \"pg_config\": {\"0\": {\"name\": \"0\", \"ranks\": \"" +
                    std::string(99, '[') + "\"}}}"),
              HasSubstr("/pg_config/0/ranks: is not a list of ranks"));
  std::string many = "{\"version\": \"2.4\", \"entries\": [0";
  for (int i = 0; i < 1000; ++i) many += ", 0";
  EXPECT_THAT(read_flight_record(many + "]}", "nccl_trace_rank_0").problems, SizeIs(20));
}

TEST(FlightRecordJson, SurvivesDamagedBytes) {
  std::string const json = flight_record_json(full_dump());
  std::string const pickle = flight_record_pickle(full_dump());
  std::mt19937 random(1);
  for (int i = 0; i < 5000; ++i) {
    for (std::string bad : {json, pickle}) {
      for (int k = 0; k < 2; ++k) bad[random() % bad.size()] = static_cast<char>(random());
      FlightRecordResult const r = read_flight_record(bad, "nccl_trace_rank_0");
      EXPECT_NE(r.dump.has_value(), !r.problems.empty());
    }
  }
}

TEST(FlightRecordJson, TellsADumpFromALog) {
  EXPECT_TRUE(is_flight_record(flight_record_json(full_dump())));
  EXPECT_TRUE(is_flight_record(flight_record_pickle(full_dump())));
  EXPECT_FALSE(is_flight_record("{'loss': 3.5, 'epoch': 0.01}\n[rank0]: ..."));
  EXPECT_FALSE(is_flight_record(""));
}

}  // namespace
}  // namespace rollcast
