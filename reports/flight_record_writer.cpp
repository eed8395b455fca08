#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "reports/flight_record_json.hpp"
#include "reports/json.hpp"
#include "reports/pickle.hpp"

namespace rollcast {
namespace {

enum class Form { json, pickle };

char const* state_name(FlightState s) {
  switch (s) {
    case FlightState::scheduled:
      return "scheduled";
    case FlightState::started:
      return "started";
    case FlightState::completed:
      break;
  }
  return "completed";
}

nlohmann::json noticed(std::optional<std::int64_t> time, Form form) {
  if (time) return *time;
  return form == Form::json ? nlohmann::json(0) : nlohmann::json();
}

nlohmann::json entry_json(FlightEntry const& e, Form form) {
  nlohmann::json out = {{"record_id", e.record_id},
                        {"pg_id", e.pg_id},
                        {"process_group", {e.pg_name, e.pg_desc}},
                        {"collective_seq_id", e.collective_seq_id},
                        {"p2p_seq_id", e.p2p_seq_id},
                        {"op_id", e.op_id},
                        {"profiling_name", e.profiling_name},
                        {"time_created_ns", e.time_created_ns},
                        {"timeout_ms", e.timeout_ms},
                        {"input_sizes", e.input_sizes},
                        {"input_dtypes", e.input_dtypes},
                        {"output_sizes", e.output_sizes},
                        {"output_dtypes", e.output_dtypes},
                        {"state", state_name(e.state)},
                        {"time_discovered_started_ns", noticed(e.time_discovered_started_ns, form)},
                        {"time_discovered_completed_ns", noticed(e.time_discovered_completed_ns, form)},
                        {"retired", e.retired},
                        {"is_p2p", e.is_p2p}};
  if (e.duration_ms) out["duration_ms"] = nine_digits(*e.duration_ms);
  if (form == Form::pickle || !e.frames.empty()) {
    nlohmann::json& frames = out["frames"] = nlohmann::json::array();
    for (FlightFrame const& f : e.frames)
      frames.push_back({{"name", f.name}, {"filename", f.filename}, {"line", f.line}});
  }
  return out;
}

nlohmann::json number(std::int64_t v, Form form) {
  return form == Form::json ? nlohmann::json(std::to_string(v)) : nlohmann::json(v);
}

nlohmann::json dump_json(FlightDump const& d, Form form) {
  nlohmann::json out = {{"version", d.version},
                        {"pg_config", nlohmann::json::object()},
                        {"pg_status", nlohmann::json::object()}};
  for (auto const& [name, g] : d.pg_config) {
    out["pg_config"][name] = {
        {"name", g.name}, {"desc", g.desc}, {"ranks", fmt::format("[{}]", fmt::join(g.ranks, ", "))}};
  }
  for (auto const& [id, s] : d.pg_status) {
    out["pg_status"][id] = {{"last_enqueued_collective", number(s.last_enqueued_collective, form)},
                            {"last_started_collective", number(s.last_started_collective, form)},
                            {"last_completed_collective", number(s.last_completed_collective, form)}};
  }
  if (form == Form::pickle || !d.entries.empty()) out["entries"] = nlohmann::json::array();
  for (FlightEntry const& e : d.entries) out["entries"].push_back(entry_json(e, form));
  return out;
}

}  // namespace

std::string flight_record_json(FlightDump const& dump) {
  return dump_json(dump, Form::json).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string flight_record_pickle(FlightDump const& dump) {
  return to_pickle(nlohmann::ordered_json(dump_json(dump, Form::pickle)));
}

std::string flight_record_name(int rank) { return fmt::format("nccl_trace_rank_{}", rank); }

}  // namespace rollcast
