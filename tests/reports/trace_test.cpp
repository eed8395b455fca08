#include "reports/trace.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "reports/trace_tracks.hpp"
#include "tests/reports/golden.hpp"
#include "tests/reports/small_log.hpp"

namespace rollcast {
namespace {

using nlohmann::json;
using TrackKey = std::pair<int, int>;

std::int64_t ns_of(json const& microseconds) { return std::llround(microseconds.get<double>() * 1000); }

// What the viewers ask of a trace: sorted times, named tracks, slices that nest, arrows with two ends that
// lie inside slices, the start before the end. Returns the number of arrows.
int expect_well_formed(json const& trace) {
  std::map<TrackKey, std::string> names;
  std::map<TrackKey, std::vector<Slice>> slices;
  std::map<int, std::vector<json>> arrows;
  std::int64_t last = 0;
  for (json const& e : trace["traceEvents"]) {
    std::string const ph = e["ph"];
    if (ph == "M") {
      if (e["name"] == "thread_name") names[{e["pid"], e["tid"]}] = e["args"]["name"];
      continue;
    }
    EXPECT_LE(last, ns_of(e["ts"]));
    last = ns_of(e["ts"]);
    if (ph == "X") {
      EXPECT_TRUE(names.contains({e["pid"], e["tid"]}));
      slices[{e["pid"], e["tid"]}].push_back({last, last + ns_of(e["dur"]), 0, 0});
    } else if (ph == "s" || ph == "f") {
      EXPECT_EQ(e["bp"], "e");
      arrows[e["id"]].push_back(e);
    } else {
      EXPECT_EQ(ph, "C");
    }
  }
  for (auto const& [track, on_track] : slices) {
    std::vector<Slice> open;
    for (Slice const& s : on_track) {
      EXPECT_LT(s.start, s.end);
      while (!open.empty() && open.back().end <= s.start) open.pop_back();
      EXPECT_TRUE(open.empty() || s.end <= open.back().end) << "partial overlap on " << names[track];
      open.push_back(s);
    }
  }
  for (auto const& [id, ends] : arrows) {
    EXPECT_EQ(ends.size(), 2U) << "arrow " << id;
    if (ends.size() != 2) continue;
    EXPECT_EQ(ends[0]["ph"], "s");
    EXPECT_EQ(ends[1]["ph"], "f");
    for (json const& e : ends) {
      auto const& on_track = slices[{e["pid"], e["tid"]}];
      std::int64_t const t = ns_of(e["ts"]);
      EXPECT_TRUE(std::any_of(on_track.begin(), on_track.end(),
                              [&](Slice const& s) { return s.start <= t && t < s.end; }))
          << "arrow " << id;
    }
  }
  return static_cast<int>(arrows.size());
}

TEST(Trace, GoldenTrace) { expect_golden(trace_text(small_log()), "trace_small.json"); }

TEST(Trace, SmallLogIsWellFormedWithItsArrows) {
  EXPECT_EQ(expect_well_formed(json::parse(trace_text(small_log()))), 2);
}

TEST(Trace, ArrowsLieInsideTheSlicesTheyJoin) {
  // Sent at 60 s by ranks 0-1, whose slice is 0-60 s: 1 % before its end. Received by ranks 2-3 in 60-90 s: 1
  // % after its start.
  json const trace = json::parse(trace_text(small_log()));
  std::vector<std::int64_t> ends;
  for (json const& e : trace["traceEvents"]) {
    if (e["ph"] == "s" || e["ph"] == "f") ends.push_back(ns_of(e["ts"]));
  }
  ASSERT_EQ(ends.size(), 4U);
  EXPECT_EQ(ends[0], 59'399'999'999);
  EXPECT_EQ(ends[1], 60'300'000'000);
}

TEST(Trace, OneProcessPerNodeAndOneTrackPerClassAndStream) {
  json const trace = json::parse(trace_text(small_log()));
  std::vector<std::string> processes;
  std::vector<std::string> tracks;
  for (json const& e : trace["traceEvents"]) {
    if (e["name"] == "process_name") processes.push_back(e["args"]["name"]);
    if (e["name"] == "thread_name") tracks.push_back(e["args"]["name"]);
  }
  EXPECT_EQ(processes,
            (std::vector<std::string>{"phases", "node 0 (main, hgx-h100)", "node 1 (main, hgx-h100)"}));
  EXPECT_EQ(tracks, (std::vector<std::string>{"main", "ranks 0-1 compute", "ranks 0-1 communication",
                                              "ranks 0-1 copy", "ranks 2-3 compute", "ranks 2-3 copy"}));
}

TEST(Trace, MemoryCounterKeepsEverySeries) {
  EventLog log = small_log();
  log.counters = {
      {0, CounterKind::memory, Role::actor, MemoryCategory::weights, seconds(1), GiB(2).value},
      {0, CounterKind::memory, Role::rollout, MemoryCategory::kv_pages, seconds(2), GiB(3).value}};
  json const trace = json::parse(trace_text(log));
  std::vector<json> args;
  for (json const& e : trace["traceEvents"]) {
    if (e["ph"] == "C") args.push_back(e["args"]);
  }
  ASSERT_EQ(args.size(), 2U);
  EXPECT_EQ(args[0], json({{"actor.weights", 2.0}}));
  EXPECT_EQ(args[1], json({{"actor.weights", 2.0}, {"rollout.kv_pages", 3.0}}));
}

// Spans and handovers at random: whatever they are, the trace stays well-formed.
TEST(Trace, RandomLogsAreWellFormed) {
  std::uint64_t state = 1;
  auto const below = [&](int n) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<int>((state >> 33) % static_cast<std::uint64_t>(n));
  };
  int arrows = 0;
  for (int round = 0; round < 50; ++round) {
    EventLog log = small_log();
    log.spans.clear();
    log.handovers.clear();
    for (int i = 0; i < 60; ++i) {
      double const start = below(1000) / 7.0;
      log.spans.push_back({below(2), 0, static_cast<Stream>(below(4)), static_cast<Phase>(below(12)),
                           static_cast<Activity>(below(9)), below(6), seconds(start),
                           seconds(start + below(300) / 3.0), Flops(0), Bytes(0)});
    }
    for (int i = 0; i < 10; ++i) {
      double const sent = below(1000) / 7.0;
      log.handovers.push_back({0, below(2), below(2), seconds(sent), seconds(sent + below(100) / 9.0), 1});
    }
    arrows += expect_well_formed(json::parse(trace_text(log)));
  }
  EXPECT_GT(arrows, 50);
}

TEST(TraceTracks, OverlapGoesToANewLaneAndNestingStays) {
  // [0,10] holds [2,5]; [4,12] overlaps both; [12,13] follows.
  std::vector<Slice> slices = {{4, 12, 0, 0}, {2, 5, 1, 0}, {0, 10, 2, 0}, {12, 13, 3, 0}};
  assign_lanes(slices);
  ASSERT_EQ(slices.size(), 4U);
  EXPECT_EQ(slices[0].item, 2U);
  EXPECT_EQ(slices[1].lane, 0);
  EXPECT_EQ(slices[2].item, 0U);
  EXPECT_EQ(slices[2].lane, 1);
  EXPECT_EQ(slices[3].lane, 0);
}

TEST(Trace, TheWarmUpIsNamed) {
  EventLog log = small_log();
  log.phases[0].step = -1;
  log.spans[0].step = -3;
  std::string const text = trace_text(log);
  EXPECT_NE(text.find("\"cat\":\"phase\",\"args\":{\"step\":\"warm-up\"}"), std::string::npos);
  EXPECT_NE(text.find("\"args\":{\"step\":\"warm-up\",\"phase\":\"generate\""), std::string::npos);
  EXPECT_EQ(text.find("\"step\":-"), std::string::npos);
}

}  // namespace
}  // namespace rollcast
