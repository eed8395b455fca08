#include "scenarios/schema.hpp"

#include <fmt/format.h>
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

TEST(Schema, ListsEveryPreset) {
  std::string const text = schema_markdown();
  for (FrameworkKind f : known_frameworks()) {
    for (AlgorithmKind a : preset_algorithms(f)) {
      for (PresetMode m : preset_modes(f)) {
        for (PresetValue const& v : framework_preset(f, a, default_trainer(f), m)) {
          // Of a case that differs from the usual one in more than one way the rows stand in two tables or in
          // neither.
          if (a != preset_algorithms(f).front() && m != preset_modes(f).front()) continue;
          std::string const row = fmt::format("| `{}` | {} |", v.key, v.value);
          EXPECT_NE(text.find(row), std::string::npos) << name_of(f) << ": " << v.key;
        }
      }
    }
    if (f == FrameworkKind::none) continue;
    EXPECT_NE(text.find("## Preset " + std::string(name_of(f))), std::string::npos);
  }
}

}  // namespace
}  // namespace rollcast
