#include "scenarios/check_serve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "models/adapter.hpp"

namespace rollcast {
namespace {

int largest_rank(ServedAdapters const& a) {
  int most = 0;
  for (AdapterVariant const& v : a.variants) most = std::max(most, v.rank);
  return most;
}

// The projections of q, k, v, o, gate, up and down that this model has.
std::vector<std::string> projections(Architecture const& model) {
  std::vector<std::string> found;
  for (char const* target : {"q", "k", "v", "o", "gate", "up", "down"}) {
    Adapter one;
    one.targets = {target};
    if (adapter_parameters(one, model) > 0) found.emplace_back(target);
  }
  return found;
}

class ServeChecker {
 public:
  explicit ServeChecker(Job const& job) : job_(job), adapters_(job.serve->adapters) {}

  std::vector<Problem> run() {
    check_engine();
    if (adapters_.execution == AdapterExecution::none) return std::move(problems_);
    check_targets();
    if (adapters_.execution == AdapterExecution::deployments) {
      check_deployments();
      return std::move(problems_);
    }
    if (job_.serve->order == ServeOrder::fair && job_.serve->patience.value > 0)
      add("serve.patience", "where all wait for long, the order of arrival would undo the fair one",
          "remove one of the two");
    check_ranks();
    check_pool();
    check_storage();
    return std::move(problems_);
  }

 private:
  void add(std::string key, std::string what, std::string remedy) {
    problems_.push_back({"", 0, 0, std::move(key), std::move(what), std::move(remedy), ""});
  }
  void add_adapter(std::string_view key, std::string what, std::string remedy) {
    add(fmt::format("serve.adapters.{}", key), std::move(what), std::move(remedy));
  }

  void check_engine() {
    EngineOptions const& e = job_.rollout;
    if (e.kind == EngineKind::hf)
      add("rollout.engine", "hf generates whole batches and serves no requests", "write engine: vllm");
    if (e.balance == EngineBalance::contiguous || e.balance == EngineBalance::by_group)
      add("rollout.balance",
          fmt::format("{} deals out a batch, and requests come one by one", name_of(e.balance)),
          "write balance: least_load or round_robin");
    if (e.speculative && adapters_.execution != AdapterExecution::none)
      add("rollout.speculative", "drafting beside adapters is not simulated yet", "remove the key");
  }

  void check_targets() {
    std::vector<std::string> const there = projections(job_.model);
    for (std::size_t i = 0; i < adapters_.variants.size(); ++i) {
      for (std::string const& target : adapters_.variants[i].targets) {
        if (std::find(there.begin(), there.end(), target) != there.end()) continue;
        add_adapter(adapters_.variants.size() == 1 ? "targets" : fmt::format("variants[{}].targets", i),
                    fmt::format("{} has no {}_proj", job_.model.name, target),
                    there.empty() ? "name a model with such projections"
                                  : fmt::format("write some of {}", fmt::join(there, ", ")));
      }
    }
  }

  void check_deployments() {
    auto const named = [](ServeRequest const& r) { return r.adapter >= 0; };
    std::vector<ServeRequest> const& trace = job_.serve->arrivals.trace;
    if (std::any_of(trace.begin(), trace.end(), named) && !std::all_of(trace.begin(), trace.end(), named))
      add_adapter("execution",
                  "some requests of the trace ask for the base model, and every engine has an adapter",
                  "name an adapter in each row, or write execution: batched");
    int const ranks = job_.rollout.parallel.ranks_per_replica();
    int const engines = ranks > 0 ? rollout_engines(job_) : 0;
    if (adapters_.count <= engines) return;
    std::int64_t const gpus = std::int64_t{adapters_.count} * ranks;
    std::int64_t const node = std::max(job_.cluster.node.gpus, 1);
    add_adapter("execution",
                fmt::format("{} adapters need an engine each, and {} GPUs hold {} of {}", adapters_.count,
                            job_.cluster.gpus(), engines, ranks),
                fmt::format("write cluster.nodes: {} ({} GPUs) or more, or adapters.count: {} or less",
                            (gpus + node - 1) / node, gpus, std::max(engines, 1)));
  }

  void check_ranks() {
    int const largest = largest_rank(adapters_);
    if (adapters_.max_rank > 0 && adapters_.max_rank < largest)
      add_adapter("max_rank", fmt::format("an adapter has rank {}", largest),
                  fmt::format("write max_rank: {} or more", largest));
  }

  void check_pool() {
    ServedAdapters const& a = adapters_;
    bool const unified = a.pool == AdapterPool::unified;
    bool const sized = a.pool_bytes.value > 0;
    if (unified && job_.rollout.kv == KvCache::preallocated)
      add_adapter("pool", "static KV has no pages for adapters", "write pool: fixed, or rollout.kv: paged");
    std::string const no_slots = "a unified pool has no slots";
    if (unified && a.slots > 0) add_adapter("slots", no_slots, "remove the key, or write pool: fixed");
    if (unified && sized) add_adapter("pool_bytes", no_slots, "remove the key, or write pool: fixed");
    if (!unified && a.slots > 0 && sized)
      add_adapter("pool_bytes", "the pool has slots or bytes", "remove one of the two");
    if (a.execution == AdapterExecution::merged && !unified && a.slots == 1 && a.count > 1)
      add_adapter("slots",
                  "the merged adapter is taken out again with its own factors, beside the next one's",
                  "write slots: 2 or more");
    if (a.prefetch > 0 && a.loading == AdapterLoading::blocking)
      add_adapter("prefetch", "steps wait for their adapters, and nothing is loaded ahead",
                  "write loading: overlapped, or remove the key");
    if (!unified && a.slots > 0 && a.batch_limit > a.slots)
      add_adapter("batch_limit", fmt::format("more adapters than the {} slots", a.slots),
                  fmt::format("write batch_limit: {} or less", a.slots));
  }

  void check_storage() {
    ServedAdapters const& a = adapters_;
    bool const read = a.host_adapters > 0 && a.host_adapters < a.count;
    bool const shared = a.storage == AdapterStorage::shared;
    if (!read) {
      if (shared)
        add_adapter("storage", "the hosts hold all adapters", "remove the key, or write host_adapters");
      return;
    }
    if (shared && !(job_.cluster.storage.read.value > 0))
      add_adapter("storage", "the cluster has no shared file system",
                  "write cluster.storage: {read: 20 GB/s, write: 10 GB/s} for example, or storage: local");
    Node const& node = job_.cluster.node;
    if (!shared && !(node.nvme_read.value > 0 && node.nvme_write.value > 0))
      add_adapter("storage", fmt::format("the node {} has no drives", node.name),
                  "give it nvme_read and nvme_write, write storage: shared, or host_adapters: 0");
  }

  Job const& job_;
  ServedAdapters const& adapters_;
  std::vector<Problem> problems_;
};

}  // namespace

std::vector<Problem> check_serve(Job const& job) {
  if (!job.serve) return {};
  return ServeChecker(job).run();
}

}  // namespace rollcast
