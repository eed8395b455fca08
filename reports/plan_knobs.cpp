#include "reports/plan_knobs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "models/pools.hpp"
#include "scenarios/preset.hpp"

namespace rollcast {
namespace {

constexpr int kMostTp = 8;
constexpr int kMostPp = 16;
constexpr int kMostCp = 8;
constexpr int kMostEp = 64;

std::vector<int> powers_of_two(int most, int file) {
  std::set<int> values{file};
  for (int v = 1; v <= most; v *= 2) values.insert(v);
  return {values.begin(), values.end()};
}

PlanKnob sizes(std::string const& name, std::vector<int> const& values,
               std::function<void(Job&, double)> apply) {
  PlanKnob k{name, {}, std::move(apply)};
  for (int v : values)
    k.values.push_back({std::to_string(v), {fmt::format("{}={}", name, v)}, static_cast<double>(v)});
  return k;
}

PlanKnob trainer_tp(Job const& file) {
  PlanKnob k =
      sizes("train.parallel.tp", powers_of_two(kMostTp, file.train.parallel.tp), [](Job& j, double v) {
        j.train.parallel.tp = static_cast<int>(v);
        j.train.sequence_parallel = v > 1;
      });
  for (PlanValue& v : k.values) v.sets.push_back(fmt::format("train.sequence_parallel={}", v.number > 1));
  return k;
}

PlanKnob recompute(Job const& file) {
  PlanKnob k{"train.recompute", {}, [](Job& j, double v) { j.train.recompute = static_cast<Recompute>(v); }};
  for (Recompute r : {Recompute::none, Recompute::selective, Recompute::full}) {
    bool const offered = r != Recompute::selective || file.train.kind == TrainerKind::megatron ||
                         file.train.recompute == Recompute::selective;
    if (offered)
      k.values.push_back(
          {std::string(name_of(r)), {fmt::format("train.recompute={}", name_of(r))}, static_cast<double>(r)});
  }
  return k;
}

PlanKnob optimizer_on_host() {
  PlanKnob k{"train.offload.optimizer", {}, [](Job& j, double v) { j.train.offload.optimizer = v > 0; }};
  k.values = {{"false", {"train.offload.optimizer=false"}, 0}, {"true", {"train.offload.optimizer=true"}, 1}};
  return k;
}

// What a colocated trainer moves to the host while the engines work.
PlanKnob between_phases() {
  PlanKnob k{"framework.*_offload", {}, [](Job& j, double v) {
               j.framework.optimizer_offload = v > 0;
               j.framework.parameters_offload = v > 1;
             }};
  auto const sets = [](bool optimizer, bool parameters) {
    return std::vector<std::string>{fmt::format("framework.optimizer_offload={}", optimizer),
                                    fmt::format("framework.parameters_offload={}", parameters)};
  };
  k.values = {{"none", sets(false, false), 0},
              {"optimizer", sets(true, false), 1},
              {"optimizer and parameters", sets(true, true), 2}};
  return k;
}

// Numbers from a quarter of the file's to four times it.
std::vector<int> around(int file, int least, int most) {
  std::set<int> values{file};
  for (int v : {file / 4, file / 2, 2 * file, 4 * file}) {
    if (v >= least && v <= most) values.insert(v);
  }
  return {values.begin(), values.end()};
}

PlanKnob micro_batch(Job const& file) {
  TrainerOptions const& t = file.train;
  bool const budget = t.dynamic_batching;
  PlanKnob k;
  k.name = budget ? "train.tokens_per_micro_batch" : "train.micro_batch";
  double const ratio = budget
                           ? static_cast<double>(t.logprob_tokens_per_micro_batch) / t.tokens_per_micro_batch
                           : static_cast<double>(t.logprob_micro_batch) / t.micro_batch;
  k.apply = [budget, ratio](Job& j, double v) {
    int const update = static_cast<int>(v);
    int const forward = std::max(1, static_cast<int>(std::lround(ratio * v)));
    (budget ? j.train.tokens_per_micro_batch : j.train.micro_batch) = update;
    (budget ? j.train.logprob_tokens_per_micro_batch : j.train.logprob_micro_batch) = forward;
  };
  for (int v : budget ? around(t.tokens_per_micro_batch, 1024, 1 << 20) : powers_of_two(8, t.micro_batch)) {
    Job with = file;
    k.apply(with, v);
    int const logprob = budget ? with.train.logprob_tokens_per_micro_batch : with.train.logprob_micro_batch;
    k.values.push_back(
        {std::to_string(v),
         {fmt::format("{}={}", k.name, v),
          fmt::format("{}={}", budget ? "train.logprob_tokens_per_micro_batch" : "train.logprob_micro_batch",
                      logprob)},
         static_cast<double>(v)});
  }
  return k;
}

// The index of the value nearest to a number.
std::uint8_t nearest_value(PlanKnob const& k, double number) {
  auto const nearer = [number](PlanValue const& a, PlanValue const& b) {
    return std::fabs(a.number - number) < std::fabs(b.number - number);
  };
  return static_cast<std::uint8_t>(std::min_element(k.values.begin(), k.values.end(), nearer) -
                                   k.values.begin());
}

double number_of(PlanKnob const& k, Job const& j) {
  TrainerOptions const& t = j.train;
  if (k.name == "train.parallel.tp") return t.parallel.tp;
  if (k.name == "train.parallel.pp") return t.parallel.pp;
  if (k.name == "train.parallel.cp") return t.parallel.cp;
  if (k.name == "train.parallel.ep") return t.parallel.ep;
  if (k.name == "train.zero_stage") return t.zero_stage;
  if (k.name == "train.recompute") return static_cast<double>(t.recompute);
  if (k.name == "train.offload.optimizer") return t.offload.optimizer ? 1 : 0;
  if (k.name == "framework.*_offload")
    return j.framework.parameters_offload ? 2 : j.framework.optimizer_offload ? 1 : 0;
  if (k.name == "train.tokens_per_micro_batch") return t.tokens_per_micro_batch;
  if (k.name == "train.micro_batch") return t.micro_batch;
  if (k.name == "rollout.parallel.tp") return j.rollout.parallel.tp;
  return j.rollout.gpu_memory_utilization;
}

// The cluster with this many GPUs: whole nodes, or part of one. Empty: it is the file's.
std::vector<std::string> cluster_sets(ClusterSpec const& c, int gpus) {
  if (gpus == c.gpus()) return {};
  Node const& n = c.node;
  if (gpus % n.gpus == 0) return {fmt::format("cluster.nodes={}", gpus / n.gpus)};
  std::vector<std::string> sets = {"cluster.nodes=1", fmt::format("cluster.node.gpus={}", gpus)};
  if (n.nics > 0) sets.push_back(fmt::format("cluster.node.nics={}", std::max(1, n.nics * gpus / n.gpus)));
  sets.push_back(fmt::format("cluster.node.numa_nodes={}", std::min(n.numa_nodes, gpus)));
  sets.push_back(fmt::format("cluster.node.gpus_per_pcie_switch={}", std::min(n.gpus_per_pcie_switch, gpus)));
  return sets;
}

std::vector<ScheduleKind> schedules_apart(FrameworkKind framework) {
  std::vector<ScheduleKind> kinds = {ScheduleKind::synchronous};
  for (PresetMode m : preset_modes(framework)) {
    if (m == PresetMode::one_step_off) kinds.push_back(ScheduleKind::one_step_off);
    if (m == PresetMode::async) kinds.push_back(ScheduleKind::async);
  }
  return kinds;
}

// The file's trainer and engines on pools of their own, of one kind of node, and nothing else.
bool has_two_pools(Job const& file) {
  if (file.pools.size() != 2 || colocated(file) ||
      file.pools[0].cluster.node.name != file.pools[1].cluster.node.name)
    return false;
  return file.role_pools.critic == file.role_pools.actor && file.role_pools.reward == file.role_pools.actor &&
         file.role_pools.reference == file.role_pools.actor;
}

void add_split(std::vector<PlanSite>& sites, Job const& file, int gpus, int rollout) {
  bool const named = !file.pools.empty();
  std::string const train =
      named ? file.pools[static_cast<std::size_t>(file.role_pools.actor)].name : "train";
  std::string const engines =
      named ? file.pools[static_cast<std::size_t>(file.role_pools.rollout)].name : "rollout";
  int const of_node = file.cluster.node.gpus;
  bool const whole = gpus % of_node == 0 && rollout % of_node == 0;
  std::string const unit = whole ? "nodes" : "gpus";
  int const divisor = whole ? of_node : 1;
  PlanSite site;
  site.apart = true;
  auto const count = [&](int n) {
    return fmt::format("{} {}{}", n / divisor, whole ? "node" : "GPU", n == divisor ? "" : "s");
  };
  site.placement = fmt::format("{} to train and {} to roll out", count(gpus - rollout), count(rollout));
  site.sets = cluster_sets(file.cluster, gpus);
  site.sets.push_back(fmt::format("pools.{}.{}={}", train, unit, (gpus - rollout) / divisor));
  site.sets.push_back(fmt::format("pools.{}.{}={}", engines, unit, rollout / divisor));
  if (!named) {
    site.sets.push_back(fmt::format("train.pool={}", train));
    site.sets.push_back(fmt::format("rollout.pool={}", engines));
  }
  for (ScheduleKind kind : schedules_apart(file.framework.kind)) {
    PlanSite one = site;
    one.schedule = kind;
    if (kind != file.schedule.kind) one.sets.push_back(fmt::format("schedule={}", name_of(kind)));
    sites.push_back(one);
  }
}

}  // namespace

std::vector<PlanKnob> trainer_knobs(Job const& file) {
  TrainerOptions const& t = file.train;
  std::vector<PlanKnob> knobs;
  if (t.kind == TrainerKind::megatron) {
    knobs.push_back(trainer_tp(file));
    knobs.push_back(sizes("train.parallel.pp", powers_of_two(kMostPp, t.parallel.pp),
                          [](Job& j, double v) { j.train.parallel.pp = static_cast<int>(v); }));
    if (file.model.moe)
      knobs.push_back(sizes("train.parallel.ep",
                            powers_of_two(std::min(kMostEp, file.model.moe->experts), t.parallel.ep),
                            [](Job& j, double v) { j.train.parallel.ep = static_cast<int>(v); }));
  }
  if (t.kind == TrainerKind::megatron || t.kind == TrainerKind::fsdp2)
    knobs.push_back(sizes("train.parallel.cp", powers_of_two(kMostCp, t.parallel.cp),
                          [](Job& j, double v) { j.train.parallel.cp = static_cast<int>(v); }));
  if (t.kind == TrainerKind::deepspeed) {
    std::set<int> stages{2, 3, t.zero_stage};
    knobs.push_back(sizes("train.zero_stage", {stages.begin(), stages.end()},
                          [](Job& j, double v) { j.train.zero_stage = static_cast<int>(v); }));
  }
  knobs.push_back(recompute(file));
  if (t.kind != TrainerKind::ddp) knobs.push_back(optimizer_on_host());
  if (has_rollout(file.algorithm)) knobs.push_back(between_phases());
  knobs.push_back(micro_batch(file));
  return knobs;
}

std::vector<PlanKnob> engine_knobs(Job const& file) {
  if (!has_rollout(file.algorithm) || file.rollout.kind == EngineKind::hf) return {};
  std::vector<PlanKnob> knobs;
  knobs.push_back(sizes("rollout.parallel.tp", powers_of_two(kMostTp, file.rollout.parallel.tp),
                        [](Job& j, double v) { j.rollout.parallel.tp = static_cast<int>(v); }));
  PlanKnob share{
      "rollout.gpu_memory_utilization", {}, [](Job& j, double v) { j.rollout.gpu_memory_utilization = v; }};
  std::set<double> shares{file.rollout.gpu_memory_utilization};
  for (int tenths = 3; tenths <= 9; ++tenths) {
    double const v = tenths / 10.0;
    if (std::fabs(v - file.rollout.gpu_memory_utilization) > 0.01) shares.insert(v);
  }
  for (double v : shares)
    share.values.push_back(
        {fmt::format("{:g}", v), {fmt::format("rollout.gpu_memory_utilization={:g}", v)}, v});
  knobs.push_back(share);
  return knobs;
}

PlanChoice choice_of(std::vector<PlanKnob> const& knobs, Job const& file) {
  PlanChoice choice;
  for (PlanKnob const& k : knobs) choice.push_back(nearest_value(k, number_of(k, file)));
  return choice;
}

void apply(std::vector<PlanKnob> const& knobs, PlanChoice const& choice, Job& job) {
  for (std::size_t k = 0; k < knobs.size(); ++k) knobs[k].apply(job, knobs[k].values[choice[k]].number);
}

std::vector<PlanSite> plan_sites(Job const& file, int gpus) {
  std::vector<PlanSite> sites;
  bool const together = file.pools.empty();
  bool const two = has_two_pools(file);
  if (!together && !two) {
    if (gpus == total_gpus(file))
      sites.push_back(
          {"as in the file", file.schedule.kind, has_rollout(file.algorithm) && !colocated(file), {}});
    return sites;
  }
  int const of_node = file.cluster.node.gpus;
  if (gpus > of_node && gpus % of_node != 0) return sites;
  if (gpus < of_node && file.cluster.node.trays > 1) return sites;
  if (together) {
    PlanSite site{"colocated", ScheduleKind::synchronous, false, cluster_sets(file.cluster, gpus)};
    if (!has_rollout(file.algorithm)) site.placement = "one pool";
    sites.push_back(site);
  }
  if (!has_rollout(file.algorithm) || file.rollout.kind == EngineKind::hf) return sites;
  int const unit = gpus > of_node ? of_node : 1;
  std::set<int> parts;
  for (int quarter = 1; quarter <= 3; ++quarter) parts.insert(gpus / unit * quarter / 4 * unit);
  for (int rollout : parts) {
    if (rollout > 0 && rollout < gpus) add_split(sites, file, gpus, rollout);
  }
  return sites;
}

}  // namespace rollcast
