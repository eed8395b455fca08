#include "reports/memory_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "models/activations.hpp"
#include "models/engine_start.hpp"
#include "models/lengths.hpp"
#include "models/peak_table.hpp"
#include "models/pools.hpp"
#include "models/roles.hpp"
#include "sim/phases.hpp"

namespace rollcast {
namespace {

using Category = MemoryCategory;

constexpr double kLittle = 0.05;  // of the capacity

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

// The class with the least room, of all pools.
struct Fullest {
  PoolMemory const* pool = nullptr;
  RankLedger const* ledger = nullptr;
  MemoryPeak top;

  Bytes room() const { return ledger->capacity - top.bytes; }
};

Fullest fullest(MemoryForecast const& f) {
  Fullest found;
  for (PoolMemory const& pool : f.pools) {
    for (RankLedger const& l : pool.ledgers) {
      Fullest const here{&pool, &l, peak(l)};
      if (found.ledger == nullptr || here.room() < found.room()) found = here;
    }
  }
  return found;
}

std::string class_title(PoolMemory const& pool, RankLedger const& l) {
  std::string who = l.name == "rank" ? "Each GPU" : fmt::format("Each GPU of {}", l.name);
  if (!pool.name.empty()) who += fmt::format(" of pool {}", pool.name);
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

std::string class_text(PoolMemory const& pool, RankLedger const& l) {
  MemoryPeak const top = peak(l);
  bool const over = top.bytes > l.capacity;
  return fmt::format("{}\n{}  peak {} in {}, {} {}\n\n", class_title(pool, l), table(l, pool.phases),
                     format(top.bytes), name_of(top.phase), over ? "over by" : "headroom",
                     format(over ? top.bytes - l.capacity : l.capacity - top.bytes));
}

std::string sequences(std::int64_t n) { return fmt::format("{} sequence{}", n, n == 1 ? "" : "s"); }

std::string kv_text(KvForecast const& kv) {
  if (kv.blocks <= 0) return {};
  return fmt::format(
      "KV cache of {}: {} pages of {} tokens = {} tokens, {:.0f} B per token and rank.\n"
      "It holds {} of {:.0f} tokens, the mean, or {} of the longest, {} tokens.\n",
      kv.engines == 1 ? "the engine" : fmt::format("each of {} engines", kv.engines), kv.blocks,
      kv.block_tokens, kv.tokens(), kv.bytes_per_token.value, sequences(kv.holds(kv.mean_sequence)),
      kv.mean_sequence, kv.holds(static_cast<double>(kv.longest_sequence)), kv.longest_sequence);
}

// The weights reach the engines' pool too.
bool takes_part(Job const& job, int pool, Phase phase) {
  return pool_of_phase(job, phase) == pool ||
         (phase == Phase::weight_sync && has_rollout(job.algorithm) && pool_of(job, Role::rollout) == pool);
}

KvForecast kv_of(Job const& job) {
  KvForecast kv;
  EngineStart const start = engine_start(job);
  Parallel const& p = job.rollout.parallel;
  kv.blocks = start.blocks;
  kv.engines = std::int64_t{job.cluster.nodes} * job.cluster.node.gpus / (std::int64_t{p.tp} * p.pp);
  kv.block_tokens = job.rollout.block_size;
  kv.mean_sequence = mean(job.workload.prompt_tokens, 0) + mean(job.workload.response_tokens, 0);
  if (auto const& tool = job.score.environment)
    kv.mean_sequence += (tool->turns - 1.0) * tool->observation_tokens;
  kv.longest_sequence = start.longest;
  kv.bytes_per_token = kv_bytes_per_token(job.model, job.rollout);
  kv.refusal = start.refusal;
  return kv;
}

std::string host_text(PoolMemory const& pool) {
  MemoryPeak const host = host_peak(pool.ledgers, pool.cluster);
  return fmt::format("Host memory of the fullest node{}: {} of {}{}; {} while models are loaded.\n",
                     pool.name.empty() ? "" : fmt::format(" of pool {}", pool.name), format(host.bytes),
                     format(pool.cluster.node.host_memory),
                     host.bytes.value > 0 ? fmt::format(" in {}", name_of(host.phase)) : "",
                     format(pool.host_at_load));
}

std::string changes_text(std::vector<MemoryChange> const& changes) {
  if (changes.empty()) return "None of the changes that were tried, alone or together, would fit.\n\n";
  std::string out = "Changes with which it would fit, the cheapest first (each was tried)\n";
  for (MemoryChange const& c : changes) {
    std::string sets;
    for (std::string const& set : c.sets) sets += fmt::format("{}--set {}", sets.empty() ? "" : " ", set);
    out += fmt::format("  {:<72} {}, headroom {}\n", sets,
                       c.gpu_hours ? fmt::format("{:.3g} GPU hours a step", *c.gpu_hours)
                                   : std::string("time not simulated yet"),
                       format(c.headroom));
  }
  return out + "\n";
}

}  // namespace

std::int64_t KvForecast::holds(double sequence) const {
  if (!(sequence > 0)) return 0;
  double const pages = std::ceil(sequence / std::max(1, block_tokens));
  return static_cast<std::int64_t>(
      std::floor(static_cast<double>(std::max<std::int64_t>(0, blocks)) / pages));
}

MemoryForecast forecast_memory(Scenario const& s) {
  MemoryForecast f;
  f.scenario = s.name;
  std::size_t const pools = pools_of(s.job).size();
  for (std::size_t p = 0; p < pools; ++p) {
    int const index = static_cast<int>(p);
    Job const job = on_pool(s.job, index);
    PoolMemory pool{pools > 1 ? pools_of(s.job)[p].name : "", job.cluster, {}, memory_ledger(job), {}, {}};
    pool.host_limit = usable_host_memory(job);
    pool.host_at_load = job.cluster.node.gpus * host_at_load(job);
    for (Phase phase : step_phases(s.job)) {
      if (takes_part(s.job, index, phase)) pool.phases.push_back(phase);
    }
    f.pools.push_back(std::move(pool));
  }
  if (has_rollout(s.job.algorithm)) f.kv = kv_of(on_pool(s.job, pool_of(s.job, Role::rollout)));
  return f;
}

MemoryVerdict memory_verdict(MemoryForecast const& f) {
  if (f.kv) {
    if (!f.kv->refusal.empty())
      return {false, fmt::format("Does not fit: the rollout engine refuses to start: {}; change "
                                 "gpu_memory_utilization or the rollout's tp.",
                                 f.kv->refusal)};
  }
  Fullest const full = fullest(f);
  RankLedger const& l = *full.ledger;
  MemoryPeak const& top = full.top;
  std::string who = l.name == "rank" ? "a GPU" : "a GPU of " + l.name;
  if (!full.pool->name.empty()) who += " of pool " + full.pool->name;
  if (top.bytes > l.capacity) {
    return {false, fmt::format("Does not fit: {} needs {} in {}, {} more than the {} that a process sees.",
                               who, format(top.bytes), name_of(top.phase), format(top.bytes - l.capacity),
                               format(l.capacity))};
  }
  for (PoolMemory const& pool : f.pools) {
    MemoryPeak const host = host_peak(pool.ledgers, pool.cluster);
    bool const at_load = pool.host_at_load > host.bytes;
    Bytes const most = max(host.bytes, pool.host_at_load);
    if (most <= pool.host_limit) continue;
    return {false,
            fmt::format(
                "Does not fit: a node needs {} of host memory {}, {} more than its {}.", format(most),
                at_load ? std::string("while models are loaded") : fmt::format("in {}", name_of(host.phase)),
                format(most - pool.host_limit), format(pool.host_limit))};
  }
  std::string sentence =
      fmt::format("Fits: {} peaks at {} in {}, {} below the {} that a process sees.", who, format(top.bytes),
                  name_of(top.phase), format(l.capacity - top.bytes), format(l.capacity));
  if (l.capacity - top.bytes < kLittle * l.capacity)
    sentence += " With so little left PyTorch's allocator may decide: rollcast run follows it.";
  return {true, sentence};
}

Bytes least_headroom(MemoryForecast const& f) { return fullest(f).room(); }

std::string memory_text(MemoryForecast const& f) {
  std::string out = memory_verdict(f).sentence + "\n\n";
  if (f.changes) out += changes_text(*f.changes);
  for (PoolMemory const& pool : f.pools) {
    for (RankLedger const& l : pool.ledgers) out += class_text(pool, l);
  }
  for (PoolMemory const& pool : f.pools) {
    std::string const of = pool.name.empty() ? "" : fmt::format(" of pool {}", pool.name);
    out += fmt::format("Lines in GiB, per GPU{}\n", of) + lines_text(pool.ledgers, false);
    std::string const on_host = lines_text(pool.ledgers, true);
    if (!on_host.empty()) out += fmt::format("Lines in GiB, on the host per GPU{}\n", of) + on_host;
  }
  out += '\n';
  if (f.kv) out += kv_text(*f.kv);
  for (PoolMemory const& pool : f.pools) out += host_text(pool);
  if (f.longest_fitting)
    out += fmt::format("Longest sequence that fits: {}.\n",
                       *f.longest_fitting > 0 ? fmt::format("{} tokens", *f.longest_fitting) : "none");
  return out;
}

}  // namespace rollcast
