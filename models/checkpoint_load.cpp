#include "models/checkpoint_load.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace rollcast {
namespace {

std::string shape_text(SyncTensor const& t) {
  return fmt::format("{} of {} x {}", full_name(t), t.tensor.rows, t.tensor.columns);
}

std::string trained_text(Job const& job) {
  auto const& adapter = job.algorithm.adapter;
  return adapter ? fmt::format("the adapter of rank {} on {}", adapter->rank, job.model.name)
                 : job.model.name;
}

std::vector<std::vector<int>> add_state(CheckpointLoad& load, Job const& writer, Job const& reader,
                                        SavedState state) {
  bool const weights = state == SavedState::weights;
  SavedBytes const each = saved_bytes_per_parameter(writer);
  Bytes const element = weights ? each.weights : each.optimizer;
  Layout const saved = saved_layout(writer, state);
  for (RankBlocks const& blocks : saved)
    (weights ? load.saved.weights : load.saved.optimizer) +=
        element * static_cast<double>(elements_of(blocks));
  std::vector<std::vector<int>> sources(load.ranks.size());
  if (load.gathered) return sources;
  LoadPlan const plan = load_plan(saved, held_layout(reader, state), element);
  for (std::size_t r = 0; r < plan.size(); ++r) {
    RankRead& read = load.ranks[r];
    int const node = static_cast<int>(r) / reader.cluster.node.gpus;
    for (ShardRead const& s : plan[r]) {
      (weights ? read.bytes.weights : read.bytes.optimizer) += s.bytes;
      if (s.rank / writer.cluster.node.gpus != node) read.other_node += s.bytes;
      sources[r].push_back(s.rank);
    }
  }
  return sources;
}

}  // namespace

std::string models_differ(Job const& writer, Job const& reader) {
  std::vector<SyncTensor> const saved = checkpoint_tensors(writer);
  std::vector<SyncTensor> const needed = checkpoint_tensors(reader);
  auto const same = [](SyncTensor const& a, SyncTensor const& b) {
    return full_name(a) == full_name(b) && a.tensor.rows == b.tensor.rows &&
           a.tensor.columns == b.tensor.columns;
  };
  auto const [a, b] = std::mismatch(saved.begin(), saved.end(), needed.begin(), needed.end(), same);
  if (a == saved.end() && b == needed.end()) return {};
  return fmt::format("the checkpoint is of {}, and what resumes is {}: {} there, {} here",
                     trained_text(writer), trained_text(reader),
                     a == saved.end() ? "no further tensor" : shape_text(*a),
                     b == needed.end() ? "no further tensor" : shape_text(*b));
}

CheckpointLoad checkpoint_load(Job const& writer, Job const& reader) {
  if (std::string const why = models_differ(writer, reader); !why.empty()) throw std::logic_error(why);
  CheckpointLoad load;
  load.gathered = writer.checkpoint.format == CheckpointFormat::gathered;
  load.ranks.resize(static_cast<std::size_t>(reader.cluster.gpus()));
  auto sources = add_state(load, writer, reader, SavedState::weights);
  if (writer.checkpoint.optimizer) {
    auto const more = add_state(load, writer, reader, SavedState::optimizer);
    for (std::size_t r = 0; r < more.size(); ++r)
      sources[r].insert(sources[r].end(), more[r].begin(), more[r].end());
  }
  for (std::size_t r = 0; r < sources.size(); ++r) {
    std::sort(sources[r].begin(), sources[r].end());
    auto const end = std::unique(sources[r].begin(), sources[r].end());
    load.ranks[r].shards = static_cast<int>(end - sources[r].begin());
  }
  if (load.gathered) load.ranks.front() = {load.saved, 1, Bytes(0)};
  return load;
}

SavedBytes read_bytes(CheckpointLoad const& load) {
  SavedBytes sum;
  for (RankRead const& r : load.ranks) {
    sum.weights += r.bytes.weights;
    sum.optimizer += r.bytes.optimizer;
  }
  return sum;
}

int busiest_reader(CheckpointLoad const& load) {
  auto const most = std::max_element(
      load.ranks.begin(), load.ranks.end(),
      [](RankRead const& a, RankRead const& b) { return a.bytes.total() < b.bytes.total(); });
  return static_cast<int>(most - load.ranks.begin());
}

ReadBytes load_size(CheckpointLoad const& load) {
  auto const most = static_cast<std::size_t>(busiest_reader(load));
  return {load.ranks[most].bytes.total(), read_bytes(load).total(), load.gathered};
}

}  // namespace rollcast
