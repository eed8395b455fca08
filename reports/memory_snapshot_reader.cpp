#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "reports/memory_snapshot.hpp"

namespace rollcast {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kLargest = std::int64_t{1} << 60;  // of addresses, sizes, times
constexpr std::int64_t kMostDevices = 1024;

// Stays inside this file: read_memory_snapshot turns it into a value.
struct BadSnapshot {
  std::string what;
};

constexpr std::int64_t kLargestFile = std::int64_t{512} << 20;

// One object and where it stands.
class Node {
 public:
  Node(Json const& json, std::string path) : json_(json), path_(std::move(path)) {
    if (!json_.is_object()) fail("expected an object");
  }

  bool has(char const* key) const { return json_.contains(key); }
  Json const& at(char const* key) const {
    auto const found = json_.find(key);
    if (found == json_.end()) fail(fmt::format("{} is missing", key));
    return *found;
  }
  std::int64_t whole(char const* key, std::int64_t least = 0, std::int64_t most = kLargest) const {
    Json const& j = at(key);
    if (!j.is_number_integer() || (j.is_number_unsigned() && j.get<std::uint64_t>() > INT64_MAX))
      fail(fmt::format("{} is not a whole number", key));
    auto const v = j.get<std::int64_t>();
    if (v < least || v > most) fail(fmt::format("{} is out of range", key));
    return v;
  }
  std::int64_t whole_or(char const* key, std::int64_t otherwise) const {
    return has(key) ? whole(key) : otherwise;
  }
  double number(char const* key, double least, double most) const {
    if (!at(key).is_number()) fail(fmt::format("{} is not a number", key));
    auto const v = at(key).get<double>();
    if (!(v >= least && v <= most)) fail(fmt::format("{} is out of range", key));
    return v;
  }
  std::string text(char const* key) const {
    Json const& j = at(key);
    if (!j.is_string()) fail(fmt::format("{} is not a text", key));
    return j.get<std::string>();
  }
  bool flag_or(char const* key, bool otherwise) const {
    if (!has(key)) return otherwise;
    if (!at(key).is_boolean()) fail(fmt::format("{} is not true or false", key));
    return at(key).get<bool>();
  }
  Json const& list(char const* key) const {
    if (!at(key).is_array()) fail(fmt::format("{} is not a list", key));
    return at(key);
  }
  Node item(char const* key, std::size_t i) const {
    return {at(key).at(i), fmt::format("{}{}{}[{}]", path_, path_.empty() ? "" : ".", key, i)};
  }
  [[noreturn]] void fail(std::string const& what) const {
    throw BadSnapshot{path_.empty() ? what : path_ + ": " + what};
  }

 private:
  Json const& json_;
  std::string path_;
};

class SnapshotReader {
 public:
  MemorySnapshot read(Json const& json) {
    Node const root(json, "");
    for (std::size_t i = 0; i < root.list("segments").size(); ++i)
      out_.segments.push_back(segment(root.item("segments", i)));
    if (root.has("device_traces")) traces(root);
    if (root.has("allocator_settings")) settings(Node(root.at("allocator_settings"), "allocator_settings"));
    return std::move(out_);
  }

 private:
  // A frame by its place in the table; -1: none was recorded.
  int frame(Node const& of) {
    if (!of.has("frames") || of.list("frames").empty()) return -1;
    Node const f = of.item("frames", 0);
    StackFrame const frame{f.text("name"), f.text("filename"),
                           static_cast<int>(f.whole("line", 0, INT32_MAX))};
    auto const [place, is_new] =
        places_.try_emplace({frame.function, frame.file, frame.line}, static_cast<int>(out_.frames.size()));
    if (is_new) out_.frames.push_back(frame);
    return place->second;
  }

  SnapshotBlock block(Node const& n, std::int64_t address) {
    SnapshotBlock b;
    b.address = address;
    b.size = n.whole("size");
    std::string const state = n.text("state");
    if (state == "active_allocated") {
      b.state = BlockState::active_allocated;
    } else if (state == "active_pending_free" || state == "active_awaiting_free") {
      b.state = BlockState::active_pending_free;
    } else if (state != "inactive") {
      n.fail(fmt::format("unknown state '{}'", state));
    }
    b.requested = n.whole_or("requested_size", b.state == BlockState::inactive ? 0 : b.size);
    b.frame = frame(n);
    return b;
  }

