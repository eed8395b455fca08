#include "scenarios/text/document.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>

namespace rollcast {
namespace {

Problem only_problem(std::string const& text) {
  Document const d = parse_document(text, "f.yaml");
  EXPECT_EQ(d.problems.size(), 1U) << format(d.problems);
  return d.problems.empty() ? Problem{} : d.problems.front();
}

std::string repeated(std::string const& s, int n) {
  std::string out;
  for (int i = 0; i < n; ++i) out += s;
  return out;
}

TEST(Document, KeepsPositionsOfKeysAndValues) {
  Document const d = parse_document("a: 1\nb:\n  c: [x, \"y\"]\n", "f.yaml");
  ASSERT_TRUE(d.problems.empty());
  Entry const* b = find(d.root, "b");
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(b->mark.line, 2);
  EXPECT_EQ(b->mark.column, 1);
  Value const& list = find(b->value, "c")->value;
  ASSERT_EQ(list.items.size(), 2U);
  EXPECT_EQ(list.items[0].mark.line, 3);
  EXPECT_EQ(list.items[0].mark.column, 7);  // "  c: [x": x is the 7th character
  EXPECT_FALSE(list.items[0].quoted);
  EXPECT_TRUE(list.items[1].quoted);
}

TEST(Document, ColumnsCountCharactersNotBytes) {
  // "é" is two bytes; the value starts at the 5th character.
  Document const d = parse_document("\xC3\xA9\xC3\xA9: *x\n", "f.yaml");
  Document const e = parse_document("\xC3\xA9\xC3\xA9: {a: 1, a: 2}\n", "f.yaml");
  ASSERT_EQ(e.problems.size(), 1U);
  EXPECT_EQ(e.problems[0].column, 12);  // éé: {a: 1, a
  ASSERT_EQ(d.problems.size(), 1U);
}

TEST(Document, RefusesDuplicateKeysAndNamesTheFirst) {
  Problem const p = only_problem("a: 1\nb: 2\na: 3\n");
  EXPECT_EQ(p.line, 3);
  EXPECT_EQ(p.key, "a");
  EXPECT_NE(p.what.find("line 1"), std::string::npos);
  EXPECT_EQ(format(p),
            "f.yaml:3:1: a: a second time in this map; the first is on line 1; keep one of the two\n"
            "  a: 3\n"
            "  ^\n");
}

TEST(Document, RefusesAnchorsAliasesTagsAndOddKeys) {
  EXPECT_NE(only_problem("a: &x 1\n").what.find("anchors"), std::string::npos);
  EXPECT_NE(only_problem("a: !!str 1\n").what.find("tags"), std::string::npos);
  EXPECT_NE(only_problem("? [a, b]\n: 1\n").what.find("key"), std::string::npos);
  Document const d = parse_document("a: &x 1\nb: *x\n", "f.yaml");
  ASSERT_EQ(d.problems.size(), 2U);
  EXPECT_NE(d.problems[1].what.find("aliases"), std::string::npos);
  EXPECT_EQ(d.problems[1].line, 2);
}

TEST(Document, RefusesASecondDocumentAndTrailingText) {
  EXPECT_NE(only_problem("a: 1\n---\nb: 2\n").what.find("second document"), std::string::npos);
  EXPECT_FALSE(parse_document("a: 1\n}\n", "f.yaml").problems.empty());
  EXPECT_TRUE(parse_document("---\na: 1\n...\n", "f.yaml").problems.empty());
}

TEST(Document, AliasBombIsRefusedWithoutExpanding) {
  std::string bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n";
  for (char c = 'b'; c <= 'z'; ++c) {
    bomb += std::string(1, c) + ": &" + c + " [";
    for (int i = 0; i < 9; ++i) bomb += std::string(i > 0 ? ", *" : "*") + static_cast<char>(c - 1);
    bomb += "]\n";
  }
  Document const d = parse_document(bomb, "f.yaml");
  EXPECT_GT(d.problems.size(), 10U);
  EXPECT_LE(d.problems.size(), 200U);
}

TEST(Document, NestingEndsAt64) {
  std::string const good = "a: " + repeated("[", 63) + repeated("]", 63);
  EXPECT_TRUE(parse_document(good, "f.yaml").problems.empty());
  Problem const p = only_problem("a: " + repeated("[", 64) + repeated("]", 64));
  EXPECT_NE(p.what.find("64"), std::string::npos);
  EXPECT_EQ(p.column, 67);  // "a: " and 63 brackets before it
}

TEST(Document, DeepNestingOfEveryStyleIsOneQuickProblem) {
  std::string block;
  for (int i = 0; i < 1000; ++i) block += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
  for (std::string const& text :
       {repeated("[", 1000000), repeated("{", 1000000), repeated("{a: ", 250000), repeated("- ", 500000),
        repeated("? ", 500000), block, repeated("[{", 400000), repeated("{[", 400000),
        repeated("!a ", 300000), repeated("&a ", 300000), repeated("a: ", 300000), repeated("'", 1000000),
        repeated("\"", 999999), repeated("[],", 300000), repeated("|\n", 400000), repeated("%", 1000000),
        repeated("a\n", 400000)}) {
    auto const start = std::chrono::steady_clock::now();
    Document const d = parse_document(text, "f.yaml");
    auto const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    EXPECT_GE(d.problems.size(), 1U) << text.substr(0, 20);
    EXPECT_LT(seconds, 5.0) << text.substr(0, 20);
    EXPECT_LT(format(d.problems).size(), 200000U);
  }
}

TEST(Document, RefusesTooManyValues) {
  std::string const text = "a: [" + repeated("1,", 200000) + "1]";
  EXPECT_NE(only_problem(text).what.find("100,000"), std::string::npos);
}

TEST(Document, RefusesBinaryAndBrokenUtf8) {
  EXPECT_NE(only_problem(std::string("a: 1\nb: \0x", 10)).what.find("binary"), std::string::npos);
  Problem const p = only_problem("a: 1\nbc\xFF: 1\n");
  EXPECT_NE(p.what.find("UTF-8"), std::string::npos);
  EXPECT_EQ(p.line, 2);
  for (std::string const bad : {"\xC0\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xE2\x82", "\x80", "\x1B"}) {
    EXPECT_EQ(parse_document("a: " + bad, "f.yaml").problems.size(), 1U);
  }
}

TEST(Document, AcceptsByteOrderMarkAndWindowsLineEnds) {
  Document const d = parse_document(
      "\xEF\xBB\xBF"
      "a: 1\r\nb: 2\r\n",
      "f.yaml");
  ASSERT_TRUE(d.problems.empty()) << format(d.problems);
  EXPECT_EQ(find(d.root, "a")->mark.column, 1);
  EXPECT_EQ(find(d.root, "b")->value.text, "2");
  EXPECT_EQ(find(d.root, "b")->mark.line, 2);
}

TEST(Document, NamesATabInTheIndent) {
  Document const d = parse_document("a:\n\tb: 1\n", "f.yaml");
  ASSERT_EQ(d.problems.size(), 1U);
  EXPECT_NE(d.problems[0].remedy.find("tab"), std::string::npos) << format(d.problems);
}

TEST(Document, EmptyAndWrongRoots) {
  for (std::string const text : {"", "\n", "# nothing\n", "---\n", "~\n"}) {
    EXPECT_NE(only_problem(text).what.find("empty"), std::string::npos) << text;
  }
  EXPECT_NE(only_problem("[1, 2]").what.find("not a map"), std::string::npos);
  EXPECT_NE(only_problem("hello").what.find("not a map"), std::string::npos);
}

TEST(Document, RefusesFilesThatCannotBeScenarios) {
  namespace fs = std::filesystem;
  fs::path const folder = fs::path(testing::TempDir()) / "document_test";
  fs::create_directories(folder);
  EXPECT_NE(read_document(folder.string()).problems.at(0).what.find("directory"), std::string::npos);
  EXPECT_NE(read_document((folder / "none.yaml").string()).problems.at(0).what.find("no such file"),
            std::string::npos);
  EXPECT_EQ(read_document("").problems.size(), 1U);
  // 100 MB, refused by its size: the file is sparse and would take long to read and parse.
  fs::path const big = folder / "big.yaml";
  std::ofstream(big).close();
  fs::resize_file(big, 100'000'000);
  auto const start = std::chrono::steady_clock::now();
  EXPECT_NE(read_document(big.string()).problems.at(0).what.find("1 MiB"), std::string::npos);
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), 0.1);
  // A device without an end.
  if (fs::exists("/dev/zero")) {
    EXPECT_EQ(read_document("/dev/zero").problems.size(), 1U);
  }
  fs::remove_all(folder);
}

