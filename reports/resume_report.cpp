#include "reports/resume_report.hpp"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>

#include "calibrate/profiles.hpp"
#include "models/pools.hpp"
#include "models/rank_text.hpp"
#include "reports/json.hpp"
#include "reports/text_layout.hpp"
#include "reports/weights_report.hpp"

namespace rollcast {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kSchema = 1;
constexpr int kWidth = 110;
constexpr std::size_t kMostGroups = 12;

std::int64_t whole(Bytes b) { return static_cast<std::int64_t>(b.value + 0.5); }

std::string trainer_text(TrainLayout const& l, bool experts) {
  return fmt::format("{} rank{}: {}, {}", l.ranks, l.ranks == 1 ? "" : "s", layout_text(l.parallel, experts),
                     sharding_text(l.sharding));
}

std::string row(std::string const& what, SavedBytes const& b, std::optional<int> shards) {
  auto const cell = [](Bytes n) { return n.value > 0 ? format(n) : "-"; };
  return fmt::format("  {:<30}{:>12}{:>12}{:>12}{}\n", what, cell(b.weights), cell(b.optimizer),
                     cell(b.total()), shards ? fmt::format("{:>8}", *shards) : "");
}

Json bytes_json(SavedBytes const& b) {
  return {{"weights", whole(b.weights)}, {"optimizer", whole(b.optimizer)}, {"total", whole(b.total())}};
}

}  // namespace

ResumeForecast forecast_resume(Scenario const& writer, Scenario const& reader) {
  Job const from = for_role(writer.job, Role::actor);
  Job const to = for_role(reader.job, Role::actor);
  ResumeForecast f;
  f.writer = writer.name;
  f.reader = reader.name;
  f.written = train_layout(from);
  f.read = train_layout(to);
  f.experts = to.model.moe.has_value();
  f.local = from.checkpoint.storage == CheckpointStorage::local;
  f.bandwidth = to.checkpoint.bandwidth;
  f.load = checkpoint_load(from, to);
  Profile const profile =
      profiles_for(reader.job)[static_cast<std::size_t>(pool_of(reader.job, Role::actor))];
  CollectivePrices prices(profile, to.cluster);
  f.time = load_time(profile, prices, to, load_size(f.load));
  return f;
}

std::vector<ReadGroup> equal_readers(CheckpointLoad const& load) {
  std::vector<ReadGroup> groups;
  std::map<std::tuple<std::int64_t, std::int64_t, int>, std::size_t> known;
  for (std::size_t r = 0; r < load.ranks.size(); ++r) {
    RankRead const& read = load.ranks[r];
    auto const [at, is_new] = known.try_emplace(
        {whole(read.bytes.weights), whole(read.bytes.optimizer), read.shards}, groups.size());
    if (is_new) groups.push_back({{}, read});
    groups[at->second].ranks.push_back(static_cast<int>(r));
  }
  return groups;
}

std::string resume_text(ResumeForecast const& f) {
  CheckpointLoad const& load = f.load;
  SavedBytes const all = read_bytes(load);
  int const most = busiest_reader(load);
  Bytes other;
  for (RankRead const& r : load.ranks) other += r.other_node;
  std::string sentence = fmt::format(
      "{} goes on from a checkpoint of {}: it reads {} of the {} saved ({:.2f} times), rank {} most with {}; "
      "{} "
      "from storage at {} a node and to the GPUs.",
      f.reader, f.writer, format(all.total()), format(load.saved.total()), all.total() / load.saved.total(),
      most, format(load.ranks[static_cast<std::size_t>(most)].bytes.total()), format(f.time),
      format(f.bandwidth));
  if (load.gathered) sentence += " It is one file: rank 0 reads it and sends it to the others.";
  if (f.local && other.value > 0)
    sentence +=
        fmt::format(" {} of it lie on disks of other nodes and must be copied before.", format(other));
  std::string out = paragraph(sentence, kWidth);
  out += fmt::format("Written by {}.\n", trainer_text(f.written, f.experts));
  out += fmt::format("Read by {}.\n", trainer_text(f.read, f.experts));
  out += fmt::format("\n{:<32}{:>12}{:>12}{:>12}{:>8}\n", "Each reads", "weights", "optimizer", "total",
                     "shards");
  std::vector<ReadGroup> const groups = equal_readers(load);
  for (std::size_t i = 0; i < std::min(groups.size(), kMostGroups); ++i)
    out += row(named_ranks(groups[i].ranks), groups[i].each.bytes, groups[i].each.shards);
  if (groups.size() > kMostGroups)
    out += fmt::format("  and {} more sorts of ranks\n", groups.size() - kMostGroups);
  return out + row("all", all, std::nullopt) + row("saved", load.saved, std::nullopt);
}

std::string resume_json(ResumeForecast const& f) {
  CheckpointLoad const& load = f.load;
  Json readers = Json::array();
  Bytes other;
  for (RankRead const& r : load.ranks) other += r.other_node;
  for (ReadGroup const& g : equal_readers(load))
    readers.push_back({{"ranks", g.ranks}, {"bytes", bytes_json(g.each.bytes)}, {"shards", g.each.shards}});
  int const most = busiest_reader(load);
  Json const out = {
      {"schema", kSchema},
      {"writer", f.writer},
      {"reader", f.reader},
      {"written_by_ranks", f.written.ranks},
      {"read_by_ranks", f.read.ranks},
      {"gathered", load.gathered},
      {"saved", bytes_json(load.saved)},
      {"read", bytes_json(read_bytes(load))},
      {"other_node_bytes", whole(other)},
      {"largest_reader",
       {{"rank", most}, {"bytes", whole(load.ranks[static_cast<std::size_t>(most)].bytes.total())}}},
      {"readers", std::move(readers)},
      {"seconds", nine_digits(f.time.value)}};
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace rollcast