  SnapshotSegment segment(Node const& n) {
    SnapshotSegment s;
    s.device = static_cast<int>(n.whole("device", 0, kMostDevices - 1));
    s.address = n.whole("address");
    s.stream = n.whole("stream", -kLargest);
    s.large = n.text("segment_type") == "large";
    s.expandable = n.flag_or("is_expandable", false);
    if (n.has("segment_pool_id")) {
      Json const& id = n.list("segment_pool_id");
      if (id.size() != 2 || !id[0].is_number_integer() || !id[1].is_number_integer())
        n.fail("segment_pool_id is not a pair of numbers");
      s.pool = {id[0].get<std::int64_t>(), id[1].get<std::int64_t>()};
    }
    std::int64_t address = s.address;
    for (std::size_t i = 0; i < n.list("blocks").size(); ++i) {
      s.blocks.push_back(block(n.item("blocks", i), address));
      address += s.blocks.back().size;
      if (address > kLargest) n.fail("its blocks are too large");
    }
    if (n.whole("total_size") != total_size(s)) n.fail("total_size is not the sum of its blocks");
    return s;
  }

  void traces(Node const& root) {
    Json const& list = root.list("device_traces");
    if (list.size() > kMostDevices) root.fail("device_traces has too many devices");
    out_.device_traces.resize(list.size());
    for (std::size_t d = 0; d < list.size(); ++d) {
      if (!list[d].is_array()) root.fail(fmt::format("device_traces[{}] is not a list", d));
      for (std::size_t i = 0; i < list[d].size(); ++i)
        out_.device_traces[d].push_back(entry({list[d][i], fmt::format("device_traces[{}][{}]", d, i)}));
    }
  }

  AllocatorEntry entry(Node const& n) {
    AllocatorEntry e;
    std::string const action = n.text("action");
    auto const known = allocator_action(action);
    if (!known) n.fail(fmt::format("unknown action '{}'", action));
    e.action = *known;
    e.address = n.whole(e.action == AllocatorAction::oom ? "device_free" : "addr");
    e.size = n.whole("size");
    e.stream = n.whole("stream", -kLargest);
    e.time_us = n.whole_or("time_us", 0);
    e.name = frame(n);
    return e;
  }

  // The text first, for what has no key of its own.
  void settings(Node const& n) {
    AllocatorConfig& c = out_.config;
    if (n.has("PYTORCH_CUDA_ALLOC_CONF")) {
      AllocatorConfigResult const parsed = parse_allocator_config(n.text("PYTORCH_CUDA_ALLOC_CONF"));
      if (!parsed.config) n.fail("PYTORCH_CUDA_ALLOC_CONF: " + parsed.error);
      c = *parsed.config;
    }
    if (n.has("max_split_size")) {
      std::int64_t const size = n.whole("max_split_size", -1, kUnlimited);
      c.max_split_size = size < 0 ? kUnlimited : size;
    }
    if (n.has("garbage_collection_threshold"))
      c.garbage_collection_threshold = n.number("garbage_collection_threshold", 0, 1);
    c.expandable_segments = n.flag_or("expandable_segments", c.expandable_segments);
    if (n.has("roundup_power2_divisions")) {
      Node const divisions(n.at("roundup_power2_divisions"), "allocator_settings.roundup_power2_divisions");
      for (std::size_t i = 0; i < c.roundup_power2_divisions.size(); ++i) {
        std::string const interval = std::to_string(1 << i);
        std::int64_t const v = divisions.whole_or(interval.c_str(), c.roundup_power2_divisions[i]);
        if ((v & (v - 1)) != 0) divisions.fail(interval + " is not a power of two");
        c.roundup_power2_divisions[i] = v;
      }
    }
  }

  MemorySnapshot out_;
  std::map<std::tuple<std::string, std::string, int>, int> places_;
};

}  // namespace

SnapshotResult read_memory_snapshot(std::istream& in, std::string const& name) {
  // A callback that drops frames while the text is read would take time that grows with its square.
  in.seekg(0, std::ios::end);
  auto const size = static_cast<std::int64_t>(in.tellg());
  in.seekg(0);
  if (size > kLargestFile) {
    return {std::nullopt, fmt::format("{}: {} of JSON are more than {} are read of; record fewer entries "
                                      "(max_entries of _record_memory_history)",
                                      name, torch_size(size), torch_size(kLargestFile))};
  }
  Json const json = Json::parse(in, nullptr, false);
  if (json.is_discarded()) {
    return {std::nullopt,
            name +
                ": not JSON; a pickle becomes it by json.dump(pickle.load(open(\"snapshot.pickle\", "
                "\"rb\")), open(\"snapshot.json\", \"w\"))"};
  }
  try {
    return {SnapshotReader().read(json), ""};
  } catch (BadSnapshot const& bad) {
    return {std::nullopt, name + ": " + bad.what};
  }
}

}  // namespace rollcast
