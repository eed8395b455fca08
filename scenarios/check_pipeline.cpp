#include "scenarios/check_pipeline.hpp"

#include <fmt/format.h>

#include "models/pools.hpp"
#include "models/stage_layers.hpp"
#include "models/time_distribution.hpp"

namespace rollcast {
namespace {

class PipelineChecker {
 public:
  explicit PipelineChecker(Job const& job) : job_(job) {}

  std::vector<Problem> run() {
    check_stages();
    if (!generates(job_.algorithm.kind)) return std::move(problems_);
    check_schedule();
    check_async();
    check_links();
    check_rollout();
    check_experience();
    check_times();
    return std::move(problems_);
  }

 private:
  void add(std::string key, std::string what, std::string remedy) {
    problems_.push_back({"", 0, 0, std::move(key), std::move(what), std::move(remedy), ""});
  }

  void check_stages() {
    TrainerOptions const& t = job_.train;
    bool const own = t.virtual_stages > 1 || t.first_stage_layers || t.last_stage_layers;
    if (own && t.parallel.pp <= job_.model.layers &&
        !stage_layers(job_.model.layers, split_of(t, t.virtual_stages)))
      add("train.virtual_stages",
          fmt::format("the {} layers of {} cannot be split like that over {} pipeline ranks of {} chunks",
                      job_.model.layers, job_.model.name, t.parallel.pp, t.virtual_stages),
          "change first_stage_layers, last_stage_layers or virtual_stages so that each chunk has as many "
          "layers");
    if (t.virtual_stages > 1 && t.parallel.pp == 1)
      add("train.virtual_stages", "an interleaved pipeline of one rank",
          "write virtual_stages: 1, or pp above 1");
  }

  void check_schedule() {
    if (job_.schedule.kind == ScheduleKind::synchronous || !colocated(job_)) return;
    add("schedule",
        fmt::format("{} on GPUs that the trainer and the engines share", name_of(job_.schedule.kind)),
        "give them pools: pools: {train: {nodes: 1}, rollout: {nodes: 1}}, train: {pool: train}, rollout: "
        "{pool: "
        "rollout}");
  }

  void check_async() {
    if (job_.schedule.kind != ScheduleKind::async) return;
    Algorithm const& a = job_.algorithm;
    AsyncOptions const& o = job_.schedule.async;
    if (a.prompts % o.parts_per_step != 0) {
      add("schedule.async.parts_per_step",
          fmt::format("{} prompts do not divide into {} parts", a.prompts, o.parts_per_step),
          "write a divisor of algorithm.prompts");
    } else if (a.train_batch > a.samples() / o.parts_per_step) {
      add("algorithm.train_batch",
          fmt::format("{} samples an optimizer step, and only {} come in one of {} parts", a.train_batch,
                      a.samples() / o.parts_per_step, o.parts_per_step),
          "lower train_batch, or parts_per_step");
    }
    bool const whole = static_cast<double>(static_cast<int>(o.max_staleness)) >= o.max_staleness;
    if ((o.queue == QueueRule::areal || o.queue == QueueRule::nemo_rl) && !whole)
      add("schedule.async.max_staleness", fmt::format("{} counts whole versions", name_of(o.queue)),
          "write a whole number, or queue: verl");
    if (o.queue == QueueRule::nemo_rl && o.max_staleness < 1)
      add("schedule.async.max_staleness", "nemo-rl needs an age of one step at least",
          "write max_staleness: 1");
    if (a.dynamic_sampling)
      add("algorithm.dynamic_sampling", "rounds of generation in an asynchronous run",
          "remove one of the two");
    if (job_.rollout.oversampling > 1)
      add("rollout.oversampling", "generation without an end has nothing to oversample", "remove the key");
    if (job_.rollout.kind == EngineKind::hf)
      add("rollout.engine", "hf generates whole batches", "write engine: vllm, or schedule: one_step_off");
  }

