#include "scenarios/import/settings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rollcast {
namespace {

using testing::ElementsAre;

std::vector<Word> words(std::vector<std::string> const& texts) {
  std::vector<Word> out;
  for (std::string const& t : texts) out.push_back({t, {0, 1, 1}, ""});
  return out;
}

Settings tree(std::string const& yaml) {
  Settings s;
  add_tree(parse_document(yaml, "c.yaml").root, "", s);
  return s;
}

std::string resolved(Settings const& s, std::string const& key) {
  Setting const* const found = s.find(key);
  if (found == nullptr) return "absent";
  Resolved const r = resolve(s, *found);
  return r.unset.empty() ? r.text : "unset " + r.unset;
}

TEST(Settings, ReadsFlags) {
  Settings s;
  add_flags(words({"x.py", "--a-b", "1", "--c", "--d=2", "--e", "-1", "0.5", "--f", "None", "--a-b", "3"}), 1,
            s);
  EXPECT_THAT(s.find("a_b")->values, ElementsAre("3"));  // the later one
  EXPECT_EQ(s.find("a_b")->written, "--a-b");
  EXPECT_TRUE(s.find("c")->values.empty());
  EXPECT_THAT(s.find("d")->values, ElementsAre("2"));
  EXPECT_THAT(s.find("e")->values, ElementsAre("-1", "0.5"));
  EXPECT_TRUE(s.find("f")->null);
}

TEST(Settings, ReadsOverrides) {
  Settings s;
  add_overrides(words({"a.b=1", "+a.c='x y'", "++a.d=[p,'q r']", "e=null", "--config-name=x", "a.b=2",
                       "g.h=1", "~g", "3=4", "no"}),
                0, s);
  EXPECT_EQ(resolved(s, "a.b"), "2");
  EXPECT_EQ(resolved(s, "a.c"), "x y");
  EXPECT_THAT(s.find("a.d")->values, ElementsAre("p", "q r"));
  EXPECT_TRUE(s.find("e")->null);
  EXPECT_EQ(s.find("g.h"), nullptr);
  EXPECT_EQ(s.find("config-name"), nullptr);
}

TEST(Settings, FlattensATree) {
  Settings s = tree("a: {b: 1, c: [x, y], d: null}\ne: \"null\"\n");
  EXPECT_EQ(resolved(s, "a.b"), "1");
  EXPECT_THAT(s.find("a.c")->values, ElementsAre("x", "y"));
  EXPECT_TRUE(s.find("a.d")->null);
  EXPECT_FALSE(s.find("e")->null);  // in quotes it is a word
  EXPECT_TRUE(s.has_below("a"));
  EXPECT_FALSE(s.has_below("a.bb"));
  // A null takes away what its parent set below.
  s.add_all(tree("a: null\n"));
  EXPECT_EQ(s.find("a.b"), nullptr);
}

TEST(Settings, PutsReferencesIn) {
  Settings const s = tree(
      "p: {n: 4096, m: 2, t: \"${mul:${p.n}, ${p.m}}\", r: \"${.n}\", q: {u: \"${..m}\"}}\n"
      "a: \"${p.t}\"\nb: \"${oc.select:x.y,16384}\"\nc: \"${oc.select:p.n,1}\"\nd: \"${oc.env:HOME}\"\ne: "
      "\"${f}\"\n"
      "f: \"${e}\"\ng: \"n=${p.n}!\"\nh: \"${div:${p.n},0}\"\ni: \"${mul:9999999999999,9999999999999}\"\n");
  EXPECT_EQ(resolved(s, "p.t"), "8192");
  EXPECT_EQ(resolved(s, "p.r"), "4096");
  EXPECT_EQ(resolved(s, "p.q.u"), "2");
  EXPECT_EQ(resolved(s, "a"), "8192");
  EXPECT_EQ(resolved(s, "b"), "16384");
  EXPECT_EQ(resolved(s, "c"), "4096");
  EXPECT_EQ(resolved(s, "d"), "unset oc.env:HOME");
  EXPECT_THAT(resolved(s, "e"), testing::StartsWith("unset"));  // a circle
  EXPECT_EQ(resolved(s, "g"), "n=4096!");
  EXPECT_THAT(resolved(s, "h"), testing::StartsWith("unset"));
  EXPECT_THAT(resolved(s, "i"), testing::StartsWith("unset"));
}

TEST(Settings, EndsWithReferencesThatMultiply) {
  std::string yaml = "a0: ''\n";
  for (int i = 1; i < 15; ++i) {
    std::string line = "a" + std::to_string(i) + ": \"";
    for (int k = 0; k < 40; ++k) line += "${a" + std::to_string(i - 1) + "}";
    yaml += line + "\"\n";
  }
  EXPECT_THAT(resolved(tree(yaml), "a14"), testing::StartsWith("unset"));
}

}  // namespace
}  // namespace rollcast
