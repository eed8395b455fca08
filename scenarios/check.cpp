#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>

#include "models/activations.hpp"
#include "models/arrivals.hpp"
#include "models/pools.hpp"
#include "scenarios/check_collectives.hpp"
#include "scenarios/check_faults.hpp"
#include "scenarios/check_memory.hpp"
#include "scenarios/check_pipeline.hpp"
#include "scenarios/check_pools.hpp"
#include "scenarios/check_reliability.hpp"
#include "scenarios/check_serve.hpp"
#include "scenarios/check_weight_sync.hpp"
#include "scenarios/scenario.hpp"

namespace rollcast {
namespace {

constexpr std::int64_t kMostGpus = 1'000'000;

using Valid = std::function<bool(std::int64_t)>;

// "4 or 8": the valid values next below and next above v, within [1, most].
std::string nearest_valid(std::int64_t v, std::int64_t most, Valid const& valid) {
  std::int64_t below = std::min(v - 1, most);
  while (below >= 1 && !valid(below)) --below;
  std::int64_t above = v + 1;
  while (above <= most && !valid(above)) ++above;
  if (below < 1 && above > most) return "";
  if (above > most) return std::to_string(below);
  if (below < 1) return std::to_string(above);
  return fmt::format("{} or {}", below, above);
}

// The same among the divisors of n, which may be large.
std::string nearest_divisor(std::int64_t v, std::int64_t n, Valid const& valid) {
  std::int64_t below = 0;
  std::int64_t above = n + 1;
  auto const take = [&](std::int64_t d) {
    if (!valid(d)) return;
    if (d < v) below = std::max(below, d);
    if (d > v) above = std::min(above, d);
  };
  for (std::int64_t d = 1; d * d <= n; ++d) {
    if (n % d != 0) continue;
    take(d);
    take(n / d);
  }
  if (below < 1 && above > n) return "";
  if (above > n) return std::to_string(below);
  if (below < 1) return std::to_string(above);
  return fmt::format("{} or {}", below, above);
}

class Checker {
 public:
  explicit Checker(Job const& job)
      : job_(job), gpus_(std::int64_t{job.cluster.nodes} * job.cluster.node.gpus) {}

  // `engines`: what the engines ask of these GPUs; `models`: what the trainer's roles do.
  std::vector<Problem> run(bool models, bool engines) {
    if (gpus_ < 1 || gpus_ > kMostGpus) {
      add("cluster.nodes", fmt::format("{} GPUs", gpus_),
          fmt::format("a forecast takes 1 to {} GPUs", kMostGpus));
      return std::move(problems_);
    }
    check_links();
    if (models) {
      check_train_layout();
      check_experts();
      check_packing();
      check_optimizer();
    }
    if (models || job_.serve) check_lengths();
    if (generates() && engines) check_rollout();
    return std::move(problems_);
  }

 private:
  bool generates() const { return rollcast::generates(job_.algorithm.kind); }

  void add(std::string key, std::string what, std::string remedy) {
    problems_.push_back({"", 0, 0, std::move(key), std::move(what), std::move(remedy), ""});
  }
  void add_with_nearest(std::string key, std::string what, std::string_view name, std::string const& values) {
    add(std::move(key), std::move(what),
        values.empty() ? "change the layout" : fmt::format("write {}: {}", name, values));
  }

  // The links that the interconnect and the number of nodes promise.
  void check_links() {
    Node const& node = job_.cluster.node;
    if (node.gpus > 1 && node.interconnect != Interconnect::pcie && !(node.gpu.nvlink.value > 0)) {
      add("cluster.node.interconnect", fmt::format("needs NVLink, and the card {} has none", node.gpu.name),
          "write interconnect: pcie, or give the card its nvlink");
    }
    check_trays(node);
    check_storage();
    if (job_.cluster.nodes < 2) return;
    if (node.nics < 1) {
      add("cluster.node.nics", fmt::format("{} nodes without network cards", job_.cluster.nodes),
          "write nics: 8, or nodes: 1");
    } else if (!(node.nic.value > 0)) {
      add("cluster.node.nic", "network cards without a rate", "write for example nic: 400 Gb/s");
    }
  }

