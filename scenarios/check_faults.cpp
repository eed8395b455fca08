#include "scenarios/check_faults.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/pools.hpp"
#include "models/shard_exchange.hpp"

namespace rollcast {
namespace {

class FaultChecker {
 public:
  explicit FaultChecker(Job const& job) : job_(job) {}

  std::vector<Problem> run() {
    NetworkOptions const& n = job_.network;
    if ((n.rpc_flows > 0) != (n.rpc_bandwidth.value > 0)) {
      key_ = "network";
      add("calls need both their streams and what they want", "write rpc_flows and rpc_bandwidth");
    }
    for (std::size_t i = 0; i < job_.faults.size(); ++i) {
      key_ = fmt::format("faults[{}]", i);
      check(job_.faults[i]);
    }
    return std::move(problems_);
  }

 private:
  void add(std::string what, std::string remedy) {
    problems_.push_back({"", 0, 0, key_, std::move(what), std::move(remedy), ""});
  }

  void check(Fault const& f) {
    Job const pool = on_pool(job_, f.pool);
    int const gpus = pool.cluster.gpus();
    if (f.kind == FaultKind::server) return check_engine(f, pool);
    for (int r : f.ranks) {
      if (r >= gpus)
        add(fmt::format("there is no rank {} among {} GPUs", r, gpus),
            fmt::format("write 0 to {}", gpus - 1));
    }
    if (f.kind == FaultKind::link) check_link(f, pool);
    if (f.kind == FaultKind::hang && f.ranks.empty() && (f.at || f.phase != Phase::score))
      add("a hang of the scoring needs its phase", "write on: {step: 1, phase: score}, or name a rank");
    bool const of_pass = f.kind == FaultKind::skip || f.kind == FaultKind::desync;
    if (of_pass && !trains(f.phase))
      add("only updates run micro-batches in step", "write phase: update_actor");
    if (f.kind == FaultKind::skip && (f.at || !is_fully_sharded(job_.train)))
      add("only ranks that gather layers together wait for each other's micro-batches",
          "write on: {...}, with train.trainer: fsdp2 or zero_stage: 3");
    if (!f.at && f.kind != FaultKind::slow && f.kind != FaultKind::link) check_phase(f);
    if (f.kind == FaultKind::slow && pool_of(job_, Role::actor) != f.pool)
      add("slow kernels are simulated in the trainer alone", "write the pool of train");
  }
  void check_engine(Fault const& f, Job const& pool) {
    if (!has_rollout(job_.algorithm) || !runs_here(pool, Role::rollout))
      return add("there are no rollout engines in that pool", "write kill: {rank: ...}");
    int const engines = rollout_engines(pool);
    if (f.ranks.front() >= engines)
      add(fmt::format("there is no engine {} among {}", f.ranks.front(), engines),
          fmt::format("write 0 to {}", engines - 1));
  }
  void check_link(Fault const& f, Job const& pool) {
    ClusterSpec const& c = pool.cluster;
    if (!has_network(pool))
      return add("one node has no network to be slow", "write slow: {...}, or more nodes");
    if (f.node >= c.nodes || f.nic >= c.node.nics)
      add(fmt::format("there is no NIC {} of node {}", f.nic, f.node),
          fmt::format("write nodes 0 to {}, NICs 0 to {}", c.nodes - 1, c.node.nics - 1));
  }
  void check_phase(Fault const& f) {
    if (f.phase == Phase::checkpoint ? job_.checkpoint.every == 0 : !contains(step_phases(job_), f.phase))
      add(fmt::format("a step of this job has no {}", name_of(f.phase)),
          "write a phase that it has, or at: 120 s");
  }

  Job const& job_;
  std::string key_;
  std::vector<Problem> problems_;
};

}  // namespace

std::vector<Problem> check_faults(Job const& job) { return FaultChecker(job).run(); }

}  // namespace rollcast
