#include "scenarios/text/scenario_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "models/pools.hpp"
#include "scenarios/preset.hpp"
#include "scenarios/text/catalog_fields.hpp"
#include "scenarios/text/expected_fields.hpp"
#include "scenarios/text/failure_fields.hpp"
#include "scenarios/text/hf_config.hpp"
#include "scenarios/text/job_fields.hpp"
#include "scenarios/text/length_fields.hpp"
#include "scenarios/text/measured_fields.hpp"
#include "scenarios/text/pool_fields.hpp"
#include "scenarios/text/reliability_fields.hpp"
#include "scenarios/text/serve_fields.hpp"
#include "scenarios/text/weight_sync_fields.hpp"

namespace rollcast {
namespace {

constexpr std::int64_t kMostGpus = 1'000'000;

bool is_path(std::string_view name) {
  return name.find('/') != std::string_view::npos ||
         (name.size() > 5 && name.substr(name.size() - 5) == ".json");
}

// "meta-llama/Llama-3.1-8B-Instruct" as the catalog would spell it.
std::string catalog_spelling(std::string_view name) {
  std::string out(name.substr(name.rfind('/') == std::string_view::npos ? 0 : name.rfind('/') + 1));
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

bool read_config_file(Fields& f, std::string_view key, Value const& v, Architecture& a,
                      ScenarioPlace const& place) {
  namespace fs = std::filesystem;
  fs::path path(v.text);
  if (path.is_relative()) path = fs::path(place.folder) / path;
  std::error_code error;
  if (fs::is_directory(path, error)) path /= "config.json";
  if (!fs::exists(path, error)) {
    Architecture const* meant = find_architecture(place.catalog, catalog_spelling(v.text));
    f.problem(v.mark, key, fmt::format("there is no file '{}'", shown(v.text)),
              meant != nullptr ? fmt::format("did you mean {} of the catalog?", meant->name)
                               : "write a name of the catalog or the path of a config.json");
    return false;
  }
  HfConfigResult const config = read_hf_config(path.string());
  for (Problem const& p : config.problems) f.reading().problems.push_back(p);
  if (!config.architecture) return false;
  a = *config.architecture;
  return true;
}

// `key: name`, `key: path/config.json` or `key: {...}`.
bool read_model(Fields& f, std::string_view key, Architecture& a, ScenarioPlace const& place,
                std::string_view meaning) {
  bool good = false;
  f.custom(key, "catalog name, path of a Hugging Face config.json, or a map", "", meaning,
           [&](Value const& v) {
             std::size_t const before = f.reading().problems.size();
             if (v.kind == ValueKind::scalar && is_path(v.text)) {
               if (!read_config_file(f, key, v, a, place)) return;
               f.origin(key, a.name);
               Fields inner(f.reading(), nullptr, f.path_of(key), v.mark, v.text);
               describe(inner, a, place.catalog);
             } else if (v.kind == ValueKind::scalar) {
               Architecture const* found = named_architecture(f, key, v, place.catalog);
               if (found == nullptr) return;
               a = *found;
               f.origin(key, a.name);
               Fields inner(f.reading(), nullptr, f.path_of(key), v.mark, "");
               inner.set_from("catalog " + a.name, &found->sources);
               describe(inner, a, place.catalog);
             } else if (v.kind == ValueKind::map) {
               Fields inner(f.reading(), &v, f.path_of(key), v.mark, "default");
               if (a.name.empty()) a.name = "inline model";
               describe(inner, a, place.catalog);
               inner.finish();
               std::string const why = f.reading().problems.size() == before ? fault(a) : "";
               if (!why.empty()) f.problem(v.mark, key, why, "correct the shapes");
             } else {
               f.problem(v.mark, key, "a list in place of one model", "write a name of the catalog");
             }
             good = f.reading().problems.size() == before;
           });
  return good;
}

void read_storage(Fields& g, ClusterSpec& c, ScenarioPlace const& place) {
  Fabric second;
  if (reference(g, "storage_fabric", second, place.catalog,
                "a second network, with network cards of its own (storage_nics of the node)"))
    c.storage_fabric = std::move(second);
  g.group("storage", "a file system that all nodes share, behind the second network where there is one",
          [&](Fields& s) {
            s.quantity("read", c.storage.read, kNotNegative, "by all nodes together; 0: there is none");
            s.quantity("write", c.storage.write, kNotNegative, "by all nodes together; 0: there is none");
          });
}

bool read_cluster(Fields& f, ClusterSpec& c, ScenarioPlace const& place) {
  bool good = false;
  f.group("cluster", "the machines", [&](Fields& g) {
    bool const node = reference(g, "node", c.node, place.catalog, "the nodes, all equal");
    g.require("node", "write for example node: hgx-h100");
    g.integer("nodes", c.nodes, kCount, "how many of them");
    if (g.listing()) {
      reference(g, "fabric", c.fabric, place.catalog,
                "the network between the nodes; default: the node's usual one");
      read_storage(g, c, place);
      return;
    }
    Fabric const* usual = find_fabric(place.catalog, c.node.fabric);
    if (usual != nullptr) c.fabric = *usual;
    std::size_t const before = g.reading().problems.size();
    reference(g, "fabric", c.fabric, place.catalog, "the network between the nodes");
    if (node && usual == nullptr && !g.has("fabric") && c.nodes > 1) {
      g.problem_here(g.mark_of("node"), "no fabric between the nodes", "write for example fabric: ib-400g");
    }
    read_storage(g, c, place);
    good = node && g.reading().problems.size() == before;
    if (good && std::int64_t{c.nodes} * c.node.gpus > kMostGpus) {
      g.problem(g.mark_of("nodes"), "nodes",
                fmt::format("{} GPUs are more than the {} that a forecast takes",
                            std::int64_t{c.nodes} * c.node.gpus, kMostGpus),
                fmt::format("write at most nodes: {}", kMostGpus / c.node.gpus));
      good = false;
    }
  });
  return good;
}

FrameworkOptions without_framework() {
  FrameworkOptions o;
  o.kind = FrameworkKind::none;
  o.single_controller = false;
  o.reference_on_host = o.optimizer_offload = o.parameters_offload = false;
  return o;
}

void read_framework(Fields& f, FrameworkOptions& o) {
  o = without_framework();
  auto const read_name = [&](Fields& g, std::string_view key, Value const& v) {
    std::vector<std::string_view> names;
    for (FrameworkKind k : known_frameworks()) {
      names.push_back(name_of(k));
      if (v.kind != ValueKind::scalar || v.text != names.back()) continue;
      o.kind = k;
      f.origin("framework", std::string(name_of(k)));
      return;
    }
    std::string_view const near = nearest(v.text, names);
    g.problem(v.mark, key, fmt::format("there is no framework '{}'", shown(v.text)),
              near.empty() ? "write framework: nemo-rl" : fmt::format("did you mean {}?", near));
  };
  auto const read_map = [&](Fields& g) {
    g.custom("base", "name of a framework", "none", "the preset to start from",
             [&](Value const& v) { read_name(g, "base", v); });
    o.single_controller = g.listing() || o.kind != FrameworkKind::none;
    describe(g, o);
  };
  f.custom("framework", "name of a framework, or a map", "none", "phase order, switching and defaults",
           [&](Value const& v) {
             if (v.kind != ValueKind::map) {
               read_name(f, "framework", v);
               o.single_controller = o.kind != FrameworkKind::none;
               return;
             }
             Fields inner(f.reading(), &v, "framework", v.mark, "default");
             read_map(inner);
             inner.finish();
           });
  if (!f.listing()) {
    if (!f.has("framework")) f.origin("framework", "none");
    return;
  }
  Fields inner(f.rows(), "framework");
  read_map(inner);
}

void read_algorithm(Fields& f, Job& job, ScenarioPlace const& place) {
  f.group("algorithm", "what is trained, and how; not with serve", [&](Fields& g) {
    describe(g, job.algorithm);
    bool const ppo = job.algorithm.kind == AlgorithmKind::ppo;
    if (g.listing() || ppo) {
      Architecture critic;
      if (read_model(g, "critic", critic, place, "the critic (ppo); default: as model")) job.critic = critic;
    } else {
      g.forbid("critic", "only ppo has a critic");
    }
    if (g.listing() || job.algorithm.reward_model) {
      Architecture reward;
      if (read_model(g, "reward_model", reward, place, "the reward model; default: as model"))
        job.reward_model = reward;
    } else {
      g.forbid("reward_model",
               generates(job.algorithm.kind) ? "rules score; write reward: model" : "nothing is scored");
    }
  });
  f.require("algorithm",
            "write for example algorithm: {kind: grpo, prompts: 64, group_size: 32}, or serve: {...}");
}

void read_workload(Fields& f, Job& job, ScenarioPlace const& place) {
  f.group("workload", "the lengths of the sequences", [&](Fields& g) {
    read_lengths(g, "prompt_tokens", job.workload.prompt_tokens, place.folder, "tokens of a prompt");
    read_lengths(g, "response_tokens", job.workload.response_tokens, place.folder, "tokens of a response");
    g.require("prompt_tokens", "write for example prompt_tokens: 512");
    g.require("response_tokens",
              "write for example response_tokens: {lognormal: {mean: 1000, p95: 2500}, max: 4096}");
    if (g.listing() || (generates(job.algorithm.kind) && !job.serve)) {
      g.number("growth_per_step", job.workload.response_tokens.growth_per_step, {-0.5, 1, false},
               "responses of step s are (1 + growth)^s times as long, before the cut (grpo, ppo)");
      g.number("sibling_correlation", job.workload.sibling_correlation, {0, 0.999, false},
               "of the normal scores of two responses to one prompt (grpo, ppo)");
    } else {
      g.forbid("growth_per_step", job.serve ? "nothing is trained" : "the lengths of a data set do not grow");
      g.forbid("sibling_correlation", job.serve ? "requests have no groups" : "a data set has no groups");
    }
  });
  f.require("workload", "write for example workload: {prompt_tokens: 512, response_tokens: 1024}");
}

// An asynchronous step comes in parts; without a train_batch each is an optimizer step.
void cut_train_batch(Fields& f, Job& job) {
  int const parts = job.schedule.async.parts_per_step;
  if (job.schedule.kind != ScheduleKind::async || job.algorithm.samples() % parts != 0) return;
  for (Origin& o : f.reading().origins) {
    if (o.key != "algorithm.train_batch" || o.from != "derived") continue;
    job.algorithm.train_batch = job.algorithm.samples() / parts;
    o.value = fmt::format("{}", job.algorithm.train_batch);
  }
}

void read_rollout(Fields& f, Job& job) {
  if (!f.listing() && !generates(job.algorithm.kind)) {
    std::string const why = fmt::format("{} generates nothing", name_of(job.algorithm.kind));
    for (std::string_view key : {"rollout", "schedule", "score"}) f.forbid(key, why);
    return;
  }
  f.group("rollout", "the engine that generates (grpo, ppo, serve)", [&](Fields& g) {
    read_pool(g, "pool", job, job.role_pools.rollout, "the engines' pool; default: the first");
    std::vector<Pool> const pools = pools_of(job);
    describe(g, job.rollout, pools[static_cast<std::size_t>(job.role_pools.rollout)].cluster.node.gpu,
             job.model.max_context);
  });
  read_schedule(f, job.schedule);
  if (!f.listing()) cut_train_batch(f, job);
  f.group("score", "who scores the samples by rule, and how long it takes",
          [&](Fields& g) { describe(g, job.score); });
}

// The blocks that only training has, framework and pools aside.
void read_training(Fields& f, Job& job, ScenarioPlace const& place) {
  read_algorithm(f, job, place);
  if (f.listing()) read_serve(f, job, place.folder);
  read_workload(f, job, place);
  f.group("train", "the trainer", [&](Fields& g) {
    describe(g, job.train);
    read_pool(g, "pool", job, job.role_pools.actor, "the actor's pool; default: the first");
  });
  read_rollout(f, job);
  read_weight_sync(f, job);
  if (f.listing() || generates(job.algorithm.kind)) {
    f.group("validation", "generation for prompts that nothing is trained on",
            [&](Fields& g) { describe(g, job.validation); });
  } else {
    f.forbid("validation", fmt::format("{} generates nothing", name_of(job.algorithm.kind)));
  }
  f.group("checkpoint", "when the actor's state is saved, and how fast",
          [&](Fields& g) { describe(g, job.checkpoint); });
  read_reliability(f, job.reliability);
  read_placement(f, job);
}

void read_serving(Fields& f, Job& job, ScenarioPlace const& place) {
  forbid_training(f);
  job.framework = without_framework();
  read_serve(f, job, place.folder);
  if (!job.serve) {  // a problem of the block hides the others
    for (std::string_view key : {"workload", "rollout"}) f.allow(key);
    return;
  }
  if (job.serve->arrivals.kind != ArrivalKind::trace) read_workload(f, job, place);
  f.group("rollout", "the engine that generates", [&](Fields& g) {
    prepare_serving_engine(g, job);
    describe(g, job.rollout, job.cluster.node.gpu, job.model.max_context);
  });
}

}  // namespace

bool read_scenario_fields(Fields& f, Scenario& s, ScenarioPlace const& place) {
  Job& job = s.job;
  bool const serving = serves(f);
  bool const model = read_model(f, "model", job.model, place, "the model that is trained, or served");
  if (f.listing()) {
    Fields inner(f.rows(), "model");
    describe(inner, job.model, place.catalog);
  }
  f.require("model", "write for example model: llama-3.1-8b-instruct");
  bool const cluster = read_cluster(f, job.cluster, place);
  f.require("cluster", "write for example cluster: {node: hgx-h100, nodes: 2}");
  bool pools = true;
  if (serving) {
    read_serving(f, job, place);
  } else {
    pools = read_pools(f, job, place);
    read_framework(f, job.framework);
    read_training(f, job, place);
  }
  read_measured(f, s.measured);
  read_expected(f, s.expected);
  f.group("watchdog", "when a process ends that waits in a collective",
          [&](Fields& g) { describe(g, job.watchdog); });
  job.launcher.kind = job.framework.single_controller ? LauncherKind::ray : LauncherKind::torchrun;
  f.group("launcher", "what happens when a process ends", [&](Fields& g) { describe(g, job.launcher); });
  f.group("network", "what else is on the network between nodes",
          [&](Fields& g) { describe(g, job.network); });
  if (!serving) read_faults(f, job);
  return model && cluster && pools && (!serving || job.serve);
}

std::vector<SchemaRow> const& scenario_keys() {
  static std::vector<SchemaRow> const keys = [] {
    std::vector<SchemaRow> rows;
    Fields f(rows, "");
    Scenario defaults;
    read_scenario_fields(f, defaults, {builtin_catalog(), ""});
    return rows;
  }();
  return keys;
}

}  // namespace rollcast