  // Every host of a node has the same parts.
  void check_trays(Node const& node) {
    for (auto const& [key, count] :
         {std::pair("gpus", node.gpus), std::pair("numa_nodes", node.numa_nodes),
          std::pair("nics", node.nics), std::pair("storage_nics", node.storage_nics)}) {
      if (count % std::max(node.trays, 1) == 0) continue;
      add(fmt::format("cluster.node.{}", key), fmt::format("{} are not {} trays alike", count, node.trays),
          "write a multiple of trays");
    }
  }

  // The way to the shared file system.
  void check_storage() {
    ClusterSpec const& c = job_.cluster;
    if (c.storage_fabric && (c.node.storage_nics < 1 || !(c.node.storage_nic.value > 0)))
      add("cluster.storage_fabric", "a second network, and the nodes have no cards for it",
          "write storage_nics: 2 and storage_nic: 400 Gb/s in the node");
    if ((c.storage.read.value > 0) != (c.storage.write.value > 0))
      add("cluster.storage", "a file system needs both read and write", "write both");
    if (c.storage.read.value > 0 && !c.storage_fabric && (c.node.nics < 1 || !(c.node.nic.value > 0)))
      add("cluster.storage", "nodes without network cards reach no file system",
          "write storage_fabric, or nics in the node");
  }

  // Whether tp ranks can cut this model: heads evenly; kv heads evenly, or each copied equally often; the MLP
  // evenly.
  static bool cuts(Architecture const& a, std::int64_t tp) {
    if (a.heads % tp != 0) return false;
    if (a.kv_heads > 0 && a.kv_heads % tp != 0 && tp % a.kv_heads != 0) return false;
    return a.intermediate == 0 || a.intermediate % tp == 0;
  }

  bool check_cut(std::string const& key, std::int64_t tp) {
    Architecture const& a = job_.model;
    if (a.heads < 1 || cuts(a, tp)) return true;
    std::string what;
    if (a.heads % tp != 0) {
      what = fmt::format("{} ranks do not divide the {} heads of {}", tp, a.heads, a.name);
    } else if (a.intermediate > 0 && a.intermediate % tp != 0) {
      what = fmt::format("{} ranks do not divide the MLP width {} of {}", tp, a.intermediate, a.name);
    } else {
      what = fmt::format("{} ranks can neither share nor evenly copy the {} KV heads of {}", tp, a.kv_heads,
                         a.name);
    }
    add_with_nearest(key, what, "tp", nearest_valid(tp, a.heads, [&](std::int64_t v) { return cuts(a, v); }));
    return false;
  }

  bool check_stages(std::string const& key, int pp) {
    if (pp <= job_.model.layers) return true;
    add(key,
        fmt::format("{} stages are more than the {} layers of {}", pp, job_.model.layers, job_.model.name),
        fmt::format("write pp: {} or less", job_.model.layers));
    return false;
  }

  // Ulysses exchanges tokens for heads, so that each of its ranks gets whole query heads.
  bool shares_heads(std::int64_t tp, std::int64_t cp) const {
    int const heads = job_.model.heads;
    return job_.train.context_parallel != ContextParallel::ulysses || heads < 1 || heads % (tp * cp) == 0;
  }

  // "tp: 2 or 4": the first of tp, pp, cp whose change alone makes a replica's ranks divide the GPUs.
  std::string layout_that_divides(Parallel const& p) const {
    auto const divides = [&](std::int64_t v, std::int64_t others) { return gpus_ % (v * others) == 0; };
    std::int64_t const tp = p.tp, pp = p.pp, cp = p.cp;
    std::string values =
        nearest_valid(tp, gpus_, [&](std::int64_t v) { return divides(v, pp * cp) && cuts(job_.model, v); });
    if (!values.empty()) return "write tp: " + values;
    values = nearest_valid(pp, std::min<std::int64_t>(gpus_, job_.model.layers),
                           [&](std::int64_t v) { return divides(v, tp * cp); });
    if (!values.empty()) return "write pp: " + values;
    values =
        nearest_valid(cp, gpus_, [&](std::int64_t v) { return divides(v, tp * pp) && shares_heads(tp, v); });
    return values.empty() ? "write a smaller layout" : "write cp: " + values;
  }

