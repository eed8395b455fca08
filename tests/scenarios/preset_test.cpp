// Every preset in every case: its values are read, its order makes the algorithm's step, its sources are
// there, and two frameworks differ in what their tables differ in.
#include "scenarios/preset.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "scenarios/scenario.hpp"
#include "scenarios/text/scenario_fields.hpp"

namespace rollcast {
namespace {

struct Case {
  FrameworkKind framework;
  AlgorithmKind algorithm;
  TrainerKind trainer;
  PresetMode mode;
};

std::string text_of(Case const& c) {
  return fmt::format("{}, {}, {}, {}", name_of(c.framework), name_of(c.algorithm), name_of(c.trainer),
                     name_of(c.mode));
}

bool online(AlgorithmKind a) { return a == AlgorithmKind::ppo || a == AlgorithmKind::grpo; }

std::vector<Case> cases() {
  std::vector<Case> out;
  for (FrameworkKind f : known_frameworks()) {
    for (AlgorithmKind a : preset_algorithms(f)) {
      for (TrainerKind t : preset_trainers(f)) {
        for (PresetMode m : preset_modes(f)) {
          if (online(a) || m == preset_modes(f).front()) out.push_back({f, a, t, m});
        }
      }
    }
  }
  return out;
}

std::vector<PresetValue> table_of(Case const& c) {
  return framework_preset(c.framework, c.algorithm, c.trainer, c.mode);
}

// A file that leaves to the preset all that it may. Two nodes of eight; engines of their own in a second
// pool.
std::string file_of(Case const& c) {
  std::string out = fmt::format(
      "model: llama-3.1-8b-instruct\n"
      "cluster: {{node: hgx-h100, nodes: 2}}\n"
      "framework: {}\n"
      "workload: {{prompt_tokens: 128, response_tokens: 512}}\n"
      "train: {{trainer: {}}}\n",
      name_of(c.framework), name_of(c.trainer));
  if (!online(c.algorithm))
    return out + fmt::format("algorithm: {{kind: {}, train_batch: 256}}\n", name_of(c.algorithm));
  out += fmt::format("algorithm: {{kind: {}, prompts: 64, group_size: 8}}\n", name_of(c.algorithm));
  if (c.mode == PresetMode::colocated) return out;
  out.insert(out.find("trainer: "), "pool: train, ");
  out += "pools: {train: {nodes: 1}, rollout: {nodes: 1}}\nrollout: {pool: rollout}\n";
  if (c.mode == PresetMode::one_step_off) out += "schedule: one_step_off\n";
  if (c.mode == PresetMode::async) out += "schedule: async\n";
  return out;
}

ScenarioResult read(Case const& c, std::vector<std::string> sets = {}) {
  return read_scenario_text(file_of(c), "preset.yaml", {std::move(sets), {}});
}

std::map<std::string, Origin> origins_of(Scenario const& s) {
  std::map<std::string, Origin> out;
  for (Origin const& o : s.origins) out[o.key] = o;
  return out;
}

TEST(Preset, EveryFrameworkHasOne) {
  for (FrameworkKind f : known_frameworks()) {
    if (f == FrameworkKind::none) continue;
    EXPECT_FALSE(preset_algorithms(f).empty()) << name_of(f);
    EXPECT_FALSE(preset_modes(f).empty()) << name_of(f);
    EXPECT_EQ(default_trainer(f), preset_trainers(f).front()) << name_of(f);
  }
  EXPECT_TRUE(framework_preset(FrameworkKind::none, AlgorithmKind::grpo, TrainerKind::megatron).empty());
  // DeepSpeed-Chat has PPO, not GRPO.
  EXPECT_TRUE(
      framework_preset(FrameworkKind::deepspeed_chat, AlgorithmKind::grpo, TrainerKind::deepspeed).empty());
}

TEST(Preset, EveryValueHasAKeyOfTheLanguageAndASourceAndStandsOnce) {
  std::set<std::string, std::less<>> keys;
  for (SchemaRow const& row : scenario_keys()) keys.insert(row.key);
  for (Case const& c : cases()) {
    std::set<std::string_view> seen;
    for (PresetValue const& v : table_of(c)) {
      EXPECT_TRUE(keys.count(v.key)) << text_of(c) << ": " << v.key;
      EXPECT_GT(v.source.size(), 3U) << text_of(c) << ": " << v.key;
      EXPECT_FALSE(v.value.empty()) << text_of(c) << ": " << v.key;
      EXPECT_TRUE(seen.insert(v.key).second) << text_of(c) << ": " << v.key << " stands twice";
    }
    EXPECT_FALSE(seen.empty()) << text_of(c);
  }
}

TEST(Preset, EveryValueIsReadAndApplies) {
  for (Case const& c : cases()) {
    ScenarioResult const r = read(c);
    ASSERT_TRUE(r.scenario) << text_of(c) << "\n" << format(r.problems);
    auto const origins = origins_of(*r.scenario);
    for (PresetValue const& v : table_of(c)) {
      if (v.key == "train.trainer") continue;  // the file names one
      auto const it = origins.find(std::string(v.key));
      ASSERT_NE(it, origins.end()) << text_of(c) << ": " << v.key;
      EXPECT_EQ(it->second.from, fmt::format("{} preset: {}", name_of(c.framework), v.source))
          << text_of(c) << ": " << v.key;
    }
  }
}

TEST(Preset, TheTrainerIsTheFrameworksOwnWhereTheFileNamesNone) {
  for (FrameworkKind f : known_frameworks()) {
    if (f == FrameworkKind::none) continue;
    for (PresetValue const& v : framework_preset(f, preset_algorithms(f).front(), default_trainer(f))) {
      if (v.key == "train.trainer") {
        EXPECT_EQ(v.value, name_of(default_trainer(f))) << name_of(f);
      }
    }
  }
}

// The place of a phase in the order; the order's size where it is not there.
std::size_t at(std::vector<Phase> const& order, Phase p) {
  return static_cast<std::size_t>(std::find(order.begin(), order.end(), p) - order.begin());
}

TEST(Preset, EveryOrderMakesAStepOfItsAlgorithm) {
  using enum Phase;
  for (Case const& c : cases()) {
    ScenarioResult const r = read(c);
    ASSERT_TRUE(r.scenario) << text_of(c) << "\n" << format(r.problems);
    auto const& order = r.scenario->job.framework.order;
    auto const has = [&](Phase p) { return at(order, p) < order.size(); };
    SCOPED_TRACE(text_of(c));
    EXPECT_TRUE(has(update_actor));
    EXPECT_EQ(has(reference), c.algorithm != AlgorithmKind::sft);
    EXPECT_EQ(has(generate), online(c.algorithm));
    bool const ppo = c.algorithm == AlgorithmKind::ppo;
    for (Phase p : {values, update_critic}) EXPECT_EQ(has(p), ppo);
    // Engines that share their GPUs sleep and wake together or not at all, and never where they do not share.
    EXPECT_EQ(has(sleep), has(wake));
    if (c.mode != PresetMode::colocated) {
      EXPECT_FALSE(has(sleep));
    }
    EXPECT_EQ(has(weight_sync), online(c.algorithm) && r.scenario->job.rollout.kind != EngineKind::hf);
    if (!online(c.algorithm)) continue;
    for (Phase p : {score, old_logprob, reference, values, advantage, update_critic, update_actor}) {
      EXPECT_GT(at(order, p), at(order, generate)) << name_of(p);
    }
    EXPECT_LT(at(order, score), at(order, advantage));
    EXPECT_LT(at(order, advantage), at(order, update_actor));
    if (ppo) {
      EXPECT_LT(at(order, values), at(order, advantage));
    }
    if (has(sleep)) {
      EXPECT_LT(at(order, sleep), at(order, old_logprob));
    }
  }
}

// Both read the same file but for the framework: what differs is what the tables say, and nothing else. A key
// that only one table has may have the default's value.
TEST(Preset, TwoFrameworksDifferInTheKeysOfTheirTables) {
  int compared = 0;
  for (Case const& a : cases()) {
    for (FrameworkKind f : known_frameworks()) {
      Case b = a;
      b.framework = f;
      auto const modes = preset_modes(f);
      bool const has_mode = std::find(modes.begin(), modes.end(), a.mode) != modes.end();
      if (f == a.framework || !has_mode || table_of(b).empty()) continue;
      ScenarioResult const ra = read(a);
      ScenarioResult const rb = read(b);
      ASSERT_TRUE(ra.scenario) << text_of(a) << "\n" << format(ra.problems);
      ASSERT_TRUE(rb.scenario) << text_of(b) << "\n" << format(rb.problems);
      std::map<std::string_view, PresetDifference> told;
      for (PresetDifference const& d : preset_differences(a.framework, f, a.algorithm, a.trainer, a.mode)) {
        told[d.key] = d;
      }
      auto const oa = origins_of(*ra.scenario);
      auto const ob = origins_of(*rb.scenario);
      for (auto const& [key, origin] : oa) {
        auto const other = ob.find(key);
        bool const differs = other == ob.end() || other->second.value != origin.value;
        auto const it = told.find(key);
        std::string const where = text_of(a) + " against " + text_of(b) + ": " + key;
        if (key == "framework" || key == "framework.base" || key == "train.trainer") continue;
        if (key == "algorithm.train_batch") continue;  // follows from schedule.async.parts_per_step
        // The engine's own defaults follow from the engine.
        if (it == told.end() && told.contains("rollout.engine") && key.starts_with("rollout.")) continue;
        if (it == told.end()) {
          EXPECT_FALSE(differs) << where;
        } else if (!it->second.source_a.empty() && !it->second.source_b.empty()) {
          EXPECT_TRUE(differs) << where;
        }
      }
      ++compared;
    }
  }
  EXPECT_GT(compared, 100);
}

TEST(Preset, DifferencesNameBothSources) {
  auto const differences = preset_differences(FrameworkKind::verl, FrameworkKind::nemo_rl,
                                              AlgorithmKind::grpo, TrainerKind::megatron);
  auto const of = [&](std::string_view key) {
    auto const it = std::find_if(differences.begin(), differences.end(),
                                 [&](PresetDifference const& d) { return d.key == key; });
    EXPECT_NE(it, differences.end()) << key;
    return it == differences.end() ? PresetDifference{} : *it;
  };
  // verl: rollout.yaml; NeMo RL: grpo_math_1B.yaml.
  PresetDifference const memory = of("rollout.gpu_memory_utilization");
  EXPECT_EQ(memory.value_a, "0.5");
  EXPECT_EQ(memory.value_b, "0.6");
  EXPECT_NE(memory.source_a.find("rollout.yaml"), std::string_view::npos);
  EXPECT_NE(memory.source_b.find("grpo_math_1B.yaml"), std::string_view::npos);
  // Only verl's table has a dispatch, only NeMo RL's packs; both say how sequences go to the ranks, and
  // gradients.
  PresetDifference const dispatch = of("framework.dispatch_per_phase");
  EXPECT_EQ(dispatch.value_b, "");
  EXPECT_EQ(dispatch.source_b, "");
  EXPECT_EQ(of("train.balance").value_a, "karmarkar_karp");
  EXPECT_EQ(of("train.balance").value_b, "sorted");
  EXPECT_EQ(of("train.packing").value_a, "");
  EXPECT_EQ(of("train.gradients").value_a, "fp32");
  EXPECT_EQ(of("train.gradients").value_b, "bf16");
}

TEST(Preset, NothingDiffersFromItself) {
  for (Case const& c : cases()) {
    EXPECT_TRUE(preset_differences(c.framework, c.framework, c.algorithm, c.trainer, c.mode).empty())
        << text_of(c);
  }
  // The other way round the same keys, the values exchanged.
  auto const there = preset_differences(FrameworkKind::slime, FrameworkKind::openrlhf, AlgorithmKind::ppo,
                                        TrainerKind::megatron);
  auto const back = preset_differences(FrameworkKind::openrlhf, FrameworkKind::slime, AlgorithmKind::ppo,
                                       TrainerKind::megatron);
  ASSERT_EQ(there.size(), back.size());
  for (PresetDifference const& d : there) {
    EXPECT_TRUE(std::any_of(back.begin(), back.end(), [&](PresetDifference const& e) {
      return e.key == d.key && e.value_a == d.value_b && e.value_b == d.value_a && e.source_a == d.source_b;
    })) << d.key;
  }
}

TEST(Preset, TheModeFollowsFromScheduleAndPools) {
  EXPECT_EQ(preset_mode(ScheduleKind::synchronous, false), PresetMode::colocated);
  EXPECT_EQ(preset_mode(ScheduleKind::synchronous, true), PresetMode::separate);
  EXPECT_EQ(preset_mode(ScheduleKind::one_step_off, true), PresetMode::one_step_off);
  EXPECT_EQ(preset_mode(ScheduleKind::async, true), PresetMode::async);
}

TEST(Preset, AsyncTakesTheFrameworksQueueRule) {
  for (auto const& [framework, trainer, rule, staleness] :
       {std::tuple(FrameworkKind::verl, TrainerKind::fsdp2, QueueRule::verl, 0.1),
        std::tuple(FrameworkKind::areal, TrainerKind::fsdp2, QueueRule::areal, 2.0),
        std::tuple(FrameworkKind::nemo_rl, TrainerKind::megatron, QueueRule::nemo_rl, 1.0)}) {
    Case const c{framework, AlgorithmKind::grpo, trainer, PresetMode::async};
    ScenarioResult const r = read(c);
    ASSERT_TRUE(r.scenario) << format(r.problems);
    EXPECT_EQ(r.scenario->job.schedule.kind, ScheduleKind::async);
    EXPECT_EQ(r.scenario->job.schedule.async.queue, rule);
    EXPECT_EQ(r.scenario->job.schedule.async.max_staleness, staleness);
    // The file's own options stay.
    ScenarioResult const own = read(c, {"schedule={async: {max_staleness: 7}}"});
    ASSERT_TRUE(own.scenario) << format(own.problems);
    EXPECT_EQ(own.scenario->job.schedule.async.queue, rule);
    EXPECT_EQ(own.scenario->job.schedule.async.max_staleness, 7);
  }
}

}  // namespace
}  // namespace rollcast
