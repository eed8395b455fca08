// What one scenario's trainer reads of a checkpoint that another's wrote, as text and JSON.
#pragma once

#include <string>
#include <vector>

#include "models/checkpoint_load.hpp"
#include "models/train_shards.hpp"
#include "scenarios/scenario.hpp"

namespace rollcast {

struct ResumeForecast {
  std::string writer;  // scenarios
  std::string reader;
  TrainLayout written;
  TrainLayout read;
  bool experts = false;
  bool local = false;        // storage of a node, of the writer
  BytesPerSecond bandwidth;  // of the reader's node
  CheckpointLoad load;
  Seconds time;  // load_time
};

// std::logic_error where models_differ.
ResumeForecast forecast_resume(Scenario const& writer, Scenario const& reader);

std::string resume_text(ResumeForecast const& f);

// Keys as reports/json_schema lists them; bytes are whole numbers.
std::string resume_json(ResumeForecast const& f);

// Ranks that read the same from as many shards, in the order of their first rank.
struct ReadGroup {
  std::vector<int> ranks;
  RankRead each;
};
std::vector<ReadGroup> equal_readers(CheckpointLoad const& load);

}  // namespace rollcast
