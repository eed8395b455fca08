#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "reports/pickle.hpp"

namespace rollcast {
namespace {

using namespace std::string_literals;
using Json = nlohmann::json;
using testing::HasSubstr;

Json read(std::string const& bytes) {
  PickleResult const r = from_pickle(bytes);
  EXPECT_TRUE(r.value) << r.error;
  return r.value.value_or(Json());
}

TEST(PickleReader, ReadsWhatIsWritten) {
  nlohmann::ordered_json const value = {
      {"a", {1, -1, 300, -70000, 1LL << 40, -(1LL << 40), 0.5, nullptr, true, false}},
      {"text", "caf\u00e9"},
      {"long", std::string(1000, 'x')},
      {"empty", nlohmann::ordered_json::array()},
      {"inner", {{"k", "v"}}}};
  EXPECT_EQ(read(to_pickle(value)), Json(value));
}

TEST(PickleReader, ReadsTuplesSharedValuesAndLateFilling) {
  // Protocol 2, as torch::jit::Pickler writes: a tuple of two remembered texts, one recalled; LONG1 of eight
  // bytes.
  std::string const shared =
      "\x80\x02}("s
      "X\x01\x00\x00\x00pq\x00"s     // "p", remembered as 0
      "X\x01\x00\x00\x00\x61q\x01"s  // "a"
      "h\x00\x86q\x02"s              // "p" again; the last two as a tuple
      "X\x01\x00\x00\x00t"s
      "\x8a\x08\x00\x00\x00\x00\x01\x00\x00\x00"s  // 2^32
      "u."s;
  EXPECT_EQ(read(shared), Json({{"p", {"a", "p"}}, {"t", 1LL << 32}}));
  // A list that is remembered before its item is appended, and recalled.
  EXPECT_EQ(read("\x80\x02](]q\x00K\x01\x61h\x00\x65."s), Json({{1}, {1}}));
}

TEST(PickleReader, ReadsNegativeLongsOfFewBytes) {
  EXPECT_EQ(read("\x80\x02\x8a\x01\xff."s), Json(-1));
  EXPECT_EQ(read("\x80\x02\x8a\x02\x00\x80."s), Json(-32768));
  EXPECT_EQ(read("\x80\x02\x8a\x00."s), Json(0));
}

TEST(PickleReader, RefusesWhatBuildsObjects) {
  // os.system("true")
  EXPECT_THAT(from_pickle("\x80\x02"
                          "cos\nsystem\nX\x04\x00\x00\x00trueq\x00\x85R."s)
                  .error,
              HasSubstr("byte 3: the pickle asks for operation 0x63; plain data is read"));
}

TEST(PickleReader, RefusesHostileInput) {
  auto const error = [](std::string const& bytes) { return from_pickle(bytes).error; };
  EXPECT_THAT(error("\x80\x02"s), HasSubstr("ends too early"));
  EXPECT_THAT(error("\x80\x02X\xff\xff\xff\x7fx."s), HasSubstr("ends too early"));
  EXPECT_THAT(error("\x80\x02\x8d\xff\xff\xff\xff\xff\xff\xff\xff."s), HasSubstr("ends too early"));
  EXPECT_THAT(error("\x80\x02."s), HasSubstr("a value that is not there"));
  EXPECT_THAT(error("\x80\x02u."s), HasSubstr("a mark that is not there"));
  EXPECT_THAT(error("\x80\x02}(K\x01u."s), HasSubstr("a key without a value"));
  EXPECT_THAT(error("\x80\x02K\x01K\x02"s + "a."s), HasSubstr("no list or dictionary"));
  EXPECT_THAT(error("\x80\x02h\x05."s), HasSubstr("was not remembered"));
  EXPECT_THAT(error("\x80\x02}(]K\x01u."s), HasSubstr("a key that is no text"));
  EXPECT_THAT(error("\x80\x02\x8a\x09\x01\x01\x01\x01\x01\x01\x01\x01\x01."s), HasSubstr("beyond 64 bits"));
  // A list that holds itself.
  EXPECT_THAT(error("\x80\x02]q\x00h\x00"s + "a."s), HasSubstr("nested more than 64 deep"));
  // Each list holds the one before twice: 2^40 values.
  std::string doubling = "\x80\x02]q\x00"s;
  for (int i = 0; i < 40; ++i) doubling += "](h\x00h\x00"s + "eq\x00"s;
  EXPECT_THAT(error(doubling + "."), HasSubstr("more than 8 million values"));
}

TEST(PickleReader, SurvivesDamagedBytes) {
  std::string const good = to_pickle({{"a", {1, 2, {{"b", "text"}}}}, {"c", 0.5}});
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    std::string bad = good;
    for (int k = 0; k < 3; ++k) bad[random() % bad.size()] = static_cast<char>(random());
    PickleResult const r = from_pickle(bad.substr(0, random() % (bad.size() + 1)));
    EXPECT_NE(r.value.has_value(), !r.error.empty());
  }
}

}  // namespace
}  // namespace rollcast