  void check_train_layout() {
    Parallel const& p = job_.train.parallel;
    bool const cut = check_cut("train.parallel.tp", p.tp);
    if (job_.train.weights == DType::fp8 && !(job_.cluster.node.gpu.fp8.value > 0)) {
      add("train.weights", fmt::format("{} has no fp8", job_.cluster.node.gpu.name), "write weights: bf16");
    }
    bool const staged = check_stages("train.parallel.pp", p.pp);
    if (job_.train.kind == TrainerKind::deepspeed && job_.train.zero_stage >= 2 && p.pp > 1) {
      add("train.zero_stage", "DeepSpeed's pipeline works with ZeRO stages 0 and 1",
          "write zero_stage: 1, or pp: 1");
    }
    std::int64_t const replica = std::int64_t{p.tp} * p.pp;
    if (!cut || !staged) return;
    if (replica > gpus_ || replica * p.cp > gpus_ || gpus_ % (replica * p.cp) != 0) {
      add("train.parallel",
          fmt::format("{} GPUs are not a multiple of tp {} x pp {} x cp {} = {}", gpus_, p.tp, p.pp, p.cp,
                      replica * p.cp),
          layout_that_divides(p));
      return;
    }
    if (!shares_heads(p.tp, p.cp)) {
      add_with_nearest(
          "train.parallel.cp",
          fmt::format("{} ranks of Ulysses do not divide the {} heads of {}{}", p.cp, job_.model.heads,
                      job_.model.name, p.tp > 1 ? fmt::format(" beside tp {}", p.tp) : ""),
          "cp", nearest_valid(p.cp, gpus_, [&](std::int64_t v) {
            return gpus_ % (replica * v) == 0 && shares_heads(p.tp, v);
          }));
      return;
    }
    check_batches(gpus_ / (replica * p.cp));
  }

  static std::string uneven_batch(int train_batch, std::int64_t dp) {
    return fmt::format("{} does not divide among {} data-parallel replicas", train_batch, dp);
  }

  void check_batches(std::int64_t dp) {
    Algorithm const& a = job_.algorithm;
    if (a.train_batch < 1) return;
    if (generates()) {
      std::int64_t const samples = std::int64_t{a.prompts} * a.group_size;
      if (samples < 1) return;
      if (samples % dp != 0) {
        add_with_nearest("algorithm.prompts",
                         fmt::format("{} prompts x {} samples do not divide among {} data-parallel replicas",
                                     a.prompts, a.group_size, dp),
                         "prompts", nearest_valid(a.prompts, a.prompts + dp, [&](std::int64_t v) {
                           return v * a.group_size % dp == 0;
                         }));
        return;
      }
      if (samples % a.train_batch != 0 || a.train_batch % dp != 0) {
        bool const divides = samples % a.train_batch == 0;
        add_with_nearest(
            "algorithm.train_batch",
            divides ? uneven_batch(a.train_batch, dp)
                    : fmt::format("{} does not divide the {} samples of a step", a.train_batch, samples),
            "train_batch",
            nearest_divisor(a.train_batch, samples, [&](std::int64_t v) { return v % dp == 0; }));
        return;
      }
    } else if (a.train_batch % dp != 0) {
      add_with_nearest("algorithm.train_batch", uneven_batch(a.train_batch, dp), "train_batch",
                       nearest_valid(a.train_batch, std::int64_t{a.train_batch} + dp,
                                     [&](std::int64_t v) { return v % dp == 0; }));
      return;
    }
    std::int64_t const per_replica = a.train_batch / dp * (a.kind == AlgorithmKind::dpo ? 2 : 1);
    if (!job_.train.packing && per_replica % job_.train.micro_batch != 0) {
      add_with_nearest("train.micro_batch",
                       fmt::format("{} does not divide the {} sequences of one replica in an optimizer step",
                                   job_.train.micro_batch, per_replica),
                       "micro_batch", nearest_divisor(job_.train.micro_batch, per_replica, [](std::int64_t) {
                         return true;
                       }));
    }
  }

