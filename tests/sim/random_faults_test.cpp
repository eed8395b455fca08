// Whatever goes wrong at whatever time, the simulation ends, says how, and accounts for every GPU from the
// cause to the end of the job.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "models/random.hpp"
#include "sim/simulate.hpp"
#include "tests/models/price_fixtures.hpp"
#include "tests/sim/child_process.hpp"

namespace rollcast {
namespace {

constexpr int kDraws = 150;
constexpr double kRounding = 1e-6;

class Draw {
 public:
  explicit Draw(int number) : number_(static_cast<std::uint64_t>(number)) {}
  double real(double low, double high) {
    return low + (high - low) * uniform({5, Purpose::fault, static_cast<std::uint32_t>(number_), next_++});
  }
  int whole(int low, int high) { return std::min(high, static_cast<int>(real(low, high + 1))); }
  std::string one_of(std::vector<std::string> const& all) {
    return all[static_cast<std::size_t>(whole(0, static_cast<int>(all.size()) - 1))];
  }

 private:
  std::uint64_t number_;
  std::uint64_t next_ = 0;
};

std::string fault(Draw& d, bool fsdp, bool pools) {
  std::string const rank = fmt::format("{{rank: {}}}", d.whole(0, 7));
  std::vector<std::string> kinds = {
      "kill: " + rank,
      "raise: " + rank,
      "hang: " + rank,
      fmt::format("slow: {{ranks: [{}], factor: {:.2f}}}", d.whole(0, 7), d.real(1, 5)),
      fmt::format("link: {{node: 0, nic: 0, factor: {:.2f}}}", d.real(0, 0.5)),
      "link: {node: 0, nic: 0, factor: 0}",
      "server: {engine: 0}",
      "leak: {rank: 0, bytes: 30 GiB}"};
  std::string const phase = d.one_of({"generate", "old_logprob", "update_actor", "weight_sync"});
  std::string const on =
      fmt::format("on: {{step: {}, phase: {}, after: {:.3f} s}}", d.whole(1, 2), phase, d.real(0, 3));
  std::string const at = fmt::format("at: {:.3f} s", d.real(0, 60));
  std::string what = d.one_of(kinds);
  if (pools && !what.starts_with("server")) what += ", pool: " + d.one_of({"train", "rollout"});
  if (what.starts_with("slow") && pools) what = "slow: {ranks: [1], factor: 2}, pool: train";
  if (fsdp && d.real(0, 1) < 0.15)
    return fmt::format("{{on: {{step: {}, phase: update_actor}}, skip: {{rank: {}}}}}", d.whole(1, 2),
                       d.whole(0, 7));
  if (d.real(0, 1) < 0.1) return "{on: {step: 1, phase: score}, hang: {}}";
  return fmt::format("{{{}, {}}}", d.real(0, 1) < 0.5 ? on : at, what);
}

std::string scenario(Draw& d) {
  bool const pools = d.real(0, 1) < 0.5;
  std::string const trainer = d.one_of({"fsdp2", "megatron", "zero3", "zero1"});
  std::string text = "model: llama-3.2-1b\ncluster: {node: hgx-h100, nodes: 2}\n";
  if (pools) text += "pools: {train: {nodes: 1}, rollout: {nodes: 1}}\n";
  text += "framework: " + d.one_of({"verl", "nemo-rl", "trl"}) + "\n";
  text += "algorithm: {kind: grpo, prompts: 32, group_size: 8, train_batch: 128}\n";
  text += "workload: {prompt_tokens: 200, response_tokens: {lognormal: {mean: 800, p95: 2000}, max: 4000}}\n";
  std::string train = "trainer: fsdp2";
  if (trainer == "megatron") train = "trainer: megatron, parallel: {tp: 2, pp: 2}";
  if (trainer == "zero3") train = "trainer: deepspeed, zero_stage: 3";
  if (trainer == "zero1") train = "trainer: deepspeed, zero_stage: 1";
  text += std::string("train: {") + (pools ? "pool: train, " : "") + train +
          ", micro_batch: 1, logprob_micro_batch: 1, recompute: full}\n";
  text += std::string("rollout: {") + (pools ? "pool: rollout, " : "") +
          "engine: vllm, parallel: {tp: 2}, gpu_memory_utilization: 0.5}\n";
  if (pools) text += "schedule: " + d.one_of({"synchronous", "one_step_off", "async"}) + "\n";
  text += fmt::format("launcher: {{kind: {}}}\n", d.one_of({"none", "ray", "torchrun"}));
  text += fmt::format(
      "watchdog: {{timeout: {:.1f} s, error_handling: {}, abort_hangs: {}, dump_on_timeout: {}}}\n",
      d.real(30, 1000), d.one_of({"none", "tear_down", "clean_up_only", "skip_clean_up"}),
      d.one_of({"true", "false"}), d.one_of({"true", "false"}));
  text += "faults:\n";
  for (int i = d.whole(1, 3); i > 0; --i)
    text += "  - " + fault(d, trainer == "fsdp2" || trainer == "zero3", pools) + "\n";
  return text;
}

// What no span of a class covers of [from, to].
double uncovered(EventLog const& log, int rank_class, double from, double to) {
  std::vector<std::pair<double, double>> spans;
  for (Span const& s : log.spans) {
    if (s.rank_class == rank_class) spans.emplace_back(s.start.value, s.end.value);
  }
  std::sort(spans.begin(), spans.end());
  double at = from, gap = 0;
  for (auto const& [start, end] : spans) {
    if (start > at) gap += std::min(start, to) - at;
    at = std::max(at, std::min(end, to));
    if (at >= to) return gap;
  }
  return gap + to - at;
}

void check(EventLog const& log) {
  for (Span const& s : log.spans) {
    ASSERT_GE(s.start.value, 0);
    ASSERT_LE(s.start, s.end);
  }
  if (log.outcome == Outcome::completed) {
    EXPECT_TRUE(log.happenings.empty());
    EXPECT_EQ(log.steps.size(), 2u);
    return;
  }
  if (log.outcome == Outcome::refused) return;
  ASSERT_FALSE(log.happenings.empty()) << log.outcome_reason;
  Seconds const cause = log.happenings.front().time;
  for (std::size_t i = 2; i < log.happenings.size(); ++i)
    EXPECT_LE(log.happenings[i - 1].time, log.happenings[i].time);
  Happening const& last = log.happenings.back();
  bool const ends = last.kind == HappeningKind::ends;
  for (StallRecord const& r : log.stalls) {
    EXPECT_EQ(r.killed.has_value(), ends);
    if (r.killed && r.detected) {
      EXPECT_LE(*r.detected, *r.killed);
    }
    if (r.enqueued && r.detected && r.kind == StallKind::watchdog) {
      EXPECT_LT(*r.enqueued, *r.detected);
    }
    for (int rank : r.waiting_ranks) EXPECT_TRUE(rank >= 0 && rank < 16);
  }
  if (!ends) return;
  for (Span const& s : log.spans) EXPECT_LE(s.end.value, last.time.value + kRounding);
  for (std::size_t c = 0; c < log.rank_classes.size(); ++c)
    EXPECT_LT(uncovered(log, static_cast<int>(c), cause.value, last.time.value), 1e-3)
        << log.rank_classes[c].name;
}

TEST(RandomFaults, EndSomehowAndAreAccountedFor) {
  int incidents = 0;
  for (int n = 0; n < kDraws; ++n) {
    Draw d(n);
    std::string const text = scenario(d);
    SCOPED_TRACE(text);
    ScenarioResult const read = read_scenario_text(text, "faults.yaml", {});
    if (!read.scenario) continue;  // a fault that this job cannot have
    if (!check_simulated(*read.scenario).empty()) continue;
    ++incidents;
    in_child([&] {
      check(simulate(*read.scenario, round_profile(), {.steps = 2, .seed = 3}));
      return std::vector<double>();
    });
  }
  EXPECT_GT(incidents, kDraws / 2);
}

}  // namespace
}  // namespace rollcast
