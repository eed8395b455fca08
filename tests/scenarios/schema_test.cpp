#include "scenarios/schema.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "scenarios/preset.hpp"
#include "scenarios/text/scenario_fields.hpp"

namespace rollcast {
namespace {

TEST(Schema, FileStartsWithWhatTheReaderSays) {
  std::ifstream in(ROLLCAST_SOURCE_DIR "/scenarios/SCHEMA.md");
  std::ostringstream file;
  file << in.rdbuf();
  std::string const expected = schema_markdown();
  EXPECT_TRUE(file.str().compare(0, expected.size(), expected) == 0)
      << "scenarios/SCHEMA.md is out of date; write it anew with: rollcast schema > scenarios/SCHEMA.md";
}

TEST(Schema, EveryKeyHasAMeaningAndStandsOnce) {
  std::set<std::string> seen;
  for (SchemaRow const& row : scenario_keys()) {
    EXPECT_FALSE(row.meaning.empty()) << row.key;
    EXPECT_TRUE(seen.insert(row.key).second) << row.key;
    if (row.simulated) {
      EXPECT_FALSE(row.type.empty()) << row.key;
    }
  }
  EXPECT_TRUE(seen.count("train.parallel.tp"));
  EXPECT_TRUE(seen.count("workload.response_tokens.lognormal.mean"));
}

TEST(Schema, EveryPresetValueHasAKeyAndASource) {
  std::set<std::string, std::less<>> keys;
  for (SchemaRow const& row : scenario_keys()) keys.insert(row.key);
  for (AlgorithmKind a : {AlgorithmKind::sft, AlgorithmKind::dpo, AlgorithmKind::ppo, AlgorithmKind::grpo}) {
    for (TrainerKind t : {TrainerKind::megatron, TrainerKind::fsdp2, TrainerKind::deepspeed}) {
      for (PresetValue const& v : framework_preset(FrameworkKind::nemo_rl, a, t)) {
        EXPECT_TRUE(keys.count(v.key)) << v.key;
        EXPECT_FALSE(v.source.empty()) << v.key;
      }
    }
  }
}

}  // namespace
}  // namespace rollcast
