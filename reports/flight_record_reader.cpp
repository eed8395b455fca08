#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "reports/flight_record_json.hpp"
#include "reports/pickle.hpp"

namespace rollcast {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kLargestJson = std::size_t{128} << 20;
constexpr int kDeepest = 64;
constexpr std::size_t kMostProblems = 20;
constexpr std::int64_t kMostRanks = 1 << 22;
constexpr std::size_t kSniffed = 4096;

std::optional<std::int64_t> number_in(std::string_view text) {
  std::int64_t v = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return v;
}

class Reader {
 public:
  explicit Reader(std::string name) : name_(std::move(name)) {}

  FlightRecordResult read(Json const& json) {
    out_.source = name_;
    read_rank();
    if (!json.is_object()) {
      problem("", "expected an object with version, pg_config, pg_status and entries");
      return finish();
    }
    out_.version = text(json, "", "version");
    if (out_.version != "2" && !out_.version.starts_with("2.") && problems_.empty())
      problem("/version", fmt::format("version '{}' is not read; 2.x is", out_.version.substr(0, 20)));
    if (!problems_.empty()) return finish();
    groups(json);
    statuses(json);
    Json const* const entries = list(json, "", "entries", false);
    for (std::size_t i = 0; entries != nullptr && i < entries->size(); ++i)
      entry((*entries)[i], fmt::format("/entries/{}", i));
    return finish();
  }

  FlightRecordResult refuse(std::string const& what) {
    problem("", what);
    return finish();
  }

 private:
  FlightRecordResult finish() {
    if (problems_.empty()) return {std::move(out_), {}};
    return {std::nullopt, std::move(problems_)};
  }

  void problem(std::string const& path, std::string const& what) {
    if (problems_.size() < kMostProblems)
      problems_.push_back(path.empty() ? fmt::format("{}: {}", name_, what)
                                       : fmt::format("{}: {}: {}", name_, path, what));
  }

  void read_rank() {
    std::string stem = name_.substr(name_.find_last_of('/') + 1);
    stem = stem.substr(0, stem.find_last_of('.'));
    std::size_t const digits = stem.find_last_not_of("0123456789") + 1;
    auto const rank = number_in(std::string_view(stem).substr(digits));
    if (!rank || *rank > kMostRanks) {
      problem("", "the name does not end in a rank; name it as PyTorch does: nccl_trace_rank_3");
      return;
    }
    out_.rank = static_cast<int>(*rank);
  }

  static Json const* find(Json const& of, char const* key) {
    auto const found = of.find(key);
    return found == of.end() ? nullptr : &*found;
  }

  Json const* list(Json const& of, std::string const& path, char const* key, bool needed) {
    Json const* const j = find(of, key);
    if (j != nullptr && j->is_array()) return j;
    if (j != nullptr || needed) problem(path + "/" + key, "is not a list");
    return nullptr;
  }

  std::string text(Json const& of, std::string const& path, char const* key, bool needed = true) {
    Json const* const j = find(of, key);
    if (j != nullptr && j->is_string()) return j->get<std::string>();
    if (j != nullptr || needed) problem(path + "/" + key, j == nullptr ? "is missing" : "is not a text");
    return "";
  }

  // A whole number, also as a text, as pg_status of the JSON form has it.
  std::int64_t whole(Json const& of, std::string const& path, char const* key,
                     std::optional<std::int64_t> otherwise = {}) {
    Json const* const j = find(of, key);
    if (j == nullptr && otherwise) return *otherwise;
    if (j != nullptr && j->is_string()) {
      if (auto const v = number_in(j->get_ref<std::string const&>())) return *v;
    }
    bool const fits = j != nullptr && j->is_number_integer() &&
                      !(j->is_number_unsigned() && j->get<std::uint64_t>() > INT64_MAX);
    if (fits) return j->get<std::int64_t>();
    problem(path + "/" + key, j == nullptr ? "is missing" : "is not a whole number");
    return 0;
  }