TEST(Document, SetReplacesAddsAndRefuses) {
  Document d = parse_document("a: {b: 1}\nn: name\n", "f.yaml");
  auto const base = [](std::string_view path) { return path == "n"; };
  set_value(d, "a.b=2", base);
  set_value(d, "a.c={x: [1, 2]}", base);
  set_value(d, "n.k=3", base);
  EXPECT_TRUE(d.problems.empty()) << format(d.problems);
  EXPECT_EQ(find(find(d.root, "a")->value, "b")->value.text, "2");
  EXPECT_EQ(find(find(d.root, "a")->value, "c")->value.entries.size(), 1U);
  EXPECT_EQ(find(find(d.root, "n")->value, "base")->value.text, "name");
  EXPECT_EQ(place_of(d, find(find(d.root, "a")->value, "b")->value.mark), "--set a.b=2");
  EXPECT_EQ(place_of(d, find(d.root, "a")->mark), "f.yaml:1");

  for (std::string const bad : {"a", "=1", "a..b=1", ".a=1", "a.b.c=1", "a.b=[", "a.b=&x 1", "a.b=\x01"}) {
    std::size_t const before = d.problems.size();
    set_value(d, bad, base);
    EXPECT_EQ(d.problems.size(), before + 1) << bad;
    EXPECT_EQ(d.problems.back().file.rfind("--set ", 0), 0U) << bad;
  }
}

}  // namespace
}  // namespace rollcast