  void check_experts() {
    Parallel const& p = job_.train.parallel;
    bool const deepep = job_.train.expert_dispatch == ExpertDispatch::deepep;
    if (!job_.model.moe) {
      std::string const what = fmt::format("{} has no experts", job_.model.name);
      if (p.ep > 1) add("train.parallel.ep", what, "remove ep");
      if (p.ep == 1 && p.etp > 0) add("train.parallel.etp", what, "remove etp");
      if (deepep) add("train.expert_dispatch", what, "remove the key");
      return;
    }
    if (deepep && p.expert_block() == 1)
      add("train.expert_dispatch", "every rank holds all experts, no token leaves it",
          "remove the key, or write ep above 1");
    check_expert_grid(p);
    // Megatron core/model_parallel_config.py: "sequence parallelism must be used".
    bool const apart = p.ep > 1 || p.expert_tp() != p.tp;
    if (job_.train.kind == TrainerKind::megatron && p.tp > 1 && apart && !job_.train.sequence_parallel)
      add("train.sequence_parallel",
          fmt::format("experts spread over the {} tensor-parallel ranks need each rank's own tokens", p.tp),
          "write sequence_parallel: true");
  }

  // Experts divide among ep ranks, their width among etp, the ranks of a stage into blocks of etp x ep.
  void check_expert_grid(Parallel const& p) {
    Moe const& moe = *job_.model.moe;
    std::int64_t const replica = std::int64_t{p.tp} * p.pp * p.cp;
    bool const whole = replica <= gpus_ && gpus_ % replica == 0;
    std::int64_t const stage = whole ? gpus_ / p.pp : 0;
    std::int64_t const etp = p.expert_tp();
    auto const cuts_experts = [&](std::int64_t v) {
      return moe.expert_intermediate % v == 0 && stage % v == 0;
    };
    if (p.etp > 0 && !cuts_experts(etp)) {
      add_with_nearest(
          "train.parallel.etp",
          stage % etp != 0
              ? fmt::format("{} does not divide the {} ranks of a stage", etp, stage)
              : fmt::format("{} does not divide the experts' width {}", etp, moe.expert_intermediate),
          "etp", nearest_valid(etp, moe.expert_intermediate, cuts_experts));
      return;
    }
    auto const valid = [&](std::int64_t v) { return moe.experts % v == 0 && stage % (etp * v) == 0; };
    if (p.ep == 1 || valid(p.ep)) return;
    add_with_nearest("train.parallel.ep",
                     moe.experts % p.ep != 0
                         ? fmt::format("{} does not divide the {} experts", p.ep, moe.experts)
                         : fmt::format("{} x etp {} do not divide the {} ranks of a stage", p.ep, etp, stage),
                     "ep", nearest_valid(p.ep, moe.experts, valid));
  }

  // Longest prompt plus longest response, or the longest request of a trace; 0: unbounded.
  std::int64_t longest_sequence() const {
    if (job_.serve) return longest_request(*job_.serve, job_.workload);
    std::int64_t const prompt = longest(job_.workload.prompt_tokens);
    std::int64_t const response = longest(job_.workload.response_tokens);
    return prompt == 0 || response == 0 ? 0 : prompt + response;
  }