  bool flag(Json const& of, std::string const& path, char const* key) {
    Json const* const j = find(of, key);
    if (j == nullptr) return false;
    if (!j->is_boolean()) problem(path + "/" + key, "is not true or false");
    return j->is_boolean() && j->get<bool>();
  }

  // 0 of the JSON form and None of the pickle: not noticed.
  std::optional<std::int64_t> noticed(Json const& of, std::string const& path, char const* key) {
    Json const* const j = find(of, key);
    if (j == nullptr || j->is_null()) return std::nullopt;
    std::int64_t const v = whole(of, path, key);
    return v == 0 ? std::nullopt : std::optional(v);
  }

  std::vector<int> ranks(Json const& of, std::string const& path) {
    Json const* const j = find(of, "ranks");
    Json parsed;
    if (j != nullptr && j->is_string())
      parsed = Json::parse(j->get_ref<std::string const&>(), nullptr, false);
    Json const& numbers = j != nullptr && j->is_string() ? parsed : j != nullptr ? *j : parsed;
    std::vector<int> out;
    for (Json const& n : numbers.is_array() ? numbers : Json::array()) {
      if (!n.is_number_unsigned() || n.get<std::uint64_t>() > static_cast<std::uint64_t>(kMostRanks)) {
        out.clear();
        break;
      }
      out.push_back(n.get<int>());
    }
    if (out.empty()) problem(path + "/ranks", "is not a list of ranks, as in \"[0, 1]\"");
    return out;
  }

  void groups(Json const& json) {
    Json const* const config = find(json, "pg_config");
    if (config == nullptr) return;
    if (!config->is_object()) return problem("/pg_config", "is not an object");
    for (auto const& [name, g] : config->items()) {
      std::string const path = "/pg_config/" + name;
      if (!g.is_object()) {
        problem(path, "is not an object");
        continue;
      }
      out_.pg_config[name] = {text(g, path, "name"), text(g, path, "desc", false), ranks(g, path)};
    }
  }

  void statuses(Json const& json) {
    Json const* const all = find(json, "pg_status");
    if (all == nullptr) return;
    if (!all->is_object()) return problem("/pg_status", "is not an object");
    for (auto const& [id, s] : all->items()) {
      std::string const path = "/pg_status/" + id;
      if (!s.is_object()) {
        problem(path, "is not an object");
        continue;
      }
      out_.pg_status[id] = {whole(s, path, "last_enqueued_collective"),
                            whole(s, path, "last_started_collective", -1),
                            whole(s, path, "last_completed_collective")};
    }
  }

  FlightSizes sizes(Json const& of, std::string const& path, char const* key) {
    FlightSizes out;
    Json const* const tensors = list(of, path, key, false);
    for (std::size_t i = 0; tensors != nullptr && i < tensors->size(); ++i) {
      Json const& dims = (*tensors)[i];
      bool const good =
          dims.is_array() && std::all_of(dims.begin(), dims.end(), [](Json const& d) {
            return d.is_number_integer() && (!d.is_number_unsigned() || d.get<std::uint64_t>() <= INT64_MAX);
          });
      if (!good) {
        problem(fmt::format("{}/{}/{}", path, key, i), "is not a list of whole numbers");
        return {};
      }
      out.push_back(dims.get<std::vector<std::int64_t>>());
    }
    return out;
  }

  std::vector<std::string> texts(Json const& of, std::string const& path, char const* key) {
    Json const* const items = list(of, path, key, false);
    if (items == nullptr) return {};
    if (std::all_of(items->begin(), items->end(), [](Json const& t) { return t.is_string(); }))
      return items->get<std::vector<std::string>>();
    problem(path + "/" + key, "is not a list of texts");
    return {};
  }

  void frames(Json const& of, std::string const& path, FlightEntry& e) {
    Json const* const all = list(of, path, "frames", false);
    for (std::size_t i = 0; all != nullptr && i < all->size(); ++i) {
      std::string const place = fmt::format("{}/frames/{}", path, i);
      Json const& f = (*all)[i];
      if (!f.is_object()) return problem(place, "is not an object");
      e.frames.push_back({text(f, place, "name"), text(f, place, "filename"), whole(f, place, "line")});
    }
  }

