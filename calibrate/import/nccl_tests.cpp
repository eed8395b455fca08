#include "calibrate/import/nccl_tests.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "calibrate/import/collective_names.hpp"
#include "calibrate/import/dtypes.hpp"
#include "calibrate/import/gpu_names.hpp"
#include "calibrate/import/nccl_log_rows.hpp"
#include "calibrate/import/table.hpp"
#include "models/catalog/catalog.hpp"

namespace rollcast {
namespace {

constexpr int kGpusOfNode = 8;
constexpr int kMostRanks = 4096;
constexpr double kHeard = 1;  // GB/s: below it two decimals tell too little of a ratio

struct NumberedRow {
  int line = 0;
  NcclRow row;
};

// One table of the log.
struct Run {
  std::string name;  // as the log has it: "all_reduce"; "" where it does not tell
  std::vector<NumberedRow> rows;
};

// What stands around the tables and holds until the next start of a program.
struct Surroundings {
  std::string version;
  std::string device;
  std::set<int> ranks;
  std::set<std::string> hosts;
  int gpus_of_process = 0;
};

// busbw / algbw; 0: the collective has no ratio that depends on the ranks.
double ratio_of(std::string const& operation, double n) {
  if (operation == "all_reduce") return 2 * (n - 1) / n;
  if (operation == "all_gather" || operation == "reduce_scatter" || operation == "all_to_all")
    return (n - 1) / n;
  return 0;
}

// The timing that tells the ratio best.
NcclTiming const* loudest(Run const& run) {
  NcclTiming const* best = nullptr;
  for (NumberedRow const& r : run.rows) {
    if (best == nullptr || r.row.out_of_place.busbw > best->busbw) best = &r.row.out_of_place;
  }
  return best != nullptr && best->algbw >= kHeard ? best : nullptr;
}

// How far busbw / algbw may be off, printed with two decimals each.
double blur(NcclTiming const& t) { return t.busbw / t.algbw * (0.006 / t.algbw + 0.006 / t.busbw); }

// "" where more than one fits; "reduce" has no price, but a name.
std::string guess_collective(Run const& run) {
  NcclTiming const* t = loudest(run);
  if (t == nullptr || run.rows.empty()) return {};
  NcclRow const& row = run.rows.front().row;
  double const ratio = t->busbw / t->algbw;
  bool const reduces = !row.redop.empty() && row.redop != "none";
  bool const rooted = row.root.value_or(-1) >= 0;
  if (reduces && ratio > 1.1) return "all_reduce";
  if (reduces && ratio < 0.95) return "reduce_scatter";
  if (reduces) return rooted ? "reduce" : (row.root ? "all_reduce" : "");
  if (ratio < 0.95 || !row.root) return {};
  return rooted ? "broadcast" : "sendrecv";
}

// 0 where the ratio does not tell.
int guess_ranks(Run const& run, std::string const& operation) {
  NcclTiming const* t = loudest(run);
  if (t == nullptr || ratio_of(operation, 2) <= 0) return 0;
  std::vector<int> fit, whole_nodes;
  for (int n = 2; n <= kMostRanks; ++n) {
    if (std::fabs(ratio_of(operation, n) - t->busbw / t->algbw) > blur(*t)) continue;
    fit.push_back(n);
    if (n % kGpusOfNode == 0) whole_nodes.push_back(n);
  }
  if (fit.size() == 1) return fit.front();
  return whole_nodes.size() == 1 ? whole_nodes.front() : 0;
}

// "NVIDIA H100 80GB HBM3" of "3 [0x1b] NVIDIA H100 80GB HBM3".
std::string card_of(std::string const& device) {
  auto const bus = device.find("] ");
  return bus == std::string::npos ? device : device.substr(bus + 2);
}

// Of the largest node of the catalog; 0: it has none with this GPU.
int gpus_of_node(std::string const& gpu) {
  int most = 0;
  for (Node const& n : builtin_catalog().nodes) {
    if (n.gpu.name == gpu) most = std::max(most, n.gpus);
  }
  return most;
}

class LogReader {
 public:
  LogReader(SourceText const& source, Imported& out) : source_(source), out_(out) {}

