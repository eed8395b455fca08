#include "reports/incident_log.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <utility>

namespace rollcast {
namespace {

using View = std::string_view;

constexpr std::size_t kShown = 300;
constexpr std::size_t kLongestLine = 1 << 16;
constexpr int kMostRanks = 1 << 22;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool has(View line, View part) { return line.find(part) != View::npos; }

View trimmed(View s) {
  std::size_t const first = s.find_first_not_of(" \t\r");
  return first == View::npos ? View() : s.substr(first, s.find_last_not_of(" \t\r") + 1 - first);
}

// The number at the beginning of text, after blanks.
std::optional<std::int64_t> leading(View text) {
  text = text.substr(std::min(text.find_first_not_of(' '), text.size()));
  std::int64_t v = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), v).ec != std::errc()) return std::nullopt;
  return v;
}

// The number after the first of these marks that is followed by one.
std::optional<std::int64_t> after(View line, std::initializer_list<View> marks) {
  for (View const mark : marks) {
    for (std::size_t at = line.find(mark); at != View::npos; at = line.find(mark, at + 1)) {
      if (auto const v = leading(line.substr(at + mark.size()))) return v;
    }
  }
  return std::nullopt;
}

int rank_of(std::optional<std::int64_t> v) {
  return v && *v >= 0 && *v <= kMostRanks ? static_cast<int>(*v) : -1;
}

// What a '0' of the pattern stands for is a digit.
bool matches(View text, View pattern) {
  if (text.size() < pattern.size()) return false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '0' ? !is_digit(text[i]) : pattern[i] != text[i]) return false;
  }
  return true;
}

int digits(View text, std::size_t from, std::size_t n) {
  return static_cast<int>(leading(text.substr(from, n)).value_or(0));
}

std::optional<Seconds> moment(int month, int day, View clock) {
  constexpr std::array<int, 12> before = {0, 31, 60, 91, 121, 152, 182, 213, 244, 274, 305, 335};
  if (month < 1 || month > 12 || day < 1 || day > 31) return std::nullopt;
  double seconds_of = 86400.0 * (before[static_cast<std::size_t>(month - 1)] + day - 1) +
                      3600.0 * digits(clock, 0, 2) + 60.0 * digits(clock, 3, 2) + digits(clock, 6, 2);
  double place = 0.1;
  for (std::size_t i = 9; i < clock.size() && (clock[8] == '.' || clock[8] == ',') && is_digit(clock[i]);
       ++i) {
    seconds_of += place * (clock[i] - '0');
    place /= 10;
  }
  return seconds(seconds_of);
}

// "E1112 10:42:28.123" and "E419 10:42:28.1" of glog, "2025-05-02_10:42:28", "2025-05-02 10:42:28,123".
std::optional<Seconds> time_in(View line) {
  View const head = line.substr(0, 400);
  for (std::size_t i = 0; i < head.size(); ++i) {
    View const here = head.substr(i);
    bool const level = here[0] == 'E' || here[0] == 'W' || here[0] == 'I' || here[0] == 'F';
    if (level && (i == 0 || !is_letter(head[i - 1]))) {
      if (matches(here.substr(1), "0000 00:00:00"))
        return moment(digits(here, 1, 2), digits(here, 3, 2), here.substr(6));
      if (matches(here.substr(1), "000 00:00:00"))
        return moment(digits(here, 1, 1), digits(here, 2, 2), here.substr(5));
    }
    if (matches(here, "0000-00-00") && here.size() > 10 &&
        (here[10] == ' ' || here[10] == '_' || here[10] == 'T') && matches(here.substr(11), "00:00:00"))
      return moment(digits(here, 5, 2), digits(here, 8, 2), here.substr(11));
  }
  return std::nullopt;
}

