// The fuzz target over a corpus made from the example: cut at every byte, thousands of seeded mutations, and
// inputs that have broken parsers before. Nothing may crash, hang, or come back without words.
#include <gtest/gtest.h>

#include <chrono>

#include "models/random.hpp"
#include "tests/fuzz/scenario_fuzz.hpp"
#include "tests/scenarios/example.hpp"

namespace rollcast {
namespace {

std::uint64_t draw(std::uint64_t index) { return random_bits({7, Purpose::jitter, 0, index}); }

TEST(FuzzCorpus, CutAtEveryByte) {
  std::string const text = example_text();
  for (std::size_t n = 0; n < text.size(); ++n) ASSERT_NO_THROW(fuzz_scenario(text.substr(0, n), {})) << n;
}

TEST(FuzzCorpus, FlippedBytes) {
  std::string const text = example_text();
  for (std::uint64_t i = 0; i < 3000; ++i) {
    std::string mutant = text;
    std::uint64_t const flips = 1 + draw(10 * i) % 4;
    for (std::uint64_t k = 0; k < flips; ++k) {
      std::uint64_t const bits = draw(10 * i + 1 + k);
      mutant[bits % mutant.size()] ^= static_cast<char>(1U << ((bits >> 40U) % 8));
    }
    ASSERT_NO_THROW(fuzz_scenario(mutant, {})) << "mutant " << i << ":\n" << mutant;
  }
}

TEST(FuzzCorpus, CutMovedAndRepeatedPieces) {
  std::string const text = example_text();
  for (std::uint64_t i = 0; i < 3000; ++i) {
    std::uint64_t const a = draw(4 * i + 1'000'000) % text.size();
    std::uint64_t const b = draw(4 * i + 1'000'001) % text.size();
    std::uint64_t const length = draw(4 * i + 1'000'002) % 60;
    std::string mutant = text;
    mutant.insert(b, text.substr(a, length));
    if (i % 2 == 0) mutant.erase(draw(4 * i + 1'000'003) % text.size(), length);
    ASSERT_NO_THROW(fuzz_scenario(mutant, {})) << "mutant " << i << ":\n" << mutant;
  }
}

TEST(FuzzCorpus, AwkwardTokensAtEveryValue) {
  std::string const text = example_text();
  for (std::string const token : {"{",
                                  "}",
                                  "[",
                                  "]",
                                  ":",
                                  "- ",
                                  "? ",
                                  "|",
                                  ">",
                                  "&a",
                                  "*a",
                                  "!x",
                                  "%",
                                  "@",
                                  "`",
                                  "\"",
                                  "'",
                                  "#",
                                  "\t",
                                  "\n",
                                  "\r",
                                  "---\n",
                                  "...\n",
                                  "~",
                                  "<<: ",
                                  "1e999",
                                  "-1",
                                  "NaN",
                                  "\xEF\xBB\xBF",
                                  "\xC2\x85",
                                  "\xE2\x80\xA8"}) {
    for (std::size_t at = text.find(": "); at != std::string::npos; at = text.find(": ", at + 1)) {
      std::string mutant = text;
      mutant.insert(at + 2, token);
      ASSERT_NO_THROW(fuzz_scenario(mutant, {})) << mutant;
    }
  }
}

TEST(FuzzCorpus, AwkwardSets) {
  std::string const text = example_text();
  for (std::string const set : {"",
                                "=",
                                "a",
                                "a=",
                                "a=b=c",
                                ".",
                                "..=",
                                "model.=1",
                                "train.parallel.tp=[[[[[[",
                                "a=*b",
                                "a=&b",
                                "model={",
                                "train=~",
                                "cluster.nodes=-0",
                                "cluster.nodes=1e6",
                                "rollout.parallel.tp=1000000",
                                "train.parallel={tp: 1000000, pp: 1000000, cp: 1000000}",
                                "algorithm.prompts=1000000",
                                "workload.response_tokens.max=1000000000",
                                "model.heads=1",
                                "model.head_dim=10000000"}) {
    ASSERT_NO_THROW(fuzz_scenario(text, {{set}, {}})) << set;
  }
  std::string deep = "a";
  for (int i = 0; i < 10000; ++i) deep += ".a";
  ASSERT_NO_THROW(fuzz_scenario(text, {{deep + "=1"}, {}}));
}

TEST(FuzzCorpus, LargeInputsEndSoon) {
  auto const start = std::chrono::steady_clock::now();
  std::string many_keys, long_line = "train: {";
  for (int i = 0; i < 60000; ++i) many_keys += "key" + std::to_string(i) + ": 1\n";
  for (int i = 0; i < 60000; ++i) long_line += "k" + std::to_string(i) + ": 1, ";
  fuzz_scenario(many_keys, {});
  fuzz_scenario(long_line + "}", {});
  fuzz_scenario("model: " + std::string(1'000'000, 'x'), {});
  fuzz_scenario(std::string(1'000'000, 'x') + ": 1", {});
  fuzz_scenario("model: \"" + std::string(1'000'000, '\\') + "\"", {});
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), 20.0);
}

}  // namespace
}  // namespace rollcast
