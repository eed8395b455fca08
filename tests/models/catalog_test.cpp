#include "models/catalog/catalog.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

namespace rollcast {
namespace {

Architecture const& model(std::string const& name) {
  Architecture const* a = find_architecture(builtin_catalog(), name);
  if (a == nullptr) throw std::logic_error(name);
  return *a;
}

// Exact numbers of elements as the makers' checkpoints have them (safetensors index: total_size / 2 bytes, or
// the count of the model card).
struct Published {
  char const* name;
  std::int64_t parameters;
};
constexpr Published kPublished[] = {
    {"llama-2-7b", 6738415616},
    {"llama-2-13b", 13015864320},
    {"llama-2-70b", 68976648192},
    {"llama-3-8b", 8030261248},
    {"llama-3-70b", 70553706496},
    {"llama-3.1-8b", 8030261248},
    {"llama-3.1-70b", 70553706496},
    {"llama-3.1-405b", 405853388800},
    {"llama-3.2-1b", 1235814400},
    {"llama-3.2-3b", 3212749824},
    {"llama-3.3-70b", 70553706496},
    {"qwen-7b", 7721324544},
    {"qwen-14b", 14167290880},
    {"qwen2.5-0.5b", 494032768},
    {"qwen2.5-1.5b", 1543714304},
    {"qwen2.5-3b", 3085938688},
    {"qwen2.5-7b", 7615616512},
    {"qwen2.5-14b", 14770033664},
    {"qwen2.5-32b", 32763876352},
    {"qwen2.5-72b", 72706203648},
    {"deepseek-r1-distill-qwen-1.5b", 1777088000},
    {"qwen3-0.6b", 596049920},
    {"qwen3-1.7b", 1720574976},
    {"qwen3-4b", 4022468096},
    {"qwen3-8b", 8190735360},
    {"qwen3-14b", 14768307200},
    {"qwen3-32b", 32762123264},
    {"qwen3-30b-a3b", 30532122624},
    {"qwen3-235b-a22b", 235093634560},
    {"opt-350m", 331196416},
    {"opt-1.3b", 1315758080},
    {"opt-2.7b", 2651596800},
    {"stablelm-base-alpha-3b", 3637321728},
    {"stablelm-3b-4e1t", 2795443200},
    {"phi-1.5", 1418270720},
};

TEST(CatalogModels, HaveThePublishedCountsExactly) {
  for (Published const& p : kPublished) {
    EXPECT_EQ(count_parameters(model(p.name)).total, p.parameters) << p.name;
    EXPECT_EQ(model(p.name).published_parameters, p.parameters) << p.name;
  }
}

TEST(CatalogModels, AgreeWithTheirOwnPublishedField) {
  for (Architecture const& a : builtin_catalog().architectures) {
    if (a.published_parameters == 0) continue;
    EXPECT_EQ(count_parameters(a).total, a.published_parameters) << a.name;
  }
}

// Where only a rounded count is published: the trunk of DeepSeek-V3 is 671 billion (its README),
// GLM-4.7-Flash is rounded to 30B, Moonlight to 16B with 15.96 of the checkpoint, OPT-66B to 66B (65.7 of its
// checkpoint). The other OPT, Qwen and Qwen3.5 models are called by their counts, to the digits that stand
// here; Qwen1.5-1.8B, which has the shapes of Qwen-1.8B, counts 1,836,828,672 in its checkpoint.
TEST(CatalogModels, AreNearTheRoundedCounts) {
  struct Rounded {
    char const* name;
    double billions;
    double tolerance;
  };
  for (Rounded const& r :
       {Rounded{"deepseek-v3", 671, 1e-3}, Rounded{"moonlight-16b-a3b", 15.960111936, 1e-3},
        Rounded{"opt-66b", 65.7, 1e-3}, Rounded{"glm-4.7-flash", 30, 5e-3}, Rounded{"opt-6.7b", 6.7, 1e-2},
        Rounded{"opt-13b", 13, 2e-2}, Rounded{"opt-30b", 30, 5e-3}, Rounded{"opt-175b", 175, 5e-3},
        Rounded{"qwen-1.8b", 1.836828672, 1e-9}, Rounded{"qwen-72b", 72, 5e-3},
        Rounded{"qwen3.5-9b", 9, 1e-2}}) {
    double const billions = static_cast<double>(count_parameters(model(r.name)).total) / 1e9;
    EXPECT_NEAR(billions, r.billions, r.tolerance * r.billions) << r.name;
  }
}

// The language part of a model with a vision tower is the text model of the same size (its config.json has
// the text_config of Qwen3-4B and so on).
TEST(CatalogModels, OfVisionAreTheirTextModels) {
  for (auto const& [vision, text] :
       {std::pair("qwen3-vl-4b", "qwen3-4b"), std::pair("qwen3-vl-8b", "qwen3-8b"),
        std::pair("qwen2.5-vl-7b", "qwen2.5-7b"), std::pair("qwen2-vl-2b", "qwen2.5-1.5b")}) {
    EXPECT_EQ(count_parameters(model(vision)).total, count_parameters(model(text)).total) << vision;
  }
}

// The GLM-4.5 checkpoints hold one more MoE layer for multi-token prediction: a projection of 2 x hidden to
// hidden, three norms, and copies of the embedding and the head. With it the counts are those of the
// checkpoints, 358,337,791,296 and 110,468,824,832.
TEST(CatalogModels, OfGlmMatchTheCheckpointWithItsPredictionLayer) {
  auto const with_prediction_layer = [](Architecture const& a) {
    std::int64_t layer = 0;
    for (Tensor const& t : layer_tensors(a, a.layers - 1)) layer += t.count();
    std::int64_t const hidden = a.hidden;
    return count_parameters(a).total + layer + 2 * hidden * hidden + 3 * hidden + 2 * hidden * a.vocab;
  };
  EXPECT_EQ(with_prediction_layer(model("glm-4.5")), 358337791296);
  EXPECT_EQ(with_prediction_layer(model("glm-4.5-air")), 110468824832);
}

// Active counts that the makers state: 37B, 32B, 12B, 22B, 3.3B.
TEST(CatalogModels, HaveTheStatedActiveCounts) {
  auto const active = [](char const* name) {
    return static_cast<double>(count_parameters(model(name)).active) / 1e9;
  };
  EXPECT_NEAR(active("deepseek-v3"), 37, 1);
  EXPECT_NEAR(active("glm-4.5"), 32, 2);
  EXPECT_NEAR(active("glm-4.5-air"), 12, 1.5);
  EXPECT_NEAR(active("qwen3-235b-a22b"), 22, 0.5);
  EXPECT_NEAR(active("qwen3-30b-a3b"), 3.3, 0.1);
}

TEST(CatalogModels, ResolveTheNamesThatPeopleWrite) {
  Catalog const& c = builtin_catalog();
  std::map<std::string, std::string> const expected{
      {"llama-3.1-8b-instruct", "llama-3.1-8b"},
      {"meta-llama/Llama-3.1-8B-Instruct", "llama-3.1-8b"},
      {"meta-llama/Meta-Llama-3-8B-Instruct", "llama-3-8b"},
      {"meta-llama/Llama-2-7b-chat-hf", "llama-2-7b"},
      {"Llama-3.3-70B-Instruct", "llama-3.3-70b"},
      {"Qwen/Qwen2.5-Math-7B-Instruct", "qwen2.5-math-7b"},
      {"Qwen/Qwen3-30B-A3B-Instruct-2507", "qwen3-30b-a3b-2507"},
      {"Qwen/Qwen3-4B-Base", "qwen3-4b"},
      {"Qwen/Qwen-1_8B-Chat", "qwen-1.8b"},
      {"Qwen/Qwen3-VL-4B-Instruct", "qwen3-vl-4b"},
      {"deepseek-ai/DeepSeek-R1", "deepseek-v3"},
      {"microsoft/phi-1_5", "phi-1.5"},
      {"facebook/opt-350m", "opt-350m"},
  };
  for (auto const& [written, key] : expected) {
    Architecture const* a = find_architecture(c, written);
    ASSERT_NE(a, nullptr) << written;
    EXPECT_EQ(a->name, key) << written;
  }
  EXPECT_EQ(find_architecture(c, ""), nullptr);
  EXPECT_EQ(find_architecture(c, "-instruct"), nullptr);
  EXPECT_EQ(find_architecture(c, "llama-9-8b"), nullptr);
}

template <class T>
void expect_sources_and_distinct_names(std::vector<T> const& entries) {
  std::set<std::string> names;
  for (T const& e : entries) {
    EXPECT_TRUE(names.insert(e.name).second) << e.name << " stands twice";
    EXPECT_FALSE(e.sources.empty()) << e.name;
    for (SourceNote const& n : e.sources) {
      EXPECT_FALSE(n.source.empty()) << e.name;
    }
  }
}

TEST(Catalog, EveryEntryHasItsSourceAndANameOfItsOwn) {
  Catalog const& c = builtin_catalog();
  expect_sources_and_distinct_names(c.gpus);
  expect_sources_and_distinct_names(c.nodes);
  expect_sources_and_distinct_names(c.fabrics);
  expect_sources_and_distinct_names(c.architectures);
}

// Without a general note every field needs its own.
TEST(Catalog, EveryNumberOfAGpuHasASource) {
  for (Gpu const& g : builtin_catalog().gpus) {
    for (char const* field : {"bf16", "fp8", "memory_on_the_box", "visible_memory", "memory_bandwidth", "l2",
                              "sms", "nvlink", "pcie"}) {
      if (g.name == "c550" && std::string(field) == "fp8") continue;  // none, not a number
      bool found = false;
      for (SourceNote const& n : g.sources) found = found || n.field == field || n.field == "*";
      EXPECT_TRUE(found) << g.name << " " << field;
    }
  }
}

// A rent stands with its own source, which says when it was read; without one it is not known.
TEST(Catalog, EveryRentHasItsSourceAndDate) {
  int priced = 0;
  for (Gpu const& g : builtin_catalog().gpus) {
    auto const note = std::find_if(g.sources.begin(), g.sources.end(),
                                   [](SourceNote const& n) { return n.field == "dollars_per_hour"; });
    EXPECT_EQ(note != g.sources.end(), g.dollars_per_hour > 0) << g.name;
    if (note == g.sources.end()) continue;
    ++priced;
    EXPECT_NE(note->source.find("read on 2026-"), std::string::npos) << g.name;
    EXPECT_GT(g.dollars_per_hour, 0.5) << g.name;
    EXPECT_LT(g.dollars_per_hour, 15) << g.name;
  }
  EXPECT_GE(priced, 8);
}

TEST(Catalog, ValuesAreInTheRangeOfTheirUnits) {
  for (Gpu const& g : builtin_catalog().gpus) {
    EXPECT_GT(g.bf16.value, 50e12) << g.name;
    EXPECT_LT(g.bf16.value, 5e15) << g.name;
    EXPECT_GE(g.fp8.value, 0) << g.name;
    EXPECT_GT(g.memory_bandwidth.value, 0.3e12) << g.name;
    EXPECT_LT(g.memory_bandwidth.value, 20e12) << g.name;
    // The name on the box is in GB, sometimes meaning GiB: what is visible lies below the larger reading.
    EXPECT_LT(g.visible_memory.value, g.memory_on_the_box.value * 1.0738) << g.name;
    EXPECT_GT(g.visible_memory.value, g.memory_on_the_box.value * 0.9) << g.name;
  }
  for (Node const& n : builtin_catalog().nodes) {
    EXPECT_NE(find_fabric(builtin_catalog(), n.fabric), nullptr) << n.name;
    EXPECT_GE(n.gpus, 1) << n.name;
    EXPECT_GT(n.host_memory.value, GiB(100).value) << n.name;
    EXPECT_GT(n.host_memory_bandwidth.value, 50e9) << n.name;
    EXPECT_EQ(n.interconnect == Interconnect::pcie, n.gpu.nvlink.value <= 0 || n.gpus == 1) << n.name;
  }
  for (Fabric const& f : builtin_catalog().fabrics) {
    EXPECT_GT(f.latency.value, 1e-6) << f.name;
    EXPECT_LT(f.latency.value, 1e-4) << f.name;
    EXPECT_GE(f.oversubscription, 1) << f.name;
  }
}

// A rack of 18 compute trays has 18 times what one tray has.
TEST(Catalog, ARackIsItsTrays) {
  Node const& rack = *find_node(builtin_catalog(), "gb200-nvl72");
  Node const& tray = *find_node(builtin_catalog(), "gb200-tray");
  EXPECT_EQ(rack.trays, 18);
  EXPECT_EQ(rack.gpus, 18 * tray.gpus);
  EXPECT_EQ(rack.numa_nodes, 18 * tray.numa_nodes);
  EXPECT_EQ(rack.nics, 18 * tray.nics);
  EXPECT_EQ(rack.storage_nics, 18 * tray.storage_nics);
  EXPECT_DOUBLE_EQ(rack.nvme_write.value, 18 * tray.nvme_write.value);
  EXPECT_NEAR(rack.host_memory.value, 18 * tray.host_memory.value, 1e-3 * rack.host_memory.value);
}

TEST(Catalog, SaysWhoReachesGpuMemory) {
  for (Fabric const& f : builtin_catalog().fabrics)
    EXPECT_EQ(f.gpu_direct, f.kind != FabricKind::tcp || f.name == "tcpxo") << f.name;
  for (Node const& n : builtin_catalog().nodes) EXPECT_EQ(n.peer_access, n.gpu.name != "rtx-4090") << n.name;
}

// Every row of the measured-data folder's gpu_specs.csv stands in the catalog with the same figures.
TEST(CatalogGpus, AgreeWithTheSpecificationTable) {
  std::filesystem::path const path =
      std::filesystem::path(ROLLCAST_SOURCE_DIR) / "../shared/data/gpu_specs/gpu_specs.csv";
  std::ifstream file(path);
  if (!file) GTEST_SKIP() << "no " << path;
  std::map<std::string, std::string> const keys{{"A100-SXM4-80GB", "a100-sxm-80gb"},
                                                {"A100-SXM4-40GB", "a100-sxm-40gb"},
                                                {"A100-PCIe-80GB", "a100-pcie-80gb"},
                                                {"H100-SXM", "h100-sxm"},
                                                {"H100-PCIe", "h100-pcie"},
                                                {"H200-SXM", "h200-sxm"},
                                                {"H800-SXM", "h800-sxm"},
                                                {"A800-SXM4-80GB", "a800-sxm-80gb"},
                                                {"H20-SXM", "h20-sxm"},
                                                {"L40S", "l40s"},
                                                {"L20", "l20"},
                                                {"A10G", "a10g"},
                                                {"A6000", "a6000"},
                                                {"V100-SXM2-32GB", "v100-sxm-32gb"},
                                                {"RTX4090", "rtx-4090"},
                                                {"B200-SXM", "b200-sxm"},
                                                {"GB200", "gb200"},
                                                {"MetaX-C550", "c550"}};
  std::string line;
  std::getline(file, line);
  int rows = 0;
  while (std::getline(file, line)) {
    std::vector<std::string> cells;
    std::stringstream cut(line);
    for (std::string cell; std::getline(cut, cell, ',');) cells.push_back(cell);
    if (cells.size() < 9) continue;
    auto const key = keys.find(cells[0]);
    ASSERT_NE(key, keys.end()) << cells[0];
    Gpu const* g = find_gpu(builtin_catalog(), key->second);
    ASSERT_NE(g, nullptr) << key->second;
    // stod reads the leading number of cells like "200 (about 160 effective)"; an empty cell claims nothing.
    auto const expect = [&](std::size_t column, double value) {
      if (cells[column].empty()) return;
      EXPECT_NEAR(value, std::stod(cells[column]), 1e-9 * value) << line;
    };
    expect(1, g->bf16.value / 1e12);
    expect(2, g->fp8.value / 1e12);
    expect(3, g->memory_on_the_box.value / 1e9);
    expect(4, g->visible_memory.value / GiB(1).value);
    expect(5, g->memory_bandwidth.value / 1e12);
    expect(6, g->l2.value / 1e6);
    expect(7, g->sms);
    if (g->name != "c550") expect(8, g->nvlink.value / 1e9);
    ++rows;
  }
  EXPECT_EQ(rows, static_cast<int>(keys.size()));
}

}  // namespace
}  // namespace rollcast