  void entry(Json const& j, std::string const& path) {
    if (!j.is_object()) return problem(path, "is not an object");
    FlightEntry e;
    frames(j, path, e);
    e.record_id = whole(j, path, "record_id");
    e.pg_id = whole(j, path, "pg_id", 0);
    std::vector<std::string> const group = texts(j, path, "process_group");
    if (group.size() != 2) problem(path + "/process_group", "is not a pair of name and description");
    if (group.size() == 2) e.pg_name = group[0], e.pg_desc = group[1];
    e.collective_seq_id = whole(j, path, "collective_seq_id");
    e.p2p_seq_id = whole(j, path, "p2p_seq_id", 0);
    e.op_id = whole(j, path, "op_id", 0);
    e.profiling_name = text(j, path, "profiling_name");
    e.time_created_ns = whole(j, path, "time_created_ns");
    e.timeout_ms = whole(j, path, "timeout_ms", 0);
    if (Json const* const d = find(j, "duration_ms"); d != nullptr && !d->is_null()) {
      if (!d->is_number()) problem(path + "/duration_ms", "is not a number");
      if (d->is_number()) e.duration_ms = d->get<double>();
    }
    e.input_sizes = sizes(j, path, "input_sizes");
    e.input_dtypes = texts(j, path, "input_dtypes");
    e.output_sizes = sizes(j, path, "output_sizes");
    e.output_dtypes = texts(j, path, "output_dtypes");
    std::string const state = text(j, path, "state");
    if (state == "started") {
      e.state = FlightState::started;
    } else if (state == "completed") {
      e.state = FlightState::completed;
    } else if (state != "scheduled") {
      problem(path + "/state", "is not scheduled, started or completed");
    }
    e.time_discovered_started_ns = noticed(j, path, "time_discovered_started_ns");
    e.time_discovered_completed_ns = noticed(j, path, "time_discovered_completed_ns");
    e.retired = flag(j, path, "retired");
    e.is_p2p = flag(j, path, "is_p2p");
    out_.entries.push_back(std::move(e));
  }

  std::string name_;
  FlightDump out_;
  std::vector<std::string> problems_;
};

// Levels of brackets outside of texts; the parser itself has no limit.
int depth_of(std::string_view json) {
  int depth = 0;
  int most = 0;
  bool in_text = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    char const c = json[i];
    if (in_text && c == '\\') ++i;
    if (c == '"') in_text = !in_text;
    if (in_text) continue;
    if (c == '{' || c == '[') most = std::max(most, ++depth);
    if (c == '}' || c == ']') --depth;
  }
  return most;
}

bool is_pickle(std::string_view content) {
  return content.size() > 2 && content[0] == '\x80' && content[1] >= 2 && content[1] <= 5;
}

}  // namespace

bool is_flight_record(std::string_view content) {
  if (is_pickle(content)) return true;
  std::size_t const first = content.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || content[first] != '{') return false;
  std::string_view const head = content.substr(first, kSniffed);
  for (char const* key : {"\"pg_config\"", "\"entries\"", "\"pg_status\"", "\"nccl_comm_state\""}) {
    if (head.find(key) != std::string_view::npos) return true;
  }
  return false;
}

FlightRecordResult read_flight_record(std::string_view content, std::string const& name) {
  Reader reader(name);
  if (is_pickle(content)) {
    PickleResult const pickle = from_pickle(content);
    return pickle.value ? reader.read(*pickle.value) : reader.refuse(pickle.error);
  }
  if (content.size() > kLargestJson) return reader.refuse("more than 128 MiB of JSON are not read");
  if (depth_of(content) > kDeepest) return reader.refuse("is nested more than 64 deep");
  try {
    return reader.read(Json::parse(content));
  } catch (Json::exception const& e) {
    return reader.refuse(fmt::format("not JSON: {}", e.what()));
  }
}

}  // namespace rollcast