  void check_lengths() {
    for (auto const& [key, lengths] :
         {std::pair("workload.prompt_tokens", &job_.workload.prompt_tokens),
          std::pair("workload.response_tokens", &job_.workload.response_tokens)}) {
      if (longest(*lengths) == 0)
        add(key, "the lengths have no upper end", "write max: the longest length allowed");
    }
    std::int64_t const sequence = longest_sequence();
    int const context = job_.model.max_context;
    if (sequence > 0 && context > 0 && sequence > context) {
      bool const trace = job_.serve && job_.serve->arrivals.kind == ArrivalKind::trace;
      add(trace ? "serve.arrivals.trace" : "workload.response_tokens",
          fmt::format("prompt and response can reach {} tokens, {} takes {}", sequence, job_.model.name,
                      context),
          trace ? "take the longer ones out of it, or set model.max_context"
                : "lower max, or set model.max_context");
    }
  }

  void check_packing() {
    TrainerOptions const& t = job_.train;
    std::int64_t const sequence = longest_sequence();
    if (t.pack_tokens == 0) return;
    if (!t.packing)
      add("train.pack_tokens", "means nothing without packing", "write packing: true, or remove the key");
    if (t.packing && t.pack_tokens < sequence) {
      add("train.pack_tokens",
          fmt::format("a sequence can reach {} tokens and would not fit into a pack of {}", sequence,
                      t.pack_tokens),
          fmt::format("write pack_tokens: {} or more", sequence));
    }
  }

  void check_optimizer() {
    TrainerOptions const& t = job_.train;
    if (t.optimizer_in_backward && job_.algorithm.adapter)
      add("train.optimizer_in_backward", "means little with an adapter, whose gradients are small",
          "remove the key");
    if (t.optimizer_in_backward && t.offload.optimizer)
      add("train.optimizer_in_backward", "the optimizer steps in host memory", "remove one of the two");
    if (t.optimizer_in_backward && data_parallel(job_) > 0 && micro_batches_per_step(job_) > 1)
      add("train.optimizer_in_backward",
          fmt::format("an optimizer step accumulates {} micro-batches", micro_batches_per_step(job_)),
          "write a train_batch of one micro-batch a rank, or remove the key");
    if (t.foreach_optimizer && (t.optimizer_in_backward || t.paged_optimizer || t.offload.optimizer))
      add("train.foreach_optimizer", "the optimizer does not step over lists of tensors on the GPU",
          "remove one of the two");
    if (job_.algorithm.adapter && job_.algorithm.adapter->weights && t.kind == TrainerKind::deepspeed)
      add("algorithm.adapter.weights", "deepspeed casts the whole model to train.weights",
          "leave it out, or write another trainer");
    if (t.paged_optimizer && t.offload.optimizer)
      add("train.paged_optimizer", "the optimizer states are in host memory already",
          "remove one of the two");
    if (t.paged_optimizer && t.kind != TrainerKind::ddp)
      add("train.paged_optimizer", "bitsandbytes' paged optimizers take whole tensors on one GPU",
          "write trainer: ddp, or remove the key");
    bool const shifts = t.cross_entropy == CrossEntropy::whole && t.kind != TrainerKind::megatron &&
                        t.logits == LogitsPrecision::fp32;
    if (t.shifted_labels && !shifts)
      add("train.shifted_labels", "this loss makes no shifted copy of fp32 logits", "remove the key");
    if (t.offload.activations && t.parallel.pp > 1)
      add("train.offload.activations", "a pipeline's micro-batches in flight are not copied out",
          "write pp: 1, or remove the key");
  }

  void check_rollout() {
    EngineOptions const& e = job_.rollout;
    bool const staged = check_stages("rollout.parallel.pp", e.parallel.pp);
    bool const cut = check_cut("rollout.parallel.tp", e.parallel.tp);
    if (staged && cut) check_engine_layout(e);
    if (!(e.gpu_memory_utilization > 0 && e.gpu_memory_utilization <= 1)) {
      add("rollout.gpu_memory_utilization", "out of range", "write a share above 0 and at most 1");
    }
    if (e.weights == DType::fp8 && !(job_.cluster.node.gpu.fp8.value > 0)) {
      add("rollout.weights", fmt::format("{} has no fp8", job_.cluster.node.gpu.name), "write weights: bf16");
    }
    check_engine_limits(e);
  }