  void read() {
    LineReader lines(source_.text);
    while (lines.next()) read_line(lines.line(), lines.number());
    finish_run();
  }

 private:
  void read_line(std::string_view line, int number) {
    std::vector<std::string> const words = log_words(line);
    NcclRowResult const result = nccl_row(words);
    if (result.found) {
      if (result.row) {
        run_.rows.push_back({number, *result.row});
      } else {
        note(out_, source_, number, "", result.error,
             result.wrong ? "it is left out; find the cause before you trust the others"
                          : "paste the line as nccl-tests printed it",
             line);
      }
      return;
    }
    auto const has = [&](std::string_view w) {
      return std::find(words.begin(), words.end(), w) != words.end();
    };
    if (has("nThread")) {
      finish_run();
      around_ = Surroundings{std::move(around_.version), {}, {}, {}, 0};
      around_.gpus_of_process = whole_after(words, "nThread") * whole_after(words, "nGpus");
    }
    if (has("algbw") && !run_.rows.empty()) finish_run();
    if (line.find("Avg bus bandwidth") != std::string_view::npos) finish_run();
    if (std::string const v = nccl_version(words); !v.empty()) around_.version = v;
    if (auto const rank = nccl_rank(words)) {
      around_.ranks.insert(rank->rank);
      around_.hosts.insert(rank->host);
      around_.device = rank->device;
    }
    if (!has("concluded:")) {
      if (std::string const name = nccl_test_name(words); !name.empty()) {
        if (!run_.rows.empty()) finish_run();
        run_.name = name;
      }
    }
  }

  static int whole_after(std::vector<std::string> const& words, std::string_view word) {
    auto const it = std::find(words.begin(), words.end(), word);
    if (it == words.end() || it + 1 == words.end()) return 0;
    int value = 0;
    for (char const c : *(it + 1)) {
      if (c < '0' || c > '9' || value > kMostRanks) return 0;
      value = value * 10 + (c - '0');
    }
    return value;
  }

  // Tells what the log leaves open at the first row of the table.
  void open_question(std::string what, std::string remedy) {
    note(out_, source_, run_.rows.front().line, "", std::move(what), std::move(remedy));
  }

  void finish_run() {
    // The name stands before "# nThread", so a run without rows keeps it.
    if (run_.rows.empty()) return;
    add_samples();
    run_ = {};
  }

  void add_samples() {
    std::string name = run_.name;
    if (name.empty()) name = source_.hints.collective;
    if (name.empty()) name = guess_collective(run_);
    if (name.empty()) {
      open_question("no telling which collective this table is", "name it with --collective");
      return;
    }
    std::string const operation = collective_operation(name);
    if (operation.empty()) {
      for (std::size_t i = 0; i < run_.rows.size(); ++i)
        skip(out_, source_, "no price for the collective " + name);
      return;
    }
    std::string gpu = gpu_named_in(around_.device);
    if (gpu.empty()) gpu = source_.hints.gpu;
    if (gpu.empty()) gpu = gpu_of_path(source_.path);
    if (gpu.empty()) {
      open_question(around_.device.empty()
                        ? "no telling which GPU this is"
                        : fmt::format("'{}' is no GPU of the catalog", shown(card_of(around_.device))),
                    "name it with --gpu");
      return;
    }
    int ranks = static_cast<int>(around_.ranks.size());
    if (ranks == 0) ranks = guess_ranks(run_, operation);
    if (ranks == 0 && ratio_of(operation, 2) <= 0) ranks = around_.gpus_of_process;
    if (ranks < 2) {
      open_question("no telling how many ranks took part",
                    "keep the lines '#  Rank ...' that nccl-tests prints first");
      return;
    }
    int nodes = static_cast<int>(around_.hosts.size());
    if (nodes == 0) nodes = source_.hints.nodes;
    if (nodes == 0) nodes = (ranks + kGpusOfNode - 1) / kGpusOfNode;
    if (int const most = gpus_of_node(gpu); nodes == 1 && most > 0 && ranks > most) {
      open_question(
          fmt::format("{} ranks on one host, but a node has {} {}", ranks, most, gpu),
          "give each node a host name of its own in the list of ranks, or remove that list and name "
          "the nodes with --nodes");
      return;
    }
    for (NumberedRow const& r : run_.rows) add_row(r, operation, gpu, ranks, nodes);
  }

