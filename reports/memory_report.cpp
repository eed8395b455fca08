#include "reports/memory_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "models/engine_start.hpp"
#include "models/roles.hpp"

namespace rollcast {
namespace {

using Category = MemoryCategory;

struct Column {
  Category category;
  char const* heading;
};
constexpr std::array<Column, 13> columns = {{{Category::weights, "weight"},
                                             {Category::gradients, "grads"},
                                             {Category::master_weights, "master"},
                                             {Category::optimizer_states, "optim"},
                                             {Category::activations, "activ"},
                                             {Category::logits, "logits"},
                                             {Category::gather_buffers, "bufs"},
                                             {Category::kv_pages, "kv"},
                                             {Category::cuda_graphs, "graphs"},
                                             {Category::nccl_buffers, "nccl"},
                                             {Category::cuda_context, "ctx"},
                                             {Category::engine_residue, "resid"},
                                             {Category::allocator_cache, "cached"}}};

std::string gib(Bytes b) { return b.value > 0 ? fmt::format("{:.2f}", b / GiB(1)) : "-"; }

RankLedger const& fullest(MemoryForecast const& f) {
  return *std::max_element(f.ledgers.begin(), f.ledgers.end(), [](RankLedger const& a, RankLedger const& b) {
    return peak(a).bytes < peak(b).bytes;
  });
}

std::string class_title(RankLedger const& l) {
  std::string const who = l.name == "rank" ? "Each GPU" : fmt::format("Each GPU of {}", l.name);
  return fmt::format("{} ({} {}, {} visible)", who, l.ranks, l.ranks == 1 ? "rank" : "ranks",
                     format(l.capacity));
}

std::string table(RankLedger const& l, std::vector<Phase> const& phases) {
  std::vector<Column> used;
  for (Column const& c : columns) {
    bool const any = std::any_of(l.lines.begin(), l.lines.end(), [&](LedgerLine const& line) {
      return !line.host && line.category == c.category;
    });
    if (any) used.push_back(c);
  }
  std::string out = fmt::format("  {:<14}", "GiB");
  for (Column const& c : used) out += fmt::format("{:>7}", c.heading);
  out += fmt::format("{:>8}{:>8}\n", "total", "free");
  for (Phase p : phases) {
    out += fmt::format("  {:<14}", name_of(p));
    for (Column const& c : used) out += fmt::format("{:>7}", gib(category_total(l, p, c.category)));
    Bytes const sum = total(l, p);
    out += fmt::format("{:>8}{:>8.2f}\n", gib(sum), (l.capacity - sum) / GiB(1));
  }
  return out;
}

std::string phase_list(LedgerLine const& line) {
  if (line.phases.empty()) return "always";
  std::string out;
  for (Phase p : line.phases) out += (out.empty() ? "" : ", ") + std::string(name_of(p));
  return out;
}

bool same_line(LedgerLine const& a, LedgerLine const& b) {
  return a.role == b.role && a.category == b.category && a.host == b.host && a.name == b.name &&
         a.phases == b.phases && a.formula == b.formula;
}

bool holds(RankLedger const& l, LedgerLine const& line) {
  return std::any_of(l.lines.begin(), l.lines.end(),
                     [&](LedgerLine const& other) { return same_line(line, other); });
}

// Every distinct line once, with the rank classes that hold it where they are not all.
std::string lines_text(std::vector<RankLedger> const& ledgers, bool host) {
  std::string out;
  for (auto l = ledgers.begin(); l != ledgers.end(); ++l) {
    for (LedgerLine const& line : l->lines) {
      auto const has = [&line](RankLedger const& other) { return holds(other, line); };
      if (line.host != host || std::any_of(ledgers.begin(), l, has)) continue;
      std::string holders;
      for (RankLedger const& other : ledgers) {
        if (has(other)) holders += (holders.empty() ? "; " : ", ") + other.name;
      }
      if (std::all_of(ledgers.begin(), ledgers.end(), has)) holders.clear();
      out += fmt::format("  {:>8}  {} {}: {} ({}{})\n            = {}\n", gib(line.bytes), name_of(line.role),
                         name_of(line.category), line.name, phase_list(line), holders, line.formula);
    }
  }
  return out;
}

std::string class_text(RankLedger const& l, std::vector<Phase> const& phases) {
  MemoryPeak const top = peak(l);
  bool const over = top.bytes > l.capacity;
  return fmt::format("{}\n{}  peak {} in {}, {} {}\n\n", class_title(l), table(l, phases), format(top.bytes),
                     name_of(top.phase), over ? "over by" : "headroom",
                     format(over ? top.bytes - l.capacity : l.capacity - top.bytes));
}

std::string kv_text(KvForecast const& kv) {
  if (kv.blocks <= 0) return {};
  return fmt::format(
      "KV cache of one engine: {} pages of {} tokens = {} tokens, {:.0f} B per token and rank.\n", kv.blocks,
      kv.block_tokens, kv.blocks * kv.block_tokens, kv.bytes_per_token.value);
}

}  // namespace

MemoryForecast forecast_memory(Scenario const& s) {
  MemoryForecast f;
  f.scenario = s.name;
  f.cluster = s.job.cluster;
  f.phases = step_phases(s.job);
  f.ledgers = memory_ledger(s.job);
  f.host_limit = s.job.framework.host_memory_share * s.job.cluster.node.host_memory;
  f.host_at_load = s.job.cluster.node.gpus * host_at_load(s.job);
  if (!has_rollout(s.job.algorithm)) return f;
  EngineStart const start = engine_start(s.job);
  KvForecast kv;
  kv.blocks = start.blocks;
  kv.block_tokens = s.job.rollout.block_size;
  kv.bytes_per_token = kv_bytes_per_token(s.job.model, s.job.rollout);
  kv.refusal = start.refusal;
  f.kv = kv;
  return f;
}

MemoryVerdict memory_verdict(MemoryForecast const& f) {
  if (f.kv) {
    if (!f.kv->refusal.empty())
      return {false, fmt::format("Does not fit: the rollout engine refuses to start: {}; change "
                                 "gpu_memory_utilization or the rollout's tp.",
                                 f.kv->refusal)};
  }
  RankLedger const& l = fullest(f);
  MemoryPeak const top = peak(l);
  std::string const who = l.name == "rank" ? "a GPU" : "a GPU of " + l.name;
  if (top.bytes > l.capacity) {
    return {false, fmt::format("Does not fit: {} needs {} in {}, {} more than the {} that a process sees.",
                               who, format(top.bytes), name_of(top.phase), format(top.bytes - l.capacity),
                               format(l.capacity))};
  }
  MemoryPeak const host = host_peak(f.ledgers, f.cluster);
  if (host.bytes > f.host_limit) {
    return {false, fmt::format("Does not fit: a node needs {} of host memory in {}, {} more than its {}.",
                               format(host.bytes), name_of(host.phase), format(host.bytes - f.host_limit),
                               format(f.host_limit))};
  }
  if (f.host_at_load > f.host_limit) {
    return {false,
            fmt::format("Does not fit: a node needs {} of host memory while models are loaded, {} more than "
                        "its {}.",
                        format(f.host_at_load), format(f.host_at_load - f.host_limit), format(f.host_limit))};
  }
  return {true, fmt::format("Fits: {} peaks at {} in {}, {} below the {} that a process sees.", who,
                            format(top.bytes), name_of(top.phase), format(l.capacity - top.bytes),
                            format(l.capacity))};
}

std::string memory_text(MemoryForecast const& f) {
  std::string out = memory_verdict(f).sentence + "\n\n";
  for (RankLedger const& l : f.ledgers) out += class_text(l, f.phases);
  out += "Lines in GiB, per GPU\n" + lines_text(f.ledgers, false);
  std::string const on_host = lines_text(f.ledgers, true);
  if (!on_host.empty()) out += "Lines in GiB, on the host per GPU\n" + on_host;
  out += '\n';
  if (f.kv) out += kv_text(*f.kv);
  MemoryPeak const host = host_peak(f.ledgers, f.cluster);
  out += fmt::format("Host memory of the fullest node: {} of {}{}; {} while models are loaded.\n",
                     format(host.bytes), format(f.cluster.node.host_memory),
                     host.bytes.value > 0 ? fmt::format(" in {}", name_of(host.phase)) : "",
                     format(f.host_at_load));
  return out;
}

}  // namespace rollcast
