#include "scenarios/import/blocks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <initializer_list>
#include <optional>

#include "models/catalog/catalog.hpp"
#include "models/lengths.hpp"

namespace rollcast {
namespace {

constexpr std::string_view kAssumedNode = "hgx-h100";
// Prompts of the published runs with known lengths are short beside their limit: 127 tokens of 4,096
// (NeMo-RL).
constexpr std::int64_t kAssumedPrompt = 256;
// Of the same runs: a mean response of 1,019 where 3,969 are allowed, p95 / mean = 2.55.
constexpr std::int64_t kResponseShare = 4;
constexpr double kTail = 2.55;

std::string plain_name(std::string_view id) {
  while (id.ends_with('/')) id.remove_suffix(1);
  std::size_t const slash = id.rfind('/');
  std::string out(slash == std::string_view::npos ? id : id.substr(slash + 1));
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  // ModelScope's folders write a dot so.
  for (std::size_t at = out.find("___"); at != std::string::npos; at = out.find("___"))
    out.replace(at, 3, ".");
  return out;
}

// The longest name of the catalog that the name starts with, up to a dash or underscore; nullptr: none.
Architecture const* family_of(std::string const& name) {
  Catalog const& catalog = builtin_catalog();
  for (std::size_t end = name.find_last_of("-_"); end != std::string::npos && end > 0;
       end = name.find_last_of("-_", end - 1)) {
    if (Architecture const* a = find_architecture(catalog, name.substr(0, end))) return a;
  }
  return nullptr;
}

Node const* node_of(Configuration& c) {
  std::string_view const name = c.options.node.empty() ? kAssumedNode : std::string_view(c.options.node);
  return find_node(builtin_catalog(), name);
}

void set_node(Configuration& c, std::string const& path, std::int64_t gpus) {
  Node const* node = node_of(c);
  std::string const name = node != nullptr ? node->name : std::string(kAssumedNode);
  if (gpus == gpus_of_node(c)) {
    c.draft.set_text(path, name);
  } else {
    c.draft.set_text(path + ".base", name);
    c.draft.set(path + ".gpus", gpus);
  }
}

void assume_node(Configuration& c) {
  if (c.options.node.empty())
    c.assume(fmt::format("cluster.node: {}", kAssumedNode),
             "the configuration names no machines (--node NAME)");
}

std::int64_t ceiling(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace

std::string model_name(Configuration& c, std::string_view id) {
  std::error_code error;
  std::filesystem::path const config = std::filesystem::path(std::string(id)) / "config.json";
  if (std::filesystem::is_regular_file(config, error)) return config.string();
  Catalog const& catalog = builtin_catalog();
  std::string const name = plain_name(id);
  if (Architecture const* a = find_architecture(catalog, name)) return a->name;
  if (Architecture const* a = family_of(name)) {
    c.assume(fmt::format("model: {}", a->name), fmt::format("by the name {}", shown(id)));
    return a->name;
  }
  c.assume(fmt::format("model: {}", shown(id)),
           "not in the catalog: write the path of its config.json in its place");
  return std::string(id);
}

void set_model(Configuration& c, std::string_view key, std::string_view path) {
  if (auto const id = c.path(key)) c.draft.set_text(path, model_name(c, *id));
}

void require_model(Configuration& c, std::vector<std::string> const& keys) {
  for (std::string const& key : keys) {
    if (!c.has(key)) continue;
    if (auto const id = c.path(key)) {
      c.model = model_name(c, *id);
      c.draft.set_text("model", c.model);
    }
    return;
  }
  c.problem(keys.front(), "the model is not given", "add its name or path");
}

std::int64_t gpus_of_node(Configuration& c) {
  Node const* node = node_of(c);
  return node != nullptr ? node->gpus : 8;
}

namespace {

// A flag of the launcher, by any of its names.
std::optional<std::int64_t> launcher_whole(Configuration& c, std::initializer_list<std::string_view> names) {
  for (std::string_view name : names) {
    Setting* const s = c.launcher.find(name);
    if (s == nullptr || s->values.empty()) continue;
    s->used = true;
    NumberText const n = parse_whole_number(Value{ValueKind::scalar, {}, s->values.front(), false, {}, {}});
    if (n.ok && holds(kWholeCount, n.value) && s->unset.empty()) return static_cast<std::int64_t>(n.value);
  }
  return {};
}

// GPUs named by CUDA_VISIBLE_DEVICES before the command; 0: not said.
std::int64_t visible_devices(Configuration const& c) {
  constexpr std::string_view kName = "CUDA_VISIBLE_DEVICES=";
  for (Word const& w : c.environment) {
    if (!w.text.starts_with(kName) || w.text.size() == kName.size() || !w.unset.empty()) continue;
    return std::count(w.text.begin(), w.text.end(), ',') + 1;
  }
  return 0;
}

}  // namespace

std::int64_t launched_nodes(Configuration& c) {
  auto const nodes = launcher_whole(c, {"nnodes", "num_machines", "num_nodes"});
  if (!nodes) c.assume("cluster.nodes: 1", "the launch command does not tell");
  return nodes.value_or(1);
}

std::int64_t launched_gpus(Configuration& c) {
  if (c.options.gpus > 0) return c.options.gpus;
  if (auto const v = launcher_whole(c, {"nproc_per_node", "num_gpus"})) return *v;
  if (auto const all = launcher_whole(c, {"num_processes"})) {
    std::int64_t const nodes = launcher_whole(c, {"nnodes", "num_machines", "num_nodes"}).value_or(1);
    return std::max<std::int64_t>(1, *all / nodes);
  }
  if (std::int64_t const n = visible_devices(c); n > 0) return n;
  c.assume(fmt::format("GPUs of a node: {}", gpus_of_node(c)), "the launch command does not tell (--gpus N)");
  return gpus_of_node(c);
}

void set_cluster(Configuration& c, Machines const& m) {
  assume_node(c);
  set_node(c, "cluster.node", m.gpus_per_node);
  c.draft.set("cluster.nodes", m.nodes);
}

namespace {

enum class Share { whole_nodes, part_of_node, nodes_of_their_own };

Share share_of(Machines const& m, std::int64_t size) {
  if (m.gpus() < size) return Share::part_of_node;
  bool const whole = m.gpus_per_node == size || (m.nodes == 1 && m.gpus() % size == 0);
  return whole ? Share::whole_nodes : Share::nodes_of_their_own;
}

// Nodes that hold fewer GPUs than the cluster's, under a name of their own.
void set_own_nodes(Configuration& c, Machines m, std::int64_t size) {
  std::int64_t const total = m.gpus();
  if (m.gpus_per_node > size) {
    m.nodes = ceiling(total, size);
    while (total % m.nodes != 0) ++m.nodes;
    m.gpus_per_node = total / m.nodes;
  }
  std::string const path = "pools." + m.pool;
  c.draft.set(path + ".nodes", m.nodes);
  std::string const base = node_of(c) != nullptr ? node_of(c)->name : std::string(kAssumedNode);
  c.draft.set_text(path + ".node.base", base);
  c.draft.set_text(path + ".node.name", fmt::format("{}-{}-gpus", base, m.gpus_per_node));
  c.draft.set(path + ".node.gpus", m.gpus_per_node);
  c.assume(fmt::format("pools.{}: {} nodes of {} GPUs of their own", m.pool, m.nodes, m.gpus_per_node),
           "the configuration takes part of the nodes");
}

}  // namespace

void set_pools(Configuration& c, std::vector<Machines> const& pools) {
  assume_node(c);
  std::int64_t const size = gpus_of_node(c);
  std::int64_t whole = 0;   // nodes
  std::int64_t parts = 0;   // GPUs
  std::int64_t others = 0;  // GPUs
  for (Machines const& m : pools) {
    Share const share = share_of(m, size);
    (share == Share::whole_nodes ? whole : share == Share::part_of_node ? parts : others) += m.gpus();
  }
  whole /= size;
  bool const one_node = whole == 0 && others == 0 && parts <= size;
  bool const shared = one_node || parts % size == 0;
  set_node(c, "cluster.node", one_node ? parts : size);
  std::int64_t const nodes = one_node ? 1 : whole + ceiling(parts, size) + ceiling(others, size);
  c.draft.set("cluster.nodes", std::max<std::int64_t>(1, nodes));
  for (Machines const& m : pools) {
    Share const share = share_of(m, size);
    if (share == Share::whole_nodes) {
      c.draft.set("pools." + m.pool + ".nodes", m.gpus() / size);
    } else if (share == Share::part_of_node && shared) {
      c.draft.set("pools." + m.pool + ".gpus", m.gpus());
    } else {
      set_own_nodes(c, m, size);
    }
  }
}

void set_expert_parallel(Configuration& c, std::string const& prefix, std::string const& transformer,
                         std::int64_t etp) {
  std::int64_t const ep = c.whole(prefix + "expert_model_parallel_size").value_or(1);
  etp = c.whole(prefix + "expert_tensor_parallel_size").value_or(etp);
  bool const flex = c.text(transformer + "moe_token_dispatcher_type") == "flex";
  bool const deepep = c.on(transformer + "moe_enable_deepep") ||
                      c.text(transformer + "moe_flex_dispatcher_backend") == "deepep";
  if (ep <= 1) return;
  c.draft.set("train.parallel.ep", ep);
  c.draft.set("train.parallel.etp", etp);
  if (flex && deepep) c.draft.set_text("train.expert_dispatch", "deepep");
}

namespace {

// Positions of the model that is trained, made enough for `tokens`.
void allow_positions(Configuration& c, std::int64_t tokens) {
  Architecture const* const a = find_architecture(builtin_catalog(), c.model);
  if (a == nullptr || a->max_context == 0 || tokens <= a->max_context) return;
  c.draft.erase("model");
  c.draft.set_text("model.base", a->name);
  c.draft.set("model.max_context", tokens);
  c.assume(fmt::format("model.max_context: {}", tokens),
           fmt::format("the lengths ask for more than the {} positions of {}", a->max_context, a->name));
}

void set_responses(Configuration& c, std::int64_t longest) {
  std::string const path = "workload.response_tokens";
  if (longest <= 0) {
    c.problem("", "the longest response is not given", "add the limit of the response's length");
    return;
  }
  std::int64_t mean = c.options.mean_response;
  if (mean <= 0) {
    mean = std::max<std::int64_t>(1, longest / kResponseShare);
    c.assume(fmt::format("{}: a mean of {}", path, mean),
             "a quarter of the longest, as in published runs (--mean-response N)");
  }
  if (mean > longest) {
    c.problems.push_back({"--mean-response", 0, 0, "",
                          fmt::format("a mean of {} where the longest response has {} tokens", mean, longest),
                          fmt::format("write at most {}", longest), ""});
    return;
  }
  for (double tail : {kTail, 2.2, 1.9, 1.6, 1.4, 1.2, 1.1, 1.05}) {
    double const p95 = static_cast<double>(static_cast<std::int64_t>(tail * static_cast<double>(mean)));
    if (p95 >= static_cast<double>(longest) || p95 < static_cast<double>(mean) || longest > 2'000'000'000)
      continue;
    if (!fit_lognormal(static_cast<double>(mean), p95, static_cast<int>(longest)).error.empty()) continue;
    c.assume(fmt::format("{}: log-normal, p95 {:.9g}", path, p95), "the shape of published runs");
    c.draft.set(path + ".lognormal.mean", mean);
    c.draft.set(path + ".lognormal.p95", p95);
    c.draft.set(path + ".max", longest);
    return;
  }
  c.assume(fmt::format("{}: all of {}", path, mean), "no spread fits below the longest");
  c.draft.set(path, mean);
}

}  // namespace

void set_lengths(Configuration& c, LengthLimits limits) {
  std::int64_t prompt = c.options.mean_prompt;
  std::int64_t const longest = limits.prompt > 0 ? limits.prompt : limits.both;
  if (prompt <= 0) {
    prompt = longest > 0 ? std::clamp<std::int64_t>(longest / 4, 1, kAssumedPrompt) : kAssumedPrompt;
    c.assume(fmt::format("workload.prompt_tokens: {}", prompt),
             longest > 0 ? fmt::format("at most {} are allowed (--mean-prompt N)", longest)
                         : "the configuration sets no limit (--mean-prompt N)");
  } else if (longest > 0 && prompt > longest) {
    c.problems.push_back({"--mean-prompt", 0, 0, "",
                          fmt::format("a mean of {} where the longest prompt has {} tokens", prompt, longest),
                          fmt::format("write at most {}", longest), ""});
  }
  c.draft.set("workload.prompt_tokens", prompt);
  std::int64_t response = limits.response;
  if (limits.both > 0) {
    std::int64_t const rest = limits.both - prompt;
    response = response > 0 ? std::min(response, rest) : rest;
  }
  set_responses(c, response);
  allow_positions(c, prompt + response);
}

void set_adapter(Configuration& c, std::int64_t rank, std::vector<std::string> const& targets, bool four_bit,
                 std::string_view sync) {
  static constexpr std::array<std::string_view, 7> kAll = {"q", "k", "v", "o", "gate", "up", "down"};
  std::array<bool, 7> chosen{};
  auto const choose = [&](std::initializer_list<std::size_t> which) {
    for (std::size_t i : which) chosen[i] = true;
  };
  if (targets.empty()) {
    choose({0, 1, 2, 3, 4, 5, 6});
    c.assume("algorithm.adapter.targets: every projection", "the configuration names none");
  }
  for (std::string const& t : targets) {
    std::string const name = t.substr(t.find_last_of('.') == std::string::npos ? 0 : t.find_last_of('.') + 1);
    if (name == "all-linear" || name == "all" || name == "all_linear")
      choose({0, 1, 2, 3, 4, 5, 6});
    else if (name == "linear_qkv" || name == "qkv_proj" || name == "query_key_value")
      choose({0, 1, 2});
    else if (name == "linear_proj" || name == "o_proj" || name == "out_proj")
      choose({3});
    else if (name == "linear_fc1" || name == "gate_up_proj")
      choose({4, 5});
    else if (name == "linear_fc2" || name == "down_proj")
      choose({6});
    else if (name == "q_proj")
      choose({0});
    else if (name == "k_proj")
      choose({1});
    else if (name == "v_proj")
      choose({2});
    else if (name == "gate_proj")
      choose({4});
    else if (name == "up_proj")
      choose({5});
    else
      c.assume(fmt::format("algorithm.adapter.targets: without {}", shown(t)), "it names no projection");
  }
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kAll.size(); ++i) {
    if (chosen[i]) names.emplace_back(kAll[i]);
  }
  c.draft.set_text("algorithm.adapter.kind", four_bit ? "qlora" : "lora");
  c.draft.set("algorithm.adapter.rank", rank);
  if (!names.empty()) c.draft.set_list("algorithm.adapter.targets", names);
  if (!sync.empty()) c.draft.set_text("algorithm.adapter.sync", sync);
}

void drop_contradictions(Configuration& c) {
  bool const async = c.draft.has("schedule.async");
  auto const drop = [&](std::string_view path, std::string_view why) {
    if (!c.draft.has(path)) return;
    c.draft.erase(path);
    c.assume(fmt::format("without {}", path), why);
  };
  if (async) {
    drop("algorithm.dynamic_sampling", "an asynchronous run has no rounds of generation");
    drop("rollout.oversampling", "an asynchronous run generates without an end");
  } else if (!c.draft.has("rollout.oversampling")) {
    drop("rollout.partial_rollout", "nothing is unfinished without oversampling");
  }
}

void set_environment(Configuration& c, std::int64_t turns, std::int64_t observation_tokens) {
  c.draft.set("score.environment.turns", turns);
  c.draft.set("score.environment.observation_tokens", observation_tokens);
  c.draft.set_plain("score.environment.tool_seconds.mean", "1 s");
  c.draft.set_plain("score.environment.tool_seconds.p95", "3 s");
  c.assume("score.environment.tool_seconds: mean 1 s, p95 3 s", "the configuration cannot tell");
  c.assume(fmt::format("score.environment: {} turns, each as allowed, {} tokens a tool's answer", turns,
                       observation_tokens),
           "these are limits");
}

void leave_out_rounds(Configuration& c) {
  if (!c.draft.has("schedule.async")) return;
  for (std::string_view const key : {"algorithm.dynamic_sampling", "rollout.oversampling"}) {
    if (!c.draft.has(key)) continue;
    c.draft.erase(key);
    c.assume(fmt::format("{}: none", key), "an asynchronous run generates without an end");
  }
}

}  // namespace rollcast
