// rollcast catalog, run in this process with its output captured.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "models/catalog/catalog.hpp"
#include "reports/commands/commands.hpp"
#include "scenarios/preset.hpp"
#include "tests/reports/run_command.hpp"

namespace rollcast {
namespace {

using testing::HasSubstr;
using testing::Not;

CommandRun run(std::vector<std::string> words) { return run_command(&add_catalog_command, std::move(words)); }

TEST(CatalogCommand, ListsAllOrOneSection) {
  CommandRun const all = run({"catalog", "list"});
  EXPECT_EQ(all.exit_code, 0);
  for (char const* name : {"h100-sxm", "hgx-h100", "ib-400g", "llama-3.1-8b"})
    EXPECT_THAT(all.out, HasSubstr(name));
  CommandRun const fabrics = run({"catalog", "list", "fabrics"});
  EXPECT_THAT(fabrics.out, HasSubstr("ib-400g"));
  EXPECT_THAT(fabrics.out, Not(HasSubstr("llama")));
}

TEST(CatalogCommand, ListsWhatEachGpuIsPricedBy) {
  CommandRun const r = run({"catalog", "list", "profiles"});
  EXPECT_EQ(r.exit_code, 0);
  EXPECT_THAT(r.out, testing::ContainsRegex("h100-sxm +measured "));
  EXPECT_THAT(r.out, testing::ContainsRegex("h200-sxm +derived from h100-sxm "));
  EXPECT_THAT(r.out, HasSubstr("  a100-sxm-80gb (vllm"));
  EXPECT_THAT(r.out, HasSubstr("  a100-sxm-80gb_sglang (sglang"));
  EXPECT_THAT(r.out, testing::ContainsRegex("a6000 +derived from a100-sxm-80gb "));
  EXPECT_THAT(run({"catalog", "show", "h200-sxm"}).out, HasSubstr("Prices: h200-sxm, derived from h100-sxm"));
}

TEST(CatalogCommand, ShowsNumbersWithUnitsAndSources) {
  CommandRun const r = run({"catalog", "show", "h100-sxm"});
  EXPECT_EQ(r.exit_code, 0);
  EXPECT_THAT(r.out, HasSubstr("989 TFLOP/s"));
  EXPECT_THAT(r.out, HasSubstr("79.1 GiB"));
  EXPECT_THAT(r.out, HasSubstr("3350 GB/s"));
  EXPECT_THAT(r.out, HasSubstr("[1] NVIDIA data sheet"));
}

TEST(CatalogCommand, ShowsWhatFollowsFromAModel) {
  CommandRun const r = run({"catalog", "show", "Qwen/Qwen3-30B-A3B"});
  EXPECT_EQ(r.exit_code, 0);
  EXPECT_THAT(r.out, HasSubstr("30,532,122,624"));
  EXPECT_THAT(r.out, HasSubstr("3,353,032,704"));
  // 2 x 4 heads x 128 x 2 B x 48 layers
  EXPECT_THAT(r.out, HasSubstr("98,304 B"));
  EXPECT_THAT(r.out, HasSubstr("mlp.experts.up_proj.weight"));
  EXPECT_THAT(r.out, HasSubstr("x 128"));
}

TEST(CatalogCommand, NamesTheNearestForAnUnknownName) {
  CommandRun const r = run({"catalog", "show", "hgx-h10"});
  EXPECT_EQ(r.exit_code, 2);
  EXPECT_EQ(r.out, "");
  EXPECT_THAT(r.err, HasSubstr("the catalog has no 'hgx-h10'; did you mean hgx-h100?"));
  EXPECT_THAT(run({"catalog", "show", "lama-3.1-8b"}).err, HasSubstr("did you mean llama-3.1-8b?"));
  EXPECT_THAT(run({"catalog", "show", "zzzzzz"}).err, HasSubstr("'rollcast catalog list' shows all names"));
}

TEST(CatalogCommand, ListsThePresetsAndShowsOne) {
  CommandRun const list = run({"catalog", "presets"});
  EXPECT_EQ(list.exit_code, 0);
  EXPECT_THAT(list.out,
              testing::ContainsRegex("trl +grpo, dpo, sft +deepspeed, fsdp2, ddp +colocated, separate"));
  CommandRun const one = run({"catalog", "presets", "verl"});
  EXPECT_EQ(one.exit_code, 0);
  EXPECT_THAT(one.out, testing::StartsWith("preset verl (grpo, fsdp2, colocated)\n"));
  for (PresetValue const& v : framework_preset(FrameworkKind::verl, AlgorithmKind::grpo, TrainerKind::fsdp2,
                                               PresetMode::colocated)) {
    EXPECT_THAT(one.out, HasSubstr("  " + std::string(v.key) + " "));
    EXPECT_THAT(one.out, HasSubstr("] " + std::string(v.source) + "\n"));
  }
  EXPECT_THAT(run({"catalog", "presets", "verl", "--trainer", "megatron", "--mode", "async"}).out,
              testing::StartsWith("preset verl (grpo, megatron, async)\n"));
}

// Exactly the keys that preset_differences names; without a common trainer each takes its usual one.
TEST(CatalogCommand, ComparesTwoPresets) {
  CommandRun const r = run({"catalog", "presets", "openrlhf", "verl"});
  EXPECT_EQ(r.exit_code, 0);
  EXPECT_THAT(r.out, testing::StartsWith(
                         "openrlhf (ppo, deepspeed, colocated) against verl (ppo, fsdp2, colocated)\n"));
  auto const a = framework_preset(FrameworkKind::openrlhf, AlgorithmKind::ppo, TrainerKind::deepspeed);
  auto const b = framework_preset(FrameworkKind::verl, AlgorithmKind::ppo, TrainerKind::fsdp2);
  std::size_t rows = 0;
  for (PresetDifference const& d : preset_differences(a, b)) {
    EXPECT_THAT(r.out, HasSubstr("\n  " + std::string(d.key)));
    ++rows;
  }
  std::size_t lines = 0;
  for (std::size_t at = r.out.find("\n  "); at != std::string::npos; at = r.out.find("\n  ", at + 1))
    lines += std::string_view("[- ").find(r.out[at + 3]) == std::string_view::npos ? 1 : 0;
  EXPECT_EQ(lines, rows);
  EXPECT_THAT(run({"catalog", "presets", "verl", "verl"}).out, HasSubstr("They set the same."));
}

TEST(CatalogCommand, PresetsNameWhatThereIs) {
  CommandRun const name = run({"catalog", "presets", "verll"});
  EXPECT_EQ(name.exit_code, 2);
  EXPECT_THAT(name.err, HasSubstr("no preset is called 'verll'; there are nemo-rl, verl, "));
  CommandRun const algorithm = run({"catalog", "presets", "verl", "slime", "--algorithm", "dpo"});
  EXPECT_EQ(algorithm.exit_code, 2);
  EXPECT_THAT(algorithm.err, HasSubstr("verl has no preset for 'dpo'; it has grpo, ppo, sft"));
}

TEST(CatalogCommand, DrawsANode) {
  CommandRun const r =
      run({"catalog", "topology", "gb200-nvl72", "--nodes", "2", "--storage-fabric", "roce-400g"});
  EXPECT_EQ(r.exit_code, 0);
  EXPECT_THAT(r.out, testing::StartsWith("gb200-nvl72: 144 GPUs gb200, 2 nodes;"));
  EXPECT_THAT(r.out, HasSubstr("node of 18 hosts, all alike"));
  EXPECT_THAT(r.out, HasSubstr("second network roce-400g"));
  EXPECT_THAT(run({"catalog", "topology", "pcie-4090"}).out, HasSubstr("through host memory"));
  EXPECT_THAT(run({"catalog", "topology", "hgx-a100", "--fabric", "ethernet-100g"}).out,
              HasSubstr("network ethernet-100g: tcp"));
  EXPECT_THAT(run({"catalog", "topology", "hgx-a100", "--dot", "-"}).out,
              testing::StartsWith("digraph cluster {"));
}

TEST(CatalogCommand, DrawsEveryNode) {
  for (Node const& n : builtin_catalog().nodes)
    EXPECT_EQ(run({"catalog", "topology", n.name, "--nodes", "2"}).exit_code, 0) << n.name;
}

TEST(CatalogCommand, DrawsNothingUnknown) {
  CommandRun const node = run({"catalog", "topology", "hgx-h10"});
  EXPECT_EQ(node.exit_code, 2);
  EXPECT_THAT(node.err, HasSubstr("the catalog has no node 'hgx-h10'; did you mean hgx-h100?"));
  EXPECT_EQ(run({"catalog", "topology", "hgx-h100", "--fabric", "ib-401g"}).exit_code, 2);
  EXPECT_THAT(run({"catalog", "topology", "pcie-4090", "--storage-fabric", "ib-400g"}).err,
              HasSubstr("pcie-4090 has no network cards for a second network"));
}

TEST(CatalogCommand, TakesAnOverrideFile) {
  std::filesystem::path const path =
      std::filesystem::path(testing::TempDir()) / "rollcast_catalog_command_test.yaml";
  std::ofstream(path) << "gpus: {h100-sxm: {visible_memory: 70 GiB}}\n";
  CommandRun const good = run({"catalog", "--catalog", path.string(), "show", "h100-sxm"});
  EXPECT_EQ(good.exit_code, 0);
  EXPECT_THAT(good.out, HasSubstr("70 GiB"));
  EXPECT_THAT(good.out, HasSubstr(path.string() + ":1"));
  std::ofstream(path) << "gpus: {h100-sxm: {visible_memory: 70}}\n";
  CommandRun const bad = run({"catalog", "--catalog", path.string(), "list"});
  EXPECT_EQ(bad.exit_code, 2);
  EXPECT_THAT(bad.err, HasSubstr("visible_memory"));
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace rollcast