// The class of the exception that a line of a traceback ends with; empty: none.
View exception_name(View line) {
  std::size_t end = 0;
  while (end < line.size() && (is_letter(line[end]) || is_digit(line[end]) || line[end] == '.')) ++end;
  if (end == 0 || (end < line.size() && line[end] != ':' && line[end] != '(')) return {};
  View const name = line.substr(0, end);
  View const last = name.substr(name.find_last_of('.') + 1);
  for (View const tail : {"Error", "Exception", "Timeout", "Exit", "Interrupt"}) {
    if (last.ends_with(tail) && last.size() > 3 && last[0] >= 'A' && last[0] <= 'Z') return last;
  }
  return {};
}

bool one_of(View name, std::initializer_list<View> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

class Reader {
 public:
  explicit Reader(std::string const& name) : name_(name) {}

  std::vector<IncidentFact> read(View content) {
    for (std::size_t at = 0; at < content.size();) {
      std::size_t const end = std::min(content.find('\n', at), content.size());
      ++number_;
      line(content.substr(at, std::min(end - at, kLongestLine)));
      at = end + 1;
    }
    name_ranks();
    return std::move(facts_);
  }

 private:
  void line(View whole) {
    IncidentFact f;
    View const text = without_prefixes(trimmed(whole), f);
    if (auto const t = time_in(whole)) last_time_ = *(f.time = t);
    if (has(text, "PG ") || has(text, "[Rank ")) group_prefix(text, f);
    if (torchrun_block(text, f)) return;
    if (auto const kind = kind_of(text, f)) add(*kind, text, std::move(f));
  }

  void add(FactKind kind, View text, IncidentFact f) {
    f.kind = kind;
    f.after = last_time_;
    f.file = name_;
    f.line = number_;
    f.folded = has(text, "across cluster]");
    f.text = std::string(text.substr(0, kShown));
    if (text.size() > kShown) f.text += "...";
    bool const raised = kind == FactKind::out_of_memory || kind == FactKind::exception;
    if (raised && f.process.empty() && f.rank < 0) f.process = std::exchange(raised_in_, "");
    facts_.push_back(std::move(f));
  }

  // "(WorkerDict pid=4954, ip=10.7.35.246) [rank1]:[E ..." and torchrun's "[default3]:".
  View without_prefixes(View text, IncidentFact& f) {
    if (std::size_t const close = text.find(')'); text.starts_with('(') && close != View::npos) {
      std::size_t const pid = text.find("pid=");
      if (pid != View::npos && pid < close) {
        f.process = std::string(text.substr(pid, close - pid));
        text = trimmed(text.substr(close + 1));
      }
    }
    for (auto const& [mark, source] :
         {std::pair(View("[rank"), RankSource::world), std::pair(View("[default"), RankSource::node)}) {
      std::size_t const at = text.substr(0, 400).find(mark);
      if (at == View::npos || f.rank >= 0) continue;
      f.rank = rank_of(leading(text.substr(at + mark.size())));
      if (f.rank >= 0) f.rank_source = source;
      std::size_t const close = text.find("]:", at);
      if (at == 0 && f.rank >= 0 && close != View::npos) text = trimmed(text.substr(close + 2));
    }
    // What glog puts before a message: level, time, thread, source line.
    bool const logged = text.size() > 2 && text[0] == '[' && is_digit(text[2]) && time_in(text.substr(0, 30));
    std::size_t const end = text.find("] ");
    return logged && end != View::npos ? trimmed(text.substr(end + 2)) : text;
  }

  // "[PG ID 2 PG GUID 9(tp) Rank 3]", "[PG 0 (default_pg) Rank 0]", "[Rank 3]".
  static void group_prefix(View text, IncidentFact& f) {
    std::size_t const pg = text.find("[PG ");
    std::size_t const rank = text.find("Rank ", pg == View::npos ? 0 : pg);
    if (rank == View::npos) return;
    if (int const number = rank_of(leading(text.substr(rank + 5)));
        f.rank_source != RankSource::world && number >= 0) {
      f.rank = number;
      f.rank_source = RankSource::group;
    }
    if (pg == View::npos) return;
    View id = text.substr(pg + 4, rank - pg - 4);
    if (std::size_t const guid = id.find("PG GUID "); guid != View::npos) id = id.substr(guid + 8);
    id = trimmed(id);
    std::size_t const open = id.find('(');
    f.group = std::string(trimmed(id.substr(0, open)));
    if (open != View::npos && id.ends_with(')'))
      f.group_desc = std::string(id.substr(open + 1, id.size() - open - 2));
  }

  std::optional<FactKind> kind_of(View text, IncidentFact& f) {
    if (has(text, "collective operation timeout: WorkNCCL(")) return timeout(text, f);
    if (has(text, "Received a dump signal") || has(text, "Received a timeout signal") ||
        has(text, "Received a global timeout")) {
      f.from_rank = rank_of(after(text, {"timeout from  rank ", "timeout from rank ", "from another rank "}));
      progress(text, f);
      return FactKind::dump_signal;
    }
    if (has(text, "watchdog got stuck for") || has(text, "Heartbeat monitor timed out"))
      return FactKind::heartbeat_stuck;
    if (auto const at = after(
            text, {"at work sequence id: ", "detected by watchdog at work: ", "Timeout at NCCL work: "})) {
      f.seq = *at;
      progress(text, f);
      return FactKind::watchdog_status;
    }
    if (out_of_memory(text)) return FactKind::out_of_memory;
    if (has(text, "NCCL WARN")) return FactKind::nccl_warning;
    if (has(text, "CUDA error: ") || has(text, "NVRM: Xid")) return FactKind::exception;
    if (has(text, "terminate called")) return FactKind::process_abort;
    for (View const mark : {"watchdog thread terminated", "Terminating the process after", "NCCL error",
                            "NCCL Error", "NCCL communicator was aborted", "ncclRemoteError",
                            "ncclSystemError", "ncclInternalError", "ncclUnhandledCudaError"}) {
      if (has(text, mark)) return FactKind::nccl_error;
    }
    if (has(text, "death signal, shutting down workers") || has(text, "closing signal SIGTERM"))
      return FactKind::launcher_stop;
    if (auto const code = after(text, {"failed (exitcode: "})) {
      f.exit_code = *code;
      f.rank = rank_of(after(text, {"local_rank: "}));
      f.rank_source = f.rank >= 0 ? RankSource::node : RankSource::none;
      return FactKind::process_exit;
    }
    return raised(text);
  }

  FactKind timeout(View text, IncidentFact& f) {
    f.seq = after(text, {"SeqNum="}).value_or(-1);
    if (std::size_t const op = text.find("OpType="); op != View::npos) {
      View const from = text.substr(op + 7);
      f.op = std::string(from.substr(0, from.find_first_of(",)")));
    }
    f.numel_in = after(text, {"NumelIn="}).value_or(-1);
    f.numel_out = after(text, {"NumelOut="}).value_or(-1);
    f.timeout_ms = after(text, {"Timeout(ms)="}).value_or(-1);
    f.ran_ms = after(text, {"ran for "}).value_or(-1);
    return FactKind::watchdog_timeout;
  }

  static void progress(View text, IncidentFact& f) {
    f.last_enqueued = after(text, {"ast enqueued NCCL work: ", "ast enqueued work: "}).value_or(-2);
    f.last_completed = after(text, {"ast completed NCCL work: ", "ast completed work: "}).value_or(-2);
  }

  static bool out_of_memory(View text) {
    for (View const mark : {"CUDA out of memory", "HIP out of memory", "CUDA error: out of memory",
                            "Cuda failure 'out of memory'", "Out of memory: Killed process",
                            "torch.OutOfMemoryError:", "torch.cuda.OutOfMemoryError:"}) {
      if (has(text, mark)) return true;
    }
    std::size_t const killed = text.find(" Workers (tasks / actors) killed due to memory pressure");
    return killed != View::npos && killed > 0 &&
           !(text[killed - 1] == '0' && (killed < 2 || !is_digit(text[killed - 2])));
  }

  // The last line of a traceback.
  std::optional<FactKind> raised(View text) {
    if (text.starts_with("ERROR") && has(text, "] ")) text = trimmed(text.substr(text.rfind("] ") + 2));
    if (has(text, "Read timed out") || has(text, "RPC call timed out") ||
        (has(text, "waitForInput") && has(text, "timed out after")))
      return FactKind::request_timeout;
    View const name = exception_name(text);
    if (name.empty()) return std::nullopt;
    if (name == "RayTaskError") {
      std::size_t const pid = text.find("(pid=");
      std::size_t const ip = pid == View::npos ? pid : text.find(", ip=", pid);
      if (ip != View::npos)
        raised_in_ = std::string(text.substr(pid + 1, text.find_first_of(",)", ip + 5) - pid - 1));
      return std::nullopt;
    }
    if (one_of(name, {"ReadTimeout", "TimeoutError", "GetTimeoutError", "ConnectTimeout", "TimeoutException",
                      "PoolTimeout"}))
      return FactKind::request_timeout;
    if (one_of(name, {"DistBackendError", "DistNetworkError", "DistStoreError"})) return FactKind::nccl_error;
    if (one_of(name,
               {"ChildFailedError", "RayActorError", "ActorDiedError", "ActorUnavailableError",
                "KeyboardInterrupt", "SystemExit", "SignalException", "CalledProcessError",
                "ProcessExitedException", "ProcessRaisedException", "ConnectionError", "ConnectionResetError",
                "ConnectionRefusedError", "ConnectionAbortedError", "BrokenPipeError", "EOFError"}))
      return std::nullopt;
    return FactKind::exception;
  }

  // torchrun's list of failures: a title, then time, host, rank and exitcode of each, a line apiece.
  bool torchrun_block(View text, IncidentFact const& f) {
    if (text.starts_with("Root Cause (first observed failure)") || text == "Failures:") {
      block_ = IncidentFact();
      in_block_ = true;
      root_ = text.starts_with("Root");
      return true;
    }
    if (!in_block_) return false;
    if (text.starts_with("====")) in_block_ = false;
    if (text.starts_with("time ") && f.time) block_.time = f.time;
    if (text.starts_with("rank ")) {
      block_.rank = rank_of(after(text, {": "}));
      block_.rank_source = block_.rank >= 0 ? RankSource::world : RankSource::none;
    }
    auto const code = text.starts_with("exitcode ") ? after(text, {": "}) : std::nullopt;
    if (code && block_.rank >= 0) {
      block_.exit_code = code;
      block_.first_observed = root_;
      if (auto const pid = after(text, {"pid: "})) block_.process = "pid=" + std::to_string(*pid);
      add(FactKind::process_exit, text, std::exchange(block_, IncidentFact()));
    }
    return true;
  }

  // Of "pid=1, ip=A" and "pid=1" the second may be the first, seen from its own node.
  static bool same_process(View a, View b) {
    View const pid_a = a.substr(0, a.find(','));
    return pid_a == b.substr(0, b.find(',')) && (a == b || !has(a, "ip=") || !has(b, "ip="));
  }

  void name_ranks() {
    std::map<std::string, int> known;
    for (IncidentFact const& f : facts_) {
      if (!f.process.empty() && f.rank_source == RankSource::world) known.try_emplace(f.process, f.rank);
    }
    for (IncidentFact& f : facts_) {
      if (f.process.empty() || f.rank_source == RankSource::world) continue;
      for (auto const& [process, rank] : known) {
        if (!same_process(process, f.process)) continue;
        f.rank = rank;
        f.rank_source = RankSource::world;
        break;
      }
    }
  }

  std::string const& name_;
  std::vector<IncidentFact> facts_;
  int number_ = 0;
  Seconds last_time_;
  std::string raised_in_;  // the process that the last RayTaskError names
  IncidentFact block_;
  bool in_block_ = false;
  bool root_ = false;
};

}  // namespace

std::vector<IncidentFact> read_incident_log(std::string_view content, std::string const& name) {
  return Reader(name).read(content);
}

}  // namespace rollcast
