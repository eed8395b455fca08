#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "models/catalog/catalog.hpp"
#include "scenarios/preset.hpp"
#include "scenarios/scenario.hpp"
#include "scenarios/text/catalog_fields.hpp"
#include "scenarios/text/catalog_file.hpp"
#include "scenarios/text/document.hpp"
#include "scenarios/text/fields.hpp"
#include "scenarios/text/scenario_fields.hpp"

namespace rollcast {
namespace {

// A name that stands for {base: name}, so that a path below it can be set.
bool may_be_base(std::string_view path) {
  for (std::string_view p : {"model", "framework", "cluster.node", "cluster.node.gpu", "cluster.fabric",
                             "algorithm.critic", "algorithm.reward_model"}) {
    if (path == p) return true;
  }
  return false;
}

std::string_view text_at(Value const& root, std::string_view block, std::string_view key) {
  Entry const* outer = find(root, block);
  if (outer == nullptr) return {};
  if (outer->value.kind == ValueKind::scalar)
    return key == "base" ? std::string_view(outer->value.text) : std::string_view();
  Entry const* inner = find(outer->value, key);
  return inner != nullptr && inner->value.kind == ValueKind::scalar ? std::string_view(inner->value.text)
                                                                    : std::string_view();
}

template <class E>
E enum_at(Value const& root, std::string_view block, std::string_view key, std::initializer_list<E> all,
          E fallback) {
  std::string_view const text = text_at(root, block, key);
  for (E e : all) {
    if (name_of(e) == text) return e;
  }
  return fallback;
}

// `schedule: async` as a map, so that the preset's options find their place.
void open_schedule(Document& d) {
  for (Entry& e : d.root.entries) {
    if (e.key != "schedule" || e.value.kind != ValueKind::scalar ||
        e.value.text != name_of(ScheduleKind::async))
      continue;
    Value const options{ValueKind::map, e.value.mark, "", false, {}, {}};
    Value map{ValueKind::map, e.value.mark, "", false, {}, {}};
    map.entries.push_back({e.value.text, e.value.mark, options});
    e.value = std::move(map);
  }
}

ScheduleKind schedule_of(Value const& root) {
  Entry const* schedule = find(root, "schedule");
  if (schedule == nullptr) return ScheduleKind::synchronous;
  Value const& v = schedule->value;
  std::string_view const name = v.kind == ValueKind::map && v.entries.size() == 1
                                    ? std::string_view(v.entries.front().key)
                                    : std::string_view(v.text);
  for (ScheduleKind k : {ScheduleKind::one_step_off, ScheduleKind::async}) {
    if (name == name_of(k)) return k;
  }
  return ScheduleKind::synchronous;
}

// Whether train.parallel.ep is above 1.
bool spreads_experts(Value const& root) {
  Value const* v = &root;
  for (std::string_view key : {"train", "parallel", "ep"}) {
    Entry const* e = v->kind == ValueKind::map ? find(*v, key) : nullptr;
    if (e == nullptr) return false;
    v = &e->value;
  }
  return v->kind == ValueKind::scalar && v->text != "1";
}

// Whether the engines have GPUs of their own: a pool that is not the trainer's.
bool engines_apart(Value const& root) {
  Entry const* pools = find(root, "pools");
  if (pools == nullptr || pools->value.entries.empty()) return false;
  auto const pool_of = [&](std::string_view block) {
    std::string_view const named = text_at(root, block, "pool");
    return named.empty() ? std::string_view(pools->value.entries.front().key) : named;
  };
  return pool_of("rollout") != pool_of("train");
}

// Adds the values of the framework's preset below those of the file. Wrong names are left for the reader.
void apply_preset(Document& d) {
  FrameworkKind framework = FrameworkKind::none;
  for (FrameworkKind k : known_frameworks()) {
    if (name_of(k) == text_at(d.root, "framework", "base")) framework = k;
  }
  bool const trains = find(d.root, "algorithm") != nullptr && find(d.root, "serve") == nullptr;
  if (framework == FrameworkKind::none || !trains) return;
  for (Entry& e : d.root.entries) {
    if (e.key != "framework" || e.value.kind != ValueKind::scalar) continue;
    Value map{ValueKind::map, e.value.mark, "", false, {}, {}};
    map.entries.push_back({"base", e.mark, std::move(e.value)});
    e.value = std::move(map);
  }
  auto const algorithm = enum_at(
      d.root, "algorithm", "kind",
      {AlgorithmKind::sft, AlgorithmKind::dpo, AlgorithmKind::ppo, AlgorithmKind::grpo}, AlgorithmKind::grpo);
  auto const trainer =
      enum_at(d.root, "train", "trainer",
              {TrainerKind::megatron, TrainerKind::fsdp2, TrainerKind::deepspeed, TrainerKind::ddp},
              default_trainer(framework));
  open_schedule(d);
  PresetMode const mode = preset_mode(schedule_of(d.root), engines_apart(d.root));
  for (PresetValue const& v :
       framework_preset(framework, algorithm, trainer, mode, spreads_experts(d.root))) {
    add_preset_value(d, v.key, v.value, fmt::format("{} preset: {}", name_of(framework), v.source));
  }
}

// The place of a key, or of the nearest map around it.
Mark place_of_key(Reading const& r, std::string_view key) {
  while (true) {
    if (auto const it = r.marks.find(key); it != r.marks.end()) return it->second;
    std::size_t const dot = key.rfind('.');
    if (dot == std::string_view::npos) return {};
    key = key.substr(0, dot);
  }
}

void add_checks(Reading& r, Job const& job) {
  std::size_t const read = r.problems.size();
  for (Problem const& p : check(job)) {
    bool const known = std::any_of(r.problems.begin(), r.problems.begin() + static_cast<std::ptrdiff_t>(read),
                                   [&](Problem const& q) { return q.key == p.key; });
    if (!known) r.problems.push_back(problem_at(r.document, place_of_key(r, p.key), p.key, p.what, p.remedy));
  }
}

// In the order of the file; what stands in no line comes last.
void sort_problems(std::vector<Problem>& problems) {
  auto const place = [](Problem const& p) { return std::pair(p.line == 0 ? 1 << 30 : p.line, p.column); };
  std::stable_sort(problems.begin(), problems.end(),
                   [&](Problem const& a, Problem const& b) { return place(a) < place(b); });
}

ScenarioResult read(Document d, std::string const& file, ScenarioOptions const& options) {
  ScenarioResult result;
  std::optional<Catalog> own_catalog;
  for (std::string const& path : options.catalog_files) {
    if (!own_catalog) own_catalog = builtin_catalog();
    std::vector<Problem> const problems = apply_catalog_file(path, *own_catalog);
    result.problems.insert(result.problems.end(), problems.begin(), problems.end());
  }
  Catalog const& catalog = own_catalog ? *own_catalog : builtin_catalog();
  for (std::string const& set : options.sets) set_value(d, set, may_be_base);
  apply_preset(d);

  std::vector<Problem> problems = d.problems;
  Reading reading{d, problems, {}, {}, scenario_keys};
  Scenario scenario;
  std::filesystem::path const path(file);
  scenario.name = path.stem().string();
  scenario.file = file;
  bool const unreadable = d.root.entries.empty() && !d.problems.empty();
  if (!unreadable) {
    Fields f(reading, &d.root, "", {0, d.sources.front().lines.empty() ? 0 : 1, 1}, "default");
    bool const complete = read_scenario_fields(f, scenario, {catalog, path.parent_path().string()});
    f.finish();
    if (complete) add_checks(reading, scenario.job);
  }
  sort_problems(problems);
  if (problems.size() >= kMostProblems) {
    problems.push_back({file, 0, 0, "",
                        fmt::format("more than {} problems; the others are not shown", kMostProblems),
                        "start from scenarios/examples", ""});
  }
  result.problems.insert(result.problems.end(), problems.begin(), problems.end());
  if (result.problems.empty()) {
    scenario.origins = std::move(reading.origins);
    result.scenario = std::move(scenario);
  }
  return result;
}

}  // namespace

ScenarioResult read_scenario_file(std::string const& path, ScenarioOptions const& options) {
  return read(read_document(path), path, options);
}

ScenarioResult read_scenario_text(std::string const& text, std::string const& file,
                                  ScenarioOptions const& options) {
  return read(parse_document(text, file), file, options);
}

}  // namespace rollcast