  void add_row(NumberedRow const& r, std::string const& operation, std::string const& gpu, int ranks,
               int nodes) {
    if (r.row.size <= 0) {
      skip(out_, source_, "a message of 0 bytes");
      return;
    }
    NcclTiming const& t = r.row.out_of_place;
    double const ratio = ratio_of(operation, ranks);
    if (ratio > 0 && t.algbw >= kHeard && std::fabs(t.busbw / t.algbw - ratio) > blur(t) + 0.005 * ratio) {
      note(out_, source_, r.line, "busbw",
           fmt::format("{} over {} GB/s does not fit {} of {} ranks", t.busbw, t.algbw, operation, ranks),
           "check the collective and the list of ranks");
      return;
    }
    Sample s;
    s.gpu = gpu;
    s.operation = operation;
    s.variant = "nccl";
    s.dtype = dtype_named(r.row.dtype);
    s.shape = {r.row.size, static_cast<double>(ranks), static_cast<double>(nodes)};
    s.seconds = us(t.time_us);
    s.source = source_.name;
    s.version = around_.version.empty() ? "nccl" : "nccl " + around_.version;
    if (nodes > 1) s.fabric = source_.hints.fabric;
    out_.samples.push_back(s);
    if (r.row.in_place) {
      s.variant = "nccl in place";
      s.seconds = us(r.row.in_place->time_us);
      out_.samples.push_back(std::move(s));
    }
  }

  SourceText const& source_;
  Imported& out_;
  Run run_;
  Surroundings around_;
};

std::string fabric_of_nic(std::string const& nic) {
  auto const has = [&](std::string_view part) { return nic.find(part) != std::string::npos; };
  if (has("TCPXO")) return "tcpxo";
  if (has("RoCE")) return has("400") ? "roce-400g" : "roce-200g";
  if (has("NDR") || has("400")) return "ib-400g";
  return has("HDR") || has("200") ? "ib-200g" : "";
}

}  // namespace

bool is_nccl_tests_log(SourceText const& source) {
  constexpr int kLinesTried = 20000;  // NCCL_DEBUG=INFO prints thousands before the first row
  LineReader lines(source.text);
  while (lines.next() && lines.number() <= kLinesTried) {
    if (nccl_row(log_words(lines.line())).found) return true;
  }
  return false;
}

void read_nccl_tests_log(SourceText const& source, Imported& out) { LogReader(source, out).read(); }

bool is_nccl_tests_table(std::vector<std::string> const& columns) {
  return has_columns(
      columns, {"table_id", "collective", "gpu", "nodes", "nranks", "nic", "algo", "size_B", "time_us"});
}

void read_nccl_tests_table(SourceText const& source, Imported& out) {
  TableReader row(source, out);
  while (row.next()) {
    Sample s;
    s.gpu = gpu_named_in(row.text("gpu"));
    if (s.gpu.empty())
      row.problem("gpu", "'" + shown(row.text("gpu")) + "' is no GPU of the catalog",
                  "correct or remove the row");
    s.operation = collective_operation(row.text("collective"));
    std::string const& algo = row.text("algo");
    s.variant = algo.empty() || algo == "default" ? "nccl" : "nccl " + algo;
    s.dtype = "fp32";
    double const nodes = row.count("nodes");
    s.shape = {row.count("size_B"), row.count("nranks"), nodes};
    s.seconds = us(row.positive("time_us"));
    s.source = source.name + " " + row.text("table_id");
    s.version = row.text("nccl").empty() ? "nccl" : "nccl " + row.text("nccl");
    if (nodes > 1) s.fabric = fabric_of_nic(row.text("nic"));
    if (!row.good()) continue;
    if (s.operation.empty()) {
      skip(out, source, "no price for the collective " + shown(row.text("collective")));
      continue;
    }
    if (row.text("nic").find("under-performing") != std::string::npos) {
      skip(out, source, "reported as under-performing by who measured it");
      continue;
    }
    out.samples.push_back(std::move(s));
  }
}

}  // namespace rollcast
