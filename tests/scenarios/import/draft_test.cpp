#include "scenarios/import/draft.hpp"

#include <gtest/gtest.h>

#include "scenarios/text/document.hpp"

namespace rollcast {
namespace {

TEST(Draft, WritesBlocksInTheOrderOfTheLanguage) {
  Draft d;
  d.set("train.parallel.tp", std::int64_t{2});
  d.set_text("train.trainer", "fsdp2");  // what the block is comes first
  d.set_text("cluster.node.base", "hgx-h100");
  d.set("cluster.nodes", std::int64_t{2});
  d.set_text("model", "qwen3-8b");
  d.set_flag("train.packing", true);
  d.set("train.parallel.tp", std::int64_t{4});
  EXPECT_EQ(d.text(),
            "model: qwen3-8b\ncluster: {node: hgx-h100, nodes: 2}\n"
            "train: {trainer: fsdp2, parallel: {tp: 4}, packing: true}\n");
}

TEST(Draft, WritesLongBlocksOverLines) {
  Draft d;
  for (int i = 0; i < 12; ++i) d.set("train.a_rather_long_key_" + std::to_string(i), std::int64_t{i});
  EXPECT_EQ(d.text().substr(0, 36), "train:\n  a_rather_long_key_0: 0\n  a_");
}

TEST(Draft, EveryTextIsReadBackAsItIs) {
  for (std::string const text : {"plain", "Qwen/Qwen3-8B", "a: b", "#x", "'", "\"", "\\", "{a}", "null",
                                 "true", "12", "a\nb", "&x", "*x", "- a", "é"}) {
    Document const doc = parse_document("model: " + yaml_scalar(text) + "\n", "x.yaml");
    ASSERT_TRUE(doc.problems.empty()) << text << format(doc.problems);
    std::string expected = text;
    for (char& c : expected) c = c == '\n' ? '?' : c;
    EXPECT_EQ(find(doc.root, "model")->value.text, expected);
  }
}

}  // namespace
}  // namespace rollcast
