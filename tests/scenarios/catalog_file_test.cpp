#include "scenarios/text/catalog_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rollcast {
namespace {

using testing::HasSubstr;

Catalog applied(std::string const& text) {
  Catalog c = builtin_catalog();
  EXPECT_EQ(format(apply_catalog_text(text, "mine.yaml", c)), "");
  return c;
}

std::vector<Problem> problems_of(std::string const& text) {
  Catalog c = builtin_catalog();
  std::size_t const before = c.gpus.size() + c.nodes.size() + c.fabrics.size() + c.architectures.size();
  auto problems = apply_catalog_text(text, "mine.yaml", c);
  if (!problems.empty()) {
    EXPECT_EQ(c.gpus.size() + c.nodes.size() + c.fabrics.size() + c.architectures.size(), before);
  }
  return problems;
}

std::string source_of(std::vector<SourceNote> const& notes, std::string const& field) {
  for (SourceNote const& n : notes) {
    if (n.field == field) return n.source;
  }
  return "";
}

TEST(CatalogFile, ChangesTheGivenFieldsOfAKnownEntry) {
  Catalog const c = applied("gpus:\n  h100-sxm:\n    visible_memory: 79.2 GiB\n");
  Gpu const* g = find_gpu(c, "h100-sxm");
  EXPECT_DOUBLE_EQ(g->visible_memory.value, GiB(79.2).value);
  EXPECT_DOUBLE_EQ(g->bf16.value, 989e12);
  EXPECT_EQ(source_of(g->sources, "visible_memory"), "mine.yaml:3");
  EXPECT_EQ(c.gpus.size(), builtin_catalog().gpus.size());
}

TEST(CatalogFile, ChangesTheGpuInsideTheNodesToo) {
  Catalog const c = applied("gpus: {h100-sxm: {visible_memory: 70 GiB}}\n");
  EXPECT_DOUBLE_EQ(find_node(c, "hgx-h100")->gpu.visible_memory.value, GiB(70).value);
  EXPECT_DOUBLE_EQ(find_node(c, "hgx-h200")->gpu.visible_memory.value, GiB(139.8).value);
}

TEST(CatalogFile, AddsEntriesFromABase) {
  Catalog const c = applied(R"(
models: {my-8b: {base: llama-3.1-8b, max_context: 32768}}
nodes: {half: {base: hgx-h100, gpus: 4, nics: 4}}
fabrics: {slow: {base: ib-400g, oversubscription: 2}}
)");
  Architecture const* a = find_architecture(c, "my-8b");
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(a->name, "my-8b");
  EXPECT_EQ(a->max_context, 32768);
  EXPECT_EQ(count_parameters(*a).total, 8030261248);
  EXPECT_EQ(find_node(c, "half")->gpus, 4);
  EXPECT_EQ(find_node(c, "half")->gpu.name, "h100-sxm");
  EXPECT_DOUBLE_EQ(find_fabric(c, "slow")->oversubscription, 2);
  EXPECT_DOUBLE_EQ(find_fabric(c, "slow")->nic.value, 50e9);
}

// The node stands before its GPU.
// TCP sends from host memory unless it is said to do otherwise; a base keeps its own.
TEST(CatalogFile, TheKindOfAFabricSaysWhatItReaches) {
  Catalog const c = applied(
      "fabrics:\n"
      "  a: {kind: tcp, nic: 100 Gb/s, latency: 30 us}\n"
      "  b: {kind: tcp, nic: 100 Gb/s, latency: 30 us, gpu_direct: true}\n"
      "  c: {kind: roce, nic: 100 Gb/s, latency: 3 us}\n"
      "  d: {base: tcpxo, nic: 100 Gb/s}\n"
      "  e: {base: ib-400g, kind: tcp}\n");
  for (auto const& [name, direct] : {std::pair("a", false), std::pair("b", true), std::pair("c", true),
                                     std::pair("d", true), std::pair("e", false)})
    EXPECT_EQ(find_fabric(c, name)->gpu_direct, direct) << name;
}

TEST(CatalogFile, ReadsWhatANodeIsWiredLike) {
  Catalog const c = applied(
      "nodes:\n"
      "  mine: {base: pcie-4090, peer_access: true, nic_slot: 64 GB/s, storage_nics: 2, storage_nic: 25 "
      "Gb/s,\n"
      "         nvme_read: 12 GB/s, nvme_write: 8 GB/s}\n");
  Node const* n = find_node(c, "mine");
  EXPECT_TRUE(n->peer_access);
  EXPECT_FALSE(find_node(c, "pcie-4090")->peer_access);
  EXPECT_DOUBLE_EQ(n->nic_slot.value, 64e9);
  EXPECT_EQ(n->storage_nics, 2);
  EXPECT_DOUBLE_EQ(n->storage_nic.value, 25e9 / 8);
  EXPECT_DOUBLE_EQ(n->nvme_write.value, 8e9);
}

TEST(CatalogFile, ReadsGpusBeforeNodes) {
  Catalog const c = applied(R"(
nodes: {box: {gpu: card, gpus: 2, host_memory: 256 GiB, host_memory_bandwidth: 200 GB/s}}
gpus: {card: {bf16: 500 TFLOP/s, visible_memory: 90 GiB, memory_bandwidth: 3 TB/s, pcie: 64 GB/s}}
)");
  Node const* n = find_node(c, "box");
  ASSERT_NE(n, nullptr);
  EXPECT_EQ(n->gpu.name, "card");
  EXPECT_DOUBLE_EQ(n->gpu.bf16.value, 500e12);
  EXPECT_EQ(source_of(n->gpu.sources, "bf16"), "mine.yaml:3");
}

TEST(CatalogFile, ReportsEachMissingFieldOfANewEntry) {
  auto const problems = problems_of("gpus:\n  card: {bf16: 500 TFLOP/s}\n");
  std::vector<std::string> keys;
  for (Problem const& p : problems) keys.push_back(p.key);
  EXPECT_THAT(keys, testing::UnorderedElementsAre("gpus.card.visible_memory", "gpus.card.memory_bandwidth",
                                                  "gpus.card.pcie"));
  for (Problem const& p : problems) EXPECT_EQ(p.line, 2);
}

TEST(CatalogFile, ReportsEveryMistakeAtItsPlace) {
  auto const problems = problems_of(R"(gpus:
  h100-sxm: {visible_memory: 79}
  a100-sxm-80gb: {sm: 108}
nods: {}
fabrics: {net: 4}
models: {m: {base: lama-3.1-8b}, n: {base: qwen3-8b, kv_heads: 5}}
)");
  std::string const text = format(problems);
  EXPECT_THAT(text, HasSubstr("mine.yaml:2:30: gpus.h100-sxm.visible_memory"));
  EXPECT_THAT(text, HasSubstr("did you mean sms?"));
  EXPECT_THAT(text, HasSubstr("did you mean nodes?"));
  EXPECT_THAT(text, HasSubstr("fabrics.net: an entry without keys"));
  EXPECT_THAT(text, HasSubstr("did you mean llama-3.1-8b?"));
  EXPECT_THAT(text, HasSubstr("kv_heads 5 does not divide heads 32"));
  EXPECT_EQ(problems.size(), 6u) << text;
}

TEST(CatalogFile, RefusesAListAndAMissingFile) {
  EXPECT_THAT(format(problems_of("gpus: [1, 2]\n")), HasSubstr("not a map of entries by name"));
  Catalog c = builtin_catalog();
  EXPECT_FALSE(apply_catalog_file("no/such/catalog.yaml", c).empty());
}

}  // namespace
}  // namespace rollcast