  // Weights go from one pool to the other.
  void check_links() {
    if (colocated(job_) || job_.pools.empty()) return;
    if (same_node(job_, job_.role_pools.actor, job_.role_pools.rollout)) return;
    for (int pool : {job_.role_pools.actor, job_.role_pools.rollout}) {
      Pool const& p = job_.pools[static_cast<std::size_t>(pool)];
      if (p.cluster.node.nics > 0 && p.cluster.node.nic.value > 0) continue;
      add("pools",
          fmt::format("the nodes of pool {} have no network cards for the weights to travel", p.name),
          "give the node nics and nic, or name another node");
    }
  }

  void check_rollout() {
    EngineOptions const& e = job_.rollout;
    if (e.oversampling > 1 && job_.algorithm.dynamic_sampling)
      add("rollout.oversampling", "dynamic sampling has an oversampling of its own", "remove one of the two");
    if (e.partial_rollout && !(e.oversampling > 1) && job_.schedule.kind != ScheduleKind::async)
      add("rollout.partial_rollout", "nothing is unfinished without oversampling",
          "write oversampling: 1.5, say, or remove the key");
    if (e.feed > 0 && job_.schedule.kind == ScheduleKind::async)
      add("rollout.feed", "an asynchronous run feeds its engines as they go", "remove the key");
  }

  // Whether a model that sees the samples has GPUs apart from both the engines and the actor.
  bool has_own_pool(Role role) const {
    if (role == Role::critic && job_.algorithm.kind != AlgorithmKind::ppo) return false;
    if (role == Role::reward && !job_.algorithm.reward_model) return false;
    if (role == Role::reference && !job_.algorithm.kl_reference) return false;
    int const pool = pool_of(job_, role);
    return pool != job_.role_pools.actor && pool != job_.role_pools.rollout;
  }

  void check_experience() {
    FrameworkOptions const& f = job_.framework;
    bool const by_step = f.experience == Experience::step;
    if ((!by_step || f.critic_in_background) && job_.schedule.kind != ScheduleKind::synchronous)
      add(by_step ? "framework.critic_in_background" : "framework.experience",
          fmt::format("a step of {} trains on what is there", name_of(job_.schedule.kind)), "remove the key");
    if (!by_step && !has_own_pool(Role::critic) && !has_own_pool(Role::reward) &&
        !has_own_pool(Role::reference))
      add("framework.experience", "no model has GPUs of its own to see samples meanwhile",
          "give critic, reward model or reference a pool, or write experience: step");
    if (f.experience == Experience::batch && job_.rollout.feed == 0)
      add("framework.experience", "engines that are given all samples at once have no batches",
          "write rollout.feed, or experience: step");
    if (f.critic_in_background && !has_own_pool(Role::critic))
      add("framework.critic_in_background", "the critic has no GPUs of its own",
          "give it a pool, or remove the key");
    if (job_.score.padded_tokens > 0 && job_.algorithm.kind != AlgorithmKind::ppo &&
        !job_.algorithm.reward_model)
      add("score.padded_tokens", "neither a critic nor a reward model", "remove the key");
  }

  void check_time(std::string key, ServiceTime const& t, Seconds cut) {
    if (!(t.p95.value > 0)) return;
    TimeFit const fit = fit_lognormal_time(t.mean, t.p95, cut);
    if (!fit.error.empty()) add(std::move(key), fit.error, "change mean or p95");
  }

  void check_times() {
    Scoring const& s = job_.score;
    if (s.sandbox) check_time("score.sandbox.seconds", s.sandbox->seconds, s.sandbox->timeout);
    if (s.environment) check_time("score.environment.tool_seconds", s.environment->tool, {});
  }

  Job const& job_;
  std::vector<Problem> problems_;
};

}  // namespace

std::vector<Problem> check_pipeline(Job const& job) { return PipelineChecker(job).run(); }

}  // namespace rollcast