  void check_engine_layout(EngineOptions const& e) {
    std::int64_t const node = job_.cluster.node.gpus;
    std::int64_t const tp = e.parallel.tp;
    if (node % tp != 0 && tp % node != 0) {
      add_with_nearest("rollout.parallel.tp",
                       fmt::format("engines of {} ranks do not fit into nodes of {} GPUs", tp, node), "tp",
                       nearest_valid(tp, gpus_, [&](std::int64_t v) {
                         return (node % v == 0 || v % node == 0) && cuts(job_.model, v);
                       }));
      return;
    }
    std::int64_t const ranks = tp * e.parallel.pp;
    if (ranks > gpus_ || gpus_ % ranks != 0) {
      std::int64_t const pp = e.parallel.pp;
      add_with_nearest("rollout.parallel",
                       fmt::format("{} GPUs are not a multiple of tp {} x pp {} = {}", gpus_, tp, pp, ranks),
                       "tp", nearest_valid(tp, gpus_, [&](std::int64_t v) {
                         return gpus_ % (v * pp) == 0 && cuts(job_.model, v);
                       }));
    }
  }

  void check_engine_limits(EngineOptions const& e) {
    std::int64_t const sequence = longest_sequence();
    int const context = job_.model.max_context;
    if (e.max_model_len > 0 && e.max_model_len < sequence) {
      add("rollout.max_model_len", fmt::format("prompt and response can reach {} tokens", sequence),
          fmt::format("write max_model_len: {}, or lower the lengths' max", sequence));
    }
    if (e.max_model_len > 0 && context > 0 && e.max_model_len > context) {
      add("rollout.max_model_len", fmt::format("{} takes {} tokens", job_.model.name, context),
          fmt::format("write max_model_len: {} or less", context));
    }
    if (e.max_num_batched_tokens < e.max_num_seqs) {
      add("rollout.max_num_batched_tokens",
          fmt::format("fewer tokens than the {} sequences of a step", e.max_num_seqs),
          fmt::format("write max_num_batched_tokens: {} or more, or lower max_num_seqs", e.max_num_seqs));
    }
    // A preempted sequence computes its prompt and its response so far again, all in one step.
    if (!e.chunked_prefill && e.max_num_batched_tokens < sequence) {
      add("rollout.max_num_batched_tokens",
          fmt::format("prompt and response can reach {} tokens and chunked prefill is off", sequence),
          fmt::format("write max_num_batched_tokens: {} or more, or chunked_prefill: true", sequence));
    }
  }

  Job const& job_;
  std::int64_t gpus_;
  std::vector<Problem> problems_;
};

}  // namespace

std::vector<Problem> check(Job const& job) {
  std::vector<Problem> problems = check_pipeline(job);
  for (Problem& p : check_memory(job)) problems.push_back(std::move(p));
  for (Problem& p : check_faults(job)) problems.push_back(std::move(p));
  for (Problem& p : check_reliability(job)) problems.push_back(std::move(p));
  for (Problem& p : check_collectives(job)) problems.push_back(std::move(p));
  for (Problem& p : check_weight_sync(job)) problems.push_back(std::move(p));
  for (Problem& p : check_serve(job)) problems.push_back(std::move(p));
  if (job.pools.empty()) {
    std::vector<Problem> const more = Checker(job).run(!job.serve, true);
    problems.insert(problems.begin(), more.begin(), more.end());
    return problems;
  }
  auto const append = [&](std::vector<Problem> more) {
    problems.insert(problems.end(), more.begin(), more.end());
  };
  append(Checker(on_pool(job, job.role_pools.actor)).run(true, colocated(job)));
  if (generates(job.algorithm.kind) && !colocated(job))
    append(Checker(on_pool(job, job.role_pools.rollout)).run(false, true));
  append(check_pools(job));
  return problems;
}

}  // namespace rollcast
